// Server and page follow a trace by the same rules: what the page makes of a chunk is what the server says at the
// beginning of the next.

import assert from "node:assert/strict";
import { test } from "node:test";
import { applyRecord, sceneCopy } from "../../app/scene.js";
import { file, folder, run, serve } from "./support/meshlock.js";

/** @param {string} address @param {string} path */
async function get(address, path) {
  const answer = await fetch(new URL(path, address));
  assert.equal(answer.status, 200, path);
  return await answer.json();
}

/** @param {import("node:test").TestContext} test @param {string} cwd @param {string} trace */
async function compare(test, cwd, trace) {
  const { address } = await serve(test, cwd, "view", trace, "--listen", "127.0.0.1:0");
  let summary = await get(address, "/api/tapes/0");
  while (summary.grows) summary = await get(address, "/api/tapes/0");
  assert.equal(summary.problem, null);
  let scene = null;
  let records = 0;
  for (const { chunk } of summary.chunks) {
    const { scene: first, line, records: all } = await get(address, `/api/tapes/0/chunks/${chunk}`);
    if (scene) assert.deepEqual(JSON.parse(JSON.stringify(scene)), first, `before line ${line}`);
    scene = sceneCopy(first);
    for (const [place, record] of all.entries()) {
      applyRecord(scene, line + place, record);
      records += 1;
    }
  }
  assert.equal(records, summary.lines - 1);
  return summary;
}

for (const [name, settings] of /** @type {[string, string[]][]} */ ([
  ["reverse-link on the air", ["scenarios/reference.toml", "--set", "duration=12s", "--views"]],
  ["reverse-link without views", ["scenarios/reference.toml", "--set", "duration=20s"]],
  ["sessions", ["scenarios/whiteboard.toml", "--views"]],
  [
    "flood with losses",
    [
      "scenarios/reference.toml",
      "--set",
      "duration=1s",
      "--set",
      "warmup=0s",
      "--set",
      "nodes=40",
      "--set",
      'protocol.name="flood"',
      "--views",
    ],
  ],
])) {
  test(`the page follows ${name} as the server does`, async (test) => {
    const cwd = await folder(test);
    const [scenario, ...rest] = settings;
    await run(cwd, "sim", file(scenario), ...rest, "--quiet", "--seed", "3", "--trace", "run.trace.jsonl");
    const summary = await compare(test, cwd, "run.trace.jsonl");
    assert.ok(summary.chunks.length > 1, `${summary.chunks.length} chunks are too few to compare`);
  });
}
