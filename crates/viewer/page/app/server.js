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
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 2000;
/** The server says something every two seconds. After so many milliseconds without a word it is gone. */
const LONGEST_SILENCE = 7000;
/** The header that tells one run of the program from another. */
const INSTANCE = "meshlock-instance";

export class Server {
  #fetch;
  #token;
  #pause;
  #silence;
  #replaced;
  /** The run of the program that answered first. @type {string | null} */
  #instance = null;

  /**
   * @param {object} [options]
   * @param {string | null} [options.token]
   * @param {typeof globalThis.fetch} [options.fetch] another one for tests
   * @param {(ms: number) => Promise<void>} [options.pause] how to wait; another one for tests
   * @param {number} [options.silence] milliseconds without a word after which the server is gone
   * @param {() => void} [options.replaced] another run of the program answers at this address: nothing that was heard of
   *   the former one is true of it
   */
  constructor({
    token = null,
    fetch = globalThis.fetch.bind(globalThis),
    pause = wait,
    silence = LONGEST_SILENCE,
    replaced = () => {},
  } = {}) {
    this.#fetch = fetch;
    this.#token = token;
    this.#pause = pause;
    this.#silence = silence;
    this.#replaced = replaced;
  }

  /** @returns {Promise<About>} */
  about() {
    return this.#get("about");
  }

  /**
   * @param {number} tape
   * @param {boolean} [header] false: without its header, for those who know it
   * @returns {Promise<Summary>}
   */
  summary(tape, header = true) {
    return this.#get(`tapes/${tape}`, { header: header ? undefined : false });
  }

  /**
   * @param {number} tape
   * @param {number} chunk
   * @param {number} [after] leave out the scene and the records up to this line
   * @returns {Promise<Chunk>}
   */
  async chunk(tape, chunk, after) {
    const response = await this.#open(`tapes/${tape}/chunks/${chunk}`, { after });
    const text = await response.text();
    return { ...JSON.parse(text), size: text.length };
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
   * Listens to updates until told to stop. When the connection breaks, or nothing is heard, it is made again, with longer
   * and longer pauses.
   * @param {(update: Update) => void} onUpdate
   * @param {(reachable: boolean, why: string) => void} onReachable only when that changes
   * @param {AbortSignal} [signal]
   */
  async listen(onUpdate, onReachable, signal) {
    let reachable = true;
    let pause = FIRST_PAUSE;
    while (!signal?.aborted) {
      let why = "The server ended the connection.";
      const watch = new Watch(this.#silence);
      const both = signal ? AbortSignal.any([signal, watch.signal]) : watch.signal;
      try {
        const response = await this.#ask("updates", { signal: both });
        for await (const line of lines(response.body, () => watch.heard(), both)) {
          pause = FIRST_PAUSE;
          if (!reachable) onReachable(true, "");
          reachable = true;
          onUpdate(JSON.parse(line));
        }
      } catch (problem) {
        if (signal?.aborted) return;
        why = problem instanceof Error ? problem.message : String(problem);
      } finally {
        watch.end();
      }
      if (reachable) onReachable(false, why);
      reachable = false;
      await this.#pause(pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} [query] what is undefined is left out
   */
  async #get(path, query = {}) {
    return (await this.#open(path, query)).json();
  }

  /**
   * @param {string} path
   * @param {Record<string, unknown>} query
   */
  #open(path, query) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined && value !== "") parameters.set(key, String(value));
    }
    const text = parameters.toString();
    return this.#ask(text ? `${path}?${text}` : path, {});
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
      if (init.signal?.aborted) throw init.signal.reason ?? cause;
      throw new Problem("The server of this page does not answer. Is its meshlock command still running?", 0);
    }
    const instance = response.headers.get(INSTANCE);
    this.#instance ??= instance;
    if (instance !== this.#instance) {
      this.#replaced();
      throw new Problem("The program was started again; the page begins anew.", 0);
    }
    if (!response.ok) throw new Problem(await refusal(response), response.status);
    return response;
  }
}

/** Gives up when nothing is heard for too long: a connection may be dead without an error. */
class Watch {
  #control = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {number} silence in milliseconds */
  constructor(silence) {
    this.silence = silence;
    this.heard();
  }

  get signal() {
    return this.#control.signal;
  }

  heard() {
    clearTimeout(this.#timer);
    const words = `Nothing was heard of the server for ${Math.round(this.silence / 1000)} s.`;
    this.#timer = setTimeout(() => this.#control.abort(new Problem(words, 0)), this.silence);
  }

  end() {
    clearTimeout(this.#timer);
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
 * The lines of a body, as they come. Empty ones are keepalives.
 * @param {ReadableStream<Uint8Array> | null} body
 * @param {() => void} heard something came
 * @param {AbortSignal} signal
 */
async function* lines(body, heard, signal) {
  if (!body) return;
  const reader = body.getReader();
  const given = () => reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", given);
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) break;
      heard();
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part.trim() !== "") yield part;
    }
  } finally {
    signal.removeEventListener("abort", given);
    reader.releaseLock();
  }
}

/** @param {number} ms */
function wait(ms) {
  return /** @type {Promise<void>} */ (new Promise((resolve) => setTimeout(resolve, ms)));
}
