// Messages from sending to arrival, and what led to what.

import assert from "node:assert/strict";
import { test } from "node:test";
import { directCauses, passages, pastAndFuture, stretches } from "../../app/panels/causality.js";

/** @import { Record_ } from "../../app/types.d.ts" */

/** Rows of lines 2, 3, ... @param {Record_[]} records */
const rowsOf = (...records) =>
  records.map((record, index) => ({ line: index + 2, record: { step: index + 1, ...record } }));
const request = { request: { request: 1, demand: { units: 1, urgency: { priority: 0 }, session: null } } };
/** @param {number} to @param {unknown} message */
const send = (to, message) => ({ send: { to, message } });
/** @param {number} from @param {unknown} message */
const receive = (from, message) => ({ receive: { from, message } });
const granted = { granted: { grant: { request: 1, units: 1, session: null, fence: 1 } } };

const STORY = rowsOf(
  { node: 1, event: request, effects: [send(0, "ask"), send(2, "hint")] },
  { node: 2, event: request, effects: [send(0, "ask")] },
  { node: 0, event: receive(1, "ask"), effects: [send(1, { token: 1 })] },
  { node: 1, event: receive(0, { token: 1 }), effects: [granted] },
  { lost: { from: 2, to: 0, message: "ask" } },
  { node: 1, event: { release: { request: 1, units: 1 } } },
);

test("without causes links deliver in the order of sending", () => {
  const told = passages(STORY).map(({ from, to, sent, ended, lost }) => [from, to, sent, ended, lost]);
  assert.deepEqual(told, [
    [1, 0, 2, 4, false],
    [1, 2, 2, null, false],
    [2, 0, 3, 6, true],
    [0, 1, 4, 5, false],
  ]);
});

test("the token is told from other messages", () => {
  const tokens = passages(STORY).filter(({ token }) => token);
  assert.deepEqual(
    tokens.map(({ from, to }) => [from, to]),
    [[0, 1]],
  );
});

test("a cause decides where several messages are under way, and may lie before the rows", () => {
  const rows = rowsOf(
    { node: 1, event: request, effects: [send(0, "first")] },
    { node: 1, event: request, effects: [send(0, "second")] },
    { node: 0, event: receive(1, "second"), cause: 3 },
    { node: 0, event: receive(5, "old"), cause: 1 },
  );
  const told = passages(rows).map(({ kind, sent, ended }) => [kind, sent, ended]);
  assert.deepEqual(told, [
    ["first", 2, null],
    ["second", 3, 4],
    ["old", 1, 5],
  ]);
});

test("a broadcast goes to the neighbours that its node sees", () => {
  const rows = rowsOf({
    node: 0,
    event: request,
    effects: [{ broadcast: { message: "hello" } }],
    view: { neighbours: [1, 2] },
  });
  assert.deepEqual(
    passages(rows).map(({ to }) => to),
    [1, 2],
  );
});

test("past and future follow messages and the order at each node", () => {
  const { past, future } = pastAndFuture(directCauses(STORY, passages(STORY)), 4);
  assert.deepEqual([...past].sort(), [2, 4]);
  assert.deepEqual([...future].sort(), [4, 5, 7]);
});

test("what happens elsewhere is in neither", () => {
  const { past, future } = pastAndFuture(directCauses(STORY, passages(STORY)), 3);
  assert.deepEqual([...past], [3]);
  assert.deepEqual([...future].sort(), [3, 6]);
});

test("timers, changes of links and violations have causes", () => {
  const rows = rowsOf(
    { node: 0, event: request },
    { link: { between: [1, 0], up: false } },
    { node: 0, event: { "link-down": { neighbour: 1 } } },
    { node: 0, event: { expired: { timer: 1 } }, cause: 2 },
    { end: { violation: { rule: "nobody-waits", node: 0, what: "it waits" } } },
  );
  const causes = directCauses(rows, passages(rows));
  assert.deepEqual(causes.get(4), [2, 3]);
  assert.deepEqual(causes.get(5), [4, 2]);
  assert.deepEqual(causes.get(6), [5]);
});

test("a request waits, is held, and ends", () => {
  const [first, second] = stretches(STORY);
  assert.deepEqual(first, { node: 1, asked: 2, granted: 5, ended: 7, held: true, session: null });
  assert.deepEqual(second, { node: 2, asked: 3, granted: null, ended: null, held: false, session: null });
});

test("what was granted before is known by its view or its release", () => {
  const view = { holding: [{ request: 4, units: 1, session: null, fence: null }] };
  const rows = rowsOf(
    { node: 0, event: "leave", view },
    { node: 1, event: { release: { request: 7, units: 1 } } },
    { node: 2, event: { cancel: { request: 1 } } },
  );
  assert.deepEqual(stretches(rows), [
    { node: 0, asked: null, granted: null, ended: null, held: true, session: null },
    { node: 1, asked: null, granted: null, ended: 3, held: true, session: null },
    { node: 2, asked: null, granted: null, ended: 4, held: false, session: null },
  ]);
});
