import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRecord, isTokenMessage, messageKind, messageWords } from "../../app/words.js";
import { asksFor } from "./samples.js";

const nameOf = (/** @type {number} */ id) => ["ann", "bob", "cat"][id] ?? String(id);
const height = { level: 0, depth: 1, id: 1 };

test("kinds of messages of all protocols", () => {
  const messages = [
    [{ height, clock: 0, body: "link" }, "link"],
    [{ height, clock: 0, body: { ask: { origin: 1, rank: 60, units: 1, session: null } } }, "ask"],
    [{ height, request: 5 }, "request"],
    [{ height, link: null }, "link"],
    [{ token: { to: 1, attempt: 0, token: {} } }, "token"],
    ["complete", "complete"],
    [{ flood: { label: { origin: 0, number: 1, hops: 1 }, to: null, payload: { request: { node: 0 } } } }, "request"],
    [{ hop: { label: {}, to: 2, payload: "complete" } }, "complete"],
    [7, "message"],
    [null, "message"],
    [{}, "message"],
  ];
  for (const [message, kind] of messages) assert.equal(messageKind(message), kind);
});

test("the token is recognised wherever it travels", () => {
  assert.ok(isTokenMessage({ height, clock: 0, body: { token: { token: { pass: 1 }, ask: null } } }));
  assert.ok(isTokenMessage({ height, token: 0 }));
  assert.ok(isTokenMessage({ privilege: { fence: 3 } }));
  assert.ok(isTokenMessage({ hop: { label: {}, to: 2, payload: { token: { transfer: 1 } } } }));
  assert.ok(!isTokenMessage({ height, clock: 0, body: { ask: { origin: 1 } } }));
  assert.ok(!isTokenMessage("token-less"));
});

test("messages in a few words", () => {
  const ask = { height, clock: 0, body: { ask: { alone: true, origin: 2, rank: 60, units: 2, session: null } } };
  assert.equal(messageWords(ask, nameOf), "ask (for cat, rank 60, 2 units)");
  assert.equal(messageWords({ height, clock: 0, body: "withdraw" }, nameOf), "withdraw");
});

test("records as sentences, with what followed", () => {
  const record = asksFor(1, 1, 1, 2);
  record.effects = [{ send: { to: 0, message: { height, request: 5 } } }];
  assert.deepEqual(describeRecord(record, nameOf), {
    title: "bob asks for 2 units, priority 1",
    details: ["sends request (5) to ann"],
  });
  assert.equal(
    describeRecord({ step: 1, link: { between: [0, 1], up: false } }, nameOf).title,
    "link ann – bob breaks",
  );
  const lost = { from: 0, to: 1, message: { height, token: 1 } };
  assert.equal(describeRecord({ step: 1, lost }, nameOf).title, "token from ann to bob is lost");
  const end = { violation: { rule: "nobody-waits", node: 1, what: "bob waits forever" } };
  assert.deepEqual(describeRecord({ step: 1, end }, nameOf).details, [
    "nobody-waits is broken at bob",
    "bob waits forever",
  ]);
  assert.deepEqual(describeRecord({ ...asksFor(1, 0, 1, 9), misuse: "over-capacity" }, nameOf).details, [
    "refused: over capacity",
  ]);
});
