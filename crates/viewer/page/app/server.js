// The client of the server's API: see types.d.ts for what is asked and answered.

/**
 * @import { About, Action, Chunk, Done, Figures, FindQuery, Found, FoundRecords, MarkKind, Overview, Place, Summary,
 *   Update } from "./types.d.ts"
 */

/** The server refused, or it cannot be reached. The message is for people. */
export class Problem extends Error {
  /**
   * @param {string} message
   * @param {number} status 0 if the server did not answer
   */
  constructor(message, status) {
    super(message);
    this.name = "Problem";
    this.status = status;
  }
}

const TOKEN_KEY = "meshlock-token";

/**
 * The token of this server. It comes with the address, `#token=...`, and goes from there into the storage of this tab:
 * so it survives a reload, and neither bookmarks nor screenshots show it.
 * @param {Window} window
 * @returns {string | null}
 */
export function takeToken(window) {
  const given = /^#token=([^&/]+)/.exec(window.location.hash);
  if (given) {
    window.sessionStorage.setItem(TOKEN_KEY, decodeURIComponent(given[1]));
    const rest = window.location.hash.slice(given[0].length).replace(/^&/, "");
    const address = window.location.pathname + window.location.search + (rest ? `#${rest}` : "");
    window.history.replaceState(null, "", address);
  }
  return window.sessionStorage.getItem(TOKEN_KEY);
}

/** How long to wait before asking again for updates, in milliseconds: doubled each time, up to the most. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

export class Server {
  #fetch;
  #token;
  #pause;

  /**
   * @param {object} [options]
   * @param {string | null} [options.token]
   * @param {typeof globalThis.fetch} [options.fetch] another one for tests
   * @param {(ms: number) => Promise<void>} [options.pause] how to wait; another one for tests
   */
  constructor({ token = null, fetch = globalThis.fetch.bind(globalThis), pause = wait } = {}) {
    this.#fetch = fetch;
    this.#token = token;
    this.#pause = pause;
  }

  /** @returns {Promise<About>} */
  about() {
    return this.#get("about");
  }

  /**
   * @param {number} tape
   * @returns {Promise<Summary>}
   */
  summary(tape) {
    return this.#get(`tapes/${tape}`);
  }

  /**
   * @param {number} tape
   * @param {number} chunk
   * @param {number} [after] leave out the scene and the records up to this line
   * @returns {Promise<Chunk>}
   */
  chunk(tape, chunk, after) {
    return this.#get(`tapes/${tape}/chunks/${chunk}`, { after });
  }

  /**
   * @param {number} tape
   * @param {{ line: number, kind: MarkKind, back: boolean }} query
   * @returns {Promise<Found>}
   */
  next(tape, query) {
    return this.#get(`tapes/${tape}/next`, query);
  }

  /**
   * @param {number} tape
   * @param {FindQuery} query
   * @returns {Promise<FoundRecords>}
   */
  find(tape, query) {
    return this.#get(`tapes/${tape}/find`, { ...query });
  }

  /**
   * @param {number} tape
   * @param {number} buckets
   * @returns {Promise<Figures>}
   */
  figures(tape, buckets) {
    return this.#get(`tapes/${tape}/figures`, { buckets });
  }

  /** @returns {Promise<Overview>} */
  overview() {
    return this.#get("check");
  }

  /**
   * @param {number[]} path
   * @returns {Promise<Place>}
   */
  place(path) {
    return this.#get(`check/at/${path.length > 0 ? path.join(".") : "start"}`);
  }

  /**
   * @param {Action} action
   * @returns {Promise<Done>}
   */
  async act(action) {
    const response = await this.#ask("act", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(action),
    });
    return response.json();
  }

  /**
   * Listens to updates for ever, or until told to stop. When the connection breaks it is made again, with longer and
   * longer pauses.
   * @param {(update: Update) => void} onUpdate
   * @param {(reachable: boolean, why: string) => void} onReachable only when that changes
   * @param {AbortSignal} [signal]
   */
  async listen(onUpdate, onReachable, signal) {
    let reachable = true;
    let pause = FIRST_PAUSE;
    while (!signal?.aborted) {
      let why = "the server ended the connection";
      try {
        const response = await this.#ask("updates", { signal });
        for await (const line of lines(response.body)) {
          pause = FIRST_PAUSE;
          if (!reachable) onReachable(true, "");
          reachable = true;
          onUpdate(JSON.parse(line));
        }
      } catch (problem) {
        if (signal?.aborted) return;
        why = problem instanceof Error ? problem.message : String(problem);
      }
      if (reachable && pause > FIRST_PAUSE) onReachable(false, why);
      if (pause > FIRST_PAUSE) reachable = false;
      await this.#pause(pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} [query] what is undefined is left out
   */
  async #get(path, query = {}) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") parameters.set(key, String(value));
    }
    const text = parameters.toString();
    const response = await this.#ask(text ? `${path}?${text}` : path, {});
    return response.json();
  }

  /**
   * @param {string} path
   * @param {RequestInit} init
   */
  async #ask(path, init) {
    const headers = new Headers(init.headers);
    if (this.#token) headers.set("authorization", `Bearer ${this.#token}`);
    let response;
    try {
      response = await this.#fetch(`/api/${path}`, { ...init, headers });
    } catch (cause) {
      if (init.signal?.aborted) throw cause;
      throw new Problem("The server of this page does not answer. Is its meshlock command still running?", 0);
    }
    if (!response.ok) throw new Problem(await refusal(response), response.status);
    return response;
  }
}

/** @param {Response} response */
async function refusal(response) {
  try {
    const { message } = await response.json();
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // Not an answer of ours, such as that of a proxy: its status must do.
  }
  if (response.status === 401) return "The server wants its token: open the whole address that meshlock printed.";
  return `The server answered ${response.status} ${response.statusText}`.trim();
}

/**
 * The lines of a body, as they come.
 * @param {ReadableStream<Uint8Array> | null} body
 */
async function* lines(body) {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part.trim() !== "") yield part;
    }
  } finally {
    reader.releaseLock();
  }
}

/** @param {number} ms */
function wait(ms) {
  return /** @type {Promise<void>} */ (new Promise((resolve) => setTimeout(resolve, ms)));
}
