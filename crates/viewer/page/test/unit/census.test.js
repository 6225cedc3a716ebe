import assert from "node:assert/strict";
import { test } from "node:test";
import { INCARNATION, isGone, living, repairOf } from "../../app/census.js";
import { applyRecord, nodeOf, sceneFromHeader } from "../../app/scene.js";
import { describeRecord } from "../../app/words.js";
import { header } from "./samples.js";

/** @import { Record_ } from "../../app/types.d.ts" */

/**
 * @param {number} step
 * @param {number} node
 * @param {Record<string, number>} counts
 * @returns {Record_}
 */
function hears(step, node, counts) {
  return { step, node, event: { census: { census: { counts, removed: [] } } }, effects: [] };
}

/** @param {Record_[]} records */
function after(records) {
  const scene = sceneFromHeader(header());
  records.forEach((record, i) => {
    applyRecord(scene, i + 2, record);
  });
  return scene;
}

const ALL = { 0: 1, 1: 1, 2: 1 };
const GONE = { ...ALL, 2: 2 };
/** @type {Record_} */
const CRASH = { step: 4, move: { node: 2, position: [0, 0], gone: true, crashed: true } };

test("a census tells incarnations apart", () => {
  const census = { counts: { 0: 1, 1: 2, 2: 5, 3: 1 }, removed: [3] };
  assert.deepEqual(living(census), [0, 2 + 2 * INCARNATION]);
  assert.ok(isGone(census, 1) && isGone(census, 2) && isGone(census, 2 + INCARNATION) && isGone(census, 3));
  assert.ok(!isGone(census, 0) && !isGone(census, 2 + 2 * INCARNATION));
});

test("a crash is seen, then waited for, then repaired by the heir", () => {
  const before = [hears(1, 0, ALL), hears(2, 1, ALL), hears(3, 2, ALL)];
  assert.equal(repairOf(after(before)), null);
  const crashed = nodeOf(after([...before, CRASH]), 2);
  assert.deepEqual([crashed?.gone, crashed?.crashed, crashed?.position], [true, true, null]);
  const half = after([...before, CRASH, hears(5, 1, GONE)]);
  assert.deepEqual(repairOf(half), { heir: 0, missing: new Set([0]) });
  assert.deepEqual(repairOf(after([...before, CRASH, hears(5, 1, GONE), hears(6, 0, GONE)]))?.missing, new Set());
});

test("a node that came back takes the place of its former self", () => {
  const back = 2 + INCARNATION;
  const scene = after([CRASH, { step: 5, join: { id: back, name: "cat" } }]);
  assert.deepEqual(
    scene.nodes.map(({ id }) => id),
    [0, 1, back],
  );
  assert.deepEqual(scene.links, [[0, 1]]);
  assert.equal(nodeOf(scene, back)?.gone, false);
});

test("crashes and repairs are told in words", () => {
  const names = (/** @type {number} */ id) => ["ann", "bob", "cat"][id % INCARNATION];
  const title = (/** @type {Record_} */ record) => describeRecord(record, names).title;
  assert.equal(title(CRASH), "cat crashes");
  assert.equal(title(hears(1, 0, GONE)), "ann hears that cat is gone");
  assert.equal(title(hears(1, 0, { ...ALL, 2: 3 })), "ann hears that cat came back after a crash");
  const remake = { step: 1, node: 0, event: { remake: { remake: { first: 1, rows: [[0, {}], [1, {}]] } } } }; // biome-ignore format: rows
  assert.equal(title(/** @type {Record_} */ (remake)), "ann makes the lost token anew, by the reports of 2 nodes");
});
