// The stretch of the list of records, what of it can be seen, and the part of a trace that the diagram shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lanesFor, MOST_LANES, places, rowsAround } from "../../app/panels/lanes.js";
import { Listing, MOST, scrollFor, visibleRange } from "../../app/panels/listing.js";

/** @param {number[]} lines */
const rowsOf = (lines) => lines.map((line) => ({ line, record: { step: line } }));
/** @param {number} from @param {number} to */
const range = (from, to) => Array.from({ length: to - from }, (_, index) => from + index);

test("rows are in order, each once, from whichever side they come", () => {
  const listing = new Listing();
  listing.append(rowsOf([10, 12]), 12);
  assert.equal(listing.prepend(rowsOf([9, 7, 10]), 7), 2);
  listing.append(rowsOf([12, 15]), null);
  assert.deepEqual(
    listing.rows.map(({ line }) => line),
    [7, 9, 10, 12, 15],
  );
});

test("a line is found at the last row before it", () => {
  const listing = new Listing();
  listing.append(rowsOf([5, 8, 9]), null);
  assert.deepEqual(
    [4, 5, 7, 8, 100].map((line) => listing.at(line)),
    [-1, 0, 0, 1, 2],
  );
});

test("it knows its place only between its ends, unless there is nothing more", () => {
  const listing = new Listing();
  assert.equal(listing.covers(1), false);
  listing.append(rowsOf([50, 60]), 60);
  listing.prepend([], 49);
  assert.equal(listing.covers(55), true);
  assert.equal(listing.covers(61), false);
  assert.equal(listing.covers(3), false);
  listing.append([], null);
  listing.prepend([], null);
  assert.equal(listing.covers(61), true);
  assert.equal(listing.covers(3), true);
});

test("it never grows beyond its bound, and can be grown again where it was cut", () => {
  const listing = new Listing();
  listing.append(rowsOf(range(1000, 1000 + MOST)), 1000 + MOST);
  assert.equal(listing.append(rowsOf(range(1000 + MOST, 1100 + MOST)), null), 100);
  assert.equal(listing.rows.length, MOST);
  assert.equal(listing.before, 1100);
  assert.equal(listing.prepend(rowsOf(range(1000, 1100)), 1000), 100);
  assert.equal(listing.rows.length, MOST);
  assert.equal(listing.rows[0].line, 1000);
  assert.equal(listing.after, 999 + MOST);
});

test("only what can be seen is drawn, and a little more", () => {
  assert.deepEqual(visibleRange(0, 260, 26, 1000), { from: 0, to: 16 });
  assert.deepEqual(visibleRange(2600, 260, 26, 1000), { from: 94, to: 116 });
  assert.deepEqual(visibleRange(2600, 260, 26, 3), { from: 3, to: 3 });
});

test("it scrolls only to what cannot be seen", () => {
  assert.equal(scrollFor(5, 0, 260, 26), 0);
  assert.equal(scrollFor(50, 0, 260, 26), 50 * 26 - 117);
  assert.equal(scrollFor(0, 500, 260, 26), 0);
});

test("the diagram shows so many rows around a line, without mere movement", () => {
  const rows = rowsOf(range(2, 102)).map((row) =>
    row.line % 2 === 0
      ? { ...row, record: { move: { node: 0, position: /** @type {[number, number]} */ ([0, 0]) } } }
      : row,
  );
  const shown = rowsAround(rows, 51, 10);
  assert.equal(shown.length, 10);
  assert.ok(shown.every(({ line }) => line % 2 === 1));
  assert.ok(shown[0].line < 51 && (shown.at(-1)?.line ?? 0) > 51);
  assert.deepEqual(
    rowsAround(rows, 2, 4).map(({ line }) => line),
    [3, 5, 7, 9],
  );
  assert.deepEqual(
    rowsAround(rows, 101, 4).map(({ line }) => line),
    [95, 97, 99, 101],
  );
  assert.equal(rowsAround([], 5, 4).length, 0);
});

test("in a large mesh only those that take part have a lane, and the selected one", () => {
  const nodes = range(0, 100);
  const rows = [5, 5, 9, 40].map((node, index) => ({
    line: index,
    record: { node, event: /** @type {const} */ ("leave") },
  }));
  assert.deepEqual(lanesFor(nodes, rows, 77), [5, 9, 40, 77]);
  assert.deepEqual(lanesFor([1, 2, 3], rows, null), [1, 2, 3]);
  const busy = nodes.map((node) => ({ line: node, record: { node, event: /** @type {const} */ ("leave") } }));
  assert.equal(lanesFor(nodes, busy, null).length, MOST_LANES);
});

test("records stand one after the other, or by their moments without touching", () => {
  assert.deepEqual(places([0, 0, 100], 10, true), [0, 10, 20]);
  assert.deepEqual(places([0, 50, 100], 10, false), [0, 10, 20]);
  const crowded = places([0, 0, 0, 100], 10, false);
  assert.deepEqual(crowded, [0, 4, 8, 30]);
  assert.deepEqual(places([7], 10, false), [0]);
});
