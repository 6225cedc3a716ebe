import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, Server, takeToken } from "../../app/server.js";

/** @import { Update } from "../../app/types.d.ts" */

/**
 * @param {(path: string, init: RequestInit) => Response | Promise<Response>} answer
 * @param {string} [token]
 */
function serverWith(answer, token) {
  const fetch = /** @type {typeof globalThis.fetch} */ (
    async (input, init = {}) => answer(String(input), /** @type {RequestInit} */ (init))
  );
  return new Server({ fetch, token, pause: async () => {} });
}

test("requests carry the token and only the parameters that are set", async () => {
  /** @type {[string, string | null][]} */
  const asked = [];
  const server = serverWith((path, init) => {
    asked.push([path, new Headers(init.headers).get("authorization")]);
    return Response.json({});
  }, "secret");
  await server.chunk(0, 3);
  await server.chunk(0, 3, 17);
  await server.find(1, { line: 5, count: 10, text: "a b", kind: undefined });
  await server.place([]);
  await server.place([0, 3, 1]);
  assert.deepEqual(asked, [
    ["/api/tapes/0/chunks/3", "Bearer secret"],
    ["/api/tapes/0/chunks/3?after=17", "Bearer secret"],
    ["/api/tapes/1/find?line=5&count=10&text=a+b", "Bearer secret"],
    ["/api/check/at/start", "Bearer secret"],
    ["/api/check/at/0.3.1", "Bearer secret"],
  ]);
});

test("a refusal becomes a problem with words for people", async () => {
  const refused = serverWith(() => Response.json({ message: "there is no tape 7" }, { status: 404 }));
  await assert.rejects(
    refused.summary(7),
    (problem) => problem instanceof Problem && problem.message === "there is no tape 7",
  );
  const foreign = serverWith(() => new Response("<html>", { status: 502, statusText: "Bad Gateway" }));
  await assert.rejects(foreign.about(), /The server answered 502 Bad Gateway/);
  const closed = serverWith(() => new Response("", { status: 401 }));
  await assert.rejects(closed.about(), /wants its token/);
  const gone = serverWith(() => Promise.reject(new TypeError("fetch failed")));
  await assert.rejects(gone.about(), /does not answer/);
});

test("updates come line by line however they are cut, and the connection is made again", async () => {
  const end = new AbortController();
  let connections = 0;
  const update = { tapes: [], playing: null, about: false };
  const text = `${JSON.stringify(update)}\n\n${JSON.stringify({ ...update, about: true })}\n`;
  const server = serverWith(() => {
    connections++;
    if (connections === 2 || connections === 3) return new Response("", { status: 503 });
    const bytes = new TextEncoder().encode(text);
    return new Response(
      new ReadableStream({
        start(controller) {
          for (let i = 0; i < bytes.length; i += 7) controller.enqueue(bytes.slice(i, i + 7));
          controller.close();
        },
      }),
    );
  });
  /** @type {(Update | string)[]} */
  const heard = [];
  await server.listen(
    (one) => {
      heard.push(one);
      if (heard.length === 6) end.abort();
    },
    (reachable) => heard.push(reachable ? "back" : "gone"),
    end.signal,
  );
  assert.deepEqual(heard, [update, { ...update, about: true }, "gone", "back", update, { ...update, about: true }]);
  assert.equal(connections, 4);
});

test("a server of which nothing is heard is gone; empty lines are heard", async () => {
  const end = new AbortController();
  const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
  const update = { tapes: [], playing: null, about: false };
  let connections = 0;
  const fetch = async () => {
    connections++;
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(bytes(`${JSON.stringify(update)}\n`));
        if (connections > 1) return; // and nothing more
        for (let i = 0; i < 8; i++) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          controller.enqueue(bytes("\n"));
        }
      },
    });
    return new Response(body);
  };
  const server = new Server({ fetch, pause: async () => {}, silence: 100 });
  /** @type {string[]} */
  const heard = [];
  const began = performance.now();
  await server.listen(
    () => heard.push("update"),
    (reachable, why) => {
      heard.push(reachable ? "back" : why);
      if (heard.length > 2) end.abort();
    },
    end.signal,
  );
  assert.deepEqual(heard.slice(0, 3), ["update", "Nothing was heard of the server for 0 s.", "back"]);
  assert.ok(performance.now() - began > 200, "it was given up although it was heard");
});

test("nothing of another run of the program is taken for this one", async () => {
  let instance = "a";
  let replaced = 0;
  const fetch = async () => Response.json({ title: instance }, { headers: { "meshlock-instance": instance } });
  const server = new Server({ fetch, replaced: () => replaced++ });
  assert.equal((await server.about()).title, "a");
  assert.equal((await server.about()).title, "a");
  instance = "b";
  await assert.rejects(server.about(), /started again/);
  await assert.rejects(server.figures(0, 10), /started again/);
  assert.equal(replaced, 2);
});

test("the token goes from the address into the storage of the tab", () => {
  /** @type {Map<string, string>} */
  const stored = new Map();
  const location = { hash: "#token=a%2Fb&/path/0.1", pathname: "/", search: "" };
  const window = /** @type {Window} */ (
    /** @type {unknown} */ ({
      location,
      sessionStorage: {
        setItem: stored.set.bind(stored),
        getItem: (/** @type {string} */ key) => stored.get(key) ?? null,
      },
      history: {
        replaceState: (/** @type {null} */ _, /** @type {string} */ __, /** @type {string} */ address) => {
          location.hash = address.slice(1);
        },
      },
    })
  );
  assert.equal(takeToken(window), "a/b");
  assert.equal(location.hash, "#/path/0.1");
  assert.equal(takeToken(window), "a/b");
});
