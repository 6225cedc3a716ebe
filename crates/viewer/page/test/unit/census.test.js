import assert from "node:assert/strict";
import { test } from "node:test";
import { INCARNATION, isGone, living, partOf, repairNow, repairOf } from "../../app/census.js";
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

test("of a live mesh the word of its nodes counts, of the past what the trace tells", () => {
  const scene = after([hears(1, 0, ALL), CRASH, hears(5, 0, GONE)]);
  const condition = { suspended: [], repair: { heir: 1, missing: [2], asks_voters: false } };
  const live = { about: /** @type {any} */ ({ source: "mesh" }), following: true, condition, scene };
  assert.deepEqual(repairNow(live), { heir: 1, missing: new Set([2]), asksVoters: false });
  assert.equal(repairNow({ ...live, condition: { ...condition, repair: null } }), null);
  assert.deepEqual(repairNow({ ...live, following: false }), repairOf(scene));
});

test("the part of a node in a crash: from suspended to the new token", () => {
  const remake = { step: 7, node: 0, event: { remake: { remake: { first: 1, rows: [] } } }, effects: [] };
  const scene = after([hears(1, 0, ALL), CRASH, hears(5, 0, GONE), /** @type {Record_} */ (remake)]);
  const [ann, bob, cat] = scene.nodes;
  const clock = (/** @type {number} */ now) => ({ now, summary: null });
  const words = (/** @type {any} */ node, /** @type {any} */ repair, suspended = false, now = 20) =>
    partOf(node, repair, suspended, clock(now)).words;
  const repair = { heir: 0, missing: new Set([1, 2]) };
  assert.equal(words(cat, repair), "crashed, waited for");
  assert.equal(words(cat, null), "crashed");
  assert.equal(words(bob, repair), "report missing");
  assert.equal(words(bob, repair, true), "suspended");
  assert.equal(words(ann, repair), "heir");
  assert.equal(words(ann, { ...repair, asksVoters: true }), "heir, asks the voters");
  assert.equal(ann.remade, 7);
  assert.equal(words(ann, null, false, 8), "made the token anew");
  assert.equal(words(ann, null), null);
});
