// Times, numbers, views and marks in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { changedFields, fieldWords, viewBefore } from "../../app/panels/differences.js";
import { count, decimalsFor, moment, plural, session, significant, span, speed } from "../../app/panels/format.js";
import { protocolWords } from "../../app/panels/legend.js";
import { byColumn, fraction, heights, marksOf } from "../../app/panels/marks.js";
import { pretty } from "../../app/panels/record.js";

const nameOf = (/** @type {number} */ id) => `n${id}`;

test("moments", () => {
  assert.equal(moment(12.7, "step"), "step 12");
  assert.equal(moment(0, "time_ns"), "0.000 s");
  assert.equal(moment(3_250_999_999, "time_ns"), "3.250 s");
  assert.equal(moment(62_345e6, "time_ns"), "1:02.345");
  assert.equal(moment(3_723_004e6, "time_ns"), "1:02:03.004");
  assert.equal(moment(25_041_302_000, "time_ns", 6), "25.041302 s");
});

test("moments that are near each other need more decimals", () => {
  assert.equal(decimalsFor(1e9), 3);
  assert.equal(decimalsFor(1e6), 3);
  assert.equal(decimalsFor(1e5), 4);
  assert.equal(decimalsFor(1), 9);
  assert.equal(decimalsFor(0), 3);
});

test("lengths of time", () => {
  assert.deepEqual(
    [0, 500, 1500, 2.5e6, 983e6, 12.34e9, 125e9, 7260e9].map((length) => span(length, "time_ns")),
    ["0 s", "500 ns", "1.5 µs", "2.5 ms", "983 ms", "12.3 s", "2 min 5 s", "2 h 1 min"],
  );
  assert.equal(span(1, "step"), "1 step");
  assert.equal(span(16, "step"), "16 steps");
});

test("numbers", () => {
  assert.equal(significant(12345.6, 3), "12,346");
  assert.equal(significant(0.012345, 2), "0.012");
  assert.equal(significant(-3, 2), "−3");
  assert.equal(significant(Number.NaN, 2), "–");
  assert.equal(count(1234567), "1,234,567");
  assert.equal(plural(1, "node"), "1 node");
  assert.equal(plural(0, "node"), "0 nodes");
  assert.equal(speed(0.05, "time_ns"), "×0.05");
  assert.equal(speed(4, "step"), "4 steps/s");
  assert.equal(speed(1, "step"), "1 step/s");
  assert.equal(session(3), "3");
  assert.equal(session(2 ** 52), "…000000");
});

test("every mark is in exactly one column", () => {
  const buckets = Array.from({ length: 240 }, (_, index) => index % 3);
  for (const columns of [1, 7, 240, 1000]) {
    const sums = byColumn(buckets, columns);
    assert.equal(sums.length, columns);
    assert.equal(
      sums.reduce((a, b) => a + b, 0),
      240,
    );
  }
  assert.deepEqual(byColumn([1, 2], 0), []);
  assert.deepEqual(heights([0, 1, 4]), [0, 0.5, 1]);
});

test("places on the timeline", () => {
  assert.equal(fraction(5, 10), 0.5);
  assert.equal(fraction(5, 0), 0);
  assert.equal(fraction(50, 10), 1);
  assert.equal(fraction(-5, 60), 0);
});

test("marks of a place in a check are counted where they happened", () => {
  const records = [
    { step: 1, effects: [{ granted: { grant: { request: 1, units: 1, session: null, fence: null } } }] },
    { step: 4 },
  ];
  const place = /** @type {any} */ ({ records });
  const marks = marksOf({ figures: null, place, summary: /** @type {any} */ ({ last: 4 }) }, "grant");
  assert.equal(marks?.length, 160);
  assert.equal(marks?.indexOf(1), 40);
  assert.equal(marksOf({ figures: null, place: null, summary: null }, "grant"), null);
});

test("what changed from one view to the next", () => {
  const before = { role: "idle", neighbours: [1, 2] };
  const after = { role: "holder", neighbours: [1, 2], token: { free: 1, capacity: 3, pass: 4 } };
  assert.deepEqual(changedFields(before, after), ["role", "token"]);
  assert.deepEqual(changedFields(after, after), []);
  assert.deepEqual(changedFields(null, { role: "idle" }), ["role"]);
  assert.equal(fieldWords(after, "token", nameOf), "here, 1 of 3 units free, passed on 4 times");
  assert.equal(fieldWords(before, "token", nameOf), "–");
  assert.equal(fieldWords(before, "neighbours", nameOf), "n1, n2");
});

test("fields of a view in words", () => {
  const view = {
    height: { level: 0, depth: -2, id: 3 },
    queue: [
      { origin: { local: 1 }, rank: 5, units: 2, session: null },
      { origin: { node: 4 }, rank: 3, units: 1, session: 7 },
    ],
    holding: [{ request: 1, units: 1, session: null, fence: 9 }],
    returning: [{ grant: { node: 2, request: 1 }, units: 1 }],
    leaving: true,
  };
  assert.equal(fieldWords(view, "height", nameOf), "level 0, depth −2, id 3");
  assert.equal(fieldWords(view, "queue", nameOf), "itself: 2 units, rank 5; n4: 1 unit, rank 3, session 7");
  assert.equal(fieldWords(view, "holding", nameOf), "1 unit, fence 9");
  assert.equal(fieldWords(view, "returning", nameOf), "1 unit of n2");
  assert.equal(fieldWords(view, "leaving", nameOf), "yes");
  const unset = { height: { level: 2 ** 40, depth: 0, id: 3 } };
  assert.match(fieldWords(unset, "height", nameOf), /not heard of the token/);
});

test("the view before a line is that of the last event of its node, or of the header", () => {
  const records = [null, null, { node: 1, view: { role: "a" } }, { node: 2, view: { role: "b" } }];
  const viewer = /** @type {any} */ ({
    recordAt: (/** @type {number} */ line) => records[line] ?? null,
    summary: { header: { nodes: [{ id: 3, name: "n3", view: { role: "c" } }] } },
  });
  assert.equal(viewBefore(viewer, 1, 4)?.role, "a");
  assert.equal(viewBefore(viewer, 3, 4)?.role, "c");
  assert.equal(viewBefore(viewer, 2, 3), null);
});

test("messages are shown as they are, short ones on one line", () => {
  assert.equal(pretty({ ask: { rank: 5, origin: null } }), "{ ask: { rank: 5, origin: null } }");
  const long = { height: { level: 0, depth: 1, id: 2 }, clock: 17, body: { ask: { rank: 5, units: 2 } } };
  assert.equal(
    pretty(long),
    "{\n  height: { level: 0, depth: 1, id: 2 },\n  clock: 17,\n  body: { ask: { rank: 5, units: 2 } }\n}",
  );
  assert.equal(pretty("link"), '"link"');
  assert.equal(pretty(undefined), "");
});

test("every protocol is explained in a few sentences", () => {
  const names = "reverse-link flood group central raymond suzuki-kasami naimi-trehel ricart-agrawala lamport raynal";
  for (const protocol of [...names.split(" "), "something-new"]) {
    const words = protocolWords({ source: "sim", protocol, variant: "repaired", nodes: [] });
    assert.ok(words.length >= 2 && words.length <= 5, protocol);
  }
  const published = protocolWords({ source: "check", protocol: "flood", variant: "published", nodes: [] });
  assert.match(published.at(-1) ?? "", /published/);
});
