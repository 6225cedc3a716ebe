import assert from "node:assert/strict";
import { test } from "node:test";
import { applyRecord, nodeOf, sceneFromHeader } from "../../app/scene.js";
import { inside } from "../../app/stage/drag.js";
import { cornersOf, looksOf } from "../../app/stage/draw-flights.js";
import { hasOwnName, labelOf, lookOf, nodeWords, sentence, slope } from "../../app/stage/look.js";
import { asksFor, header } from "./samples.js";

/** @import { SceneNode, View } from "../../app/types.d.ts" */

/**
 * @param {View | null} view
 * @param {string} [name]
 * @returns {SceneNode}
 */
function node(view, name = "ann") {
  return {
    id: 0,
    name,
    position: null,
    velocity: null,
    moved: 0,
    gone: false,
    crashed: false,
    census: null,
    remade: null,
    view,
    open: [],
  };
}

/** @param {number} level @param {number} depth @param {number} id */
const at = (level, depth, id) => node({ height: { level, depth, id } });

test("links point from the higher to the lower end", () => {
  assert.equal(slope(at(0, 2, 0), at(0, 1, 9)), 1);
  assert.equal(slope(at(0, -1, 0), at(0, 1, 9)), -1);
  assert.equal(slope(at(1, 0, 0), at(0, 5, 1)), 1);
  assert.equal(slope(at(0, 1, 4), at(0, 1, 3)), 1);
});

test("where an end has not heard of the token a link does not point; without heights none does", () => {
  assert.equal(slope(at(2 ** 40, 0, 1), at(0, 0, 0)), 0);
  assert.equal(slope(at(0, 0, 0), node({})), 0);
  assert.equal(slope(node({}), node(null)), null);
});

test("the look of a node: what it holds, whether it waits, which claims it knows", () => {
  const scene = sceneFromHeader(header());
  applyRecord(scene, 2, asksFor(1, 0, 1, 2));
  const ann = /** @type {SceneNode} */ (nodeOf(scene, 0));
  assert.deepEqual(lookOf(ann, scene), {
    token: false,
    copy: false,
    held: 0,
    session: null,
    waiting: true,
    chips: [{ text: "1", own: true, session: null }],
  });
  const grant = { request: 1, units: 2, session: 3, fence: 1 };
  applyRecord(scene, 3, {
    step: 2,
    node: 0,
    event: "leave",
    effects: [{ granted: { grant } }],
    view: { token: { queue: [{ origin: { node: 1 }, rank: -12_345_678, units: 1, session: null }] } },
  });
  const look = lookOf(ann, scene);
  assert.deepEqual([look.token, look.held, look.session, look.waiting], [true, 2, 3, false]);
  assert.deepEqual(look.chips, [{ text: "r-12M", own: false, session: null }]);
  assert.equal(nodeWords(ann, scene), "ann: has the token, holds 2 units, session 3, 1 claim in its queue");
  assert.equal(sentence(scene), "3 nodes, 2 links; the token is at ann; ann is inside; 0 nodes wait.");
});

test("short names stand in the circle, long ones below it", () => {
  assert.equal(labelOf(node(null, "n12")), "n12");
  assert.equal(labelOf(node(null, "crane-west")), "0");
  assert.ok(hasOwnName(node(null, "crane-west")));
  assert.ok(!hasOwnName(node(null, "n0")));
  assert.ok(!hasOwnName({ ...node(null, "n1234"), id: 1234 }));
});

test("a claim shows the priority that was asked for, also where others pass it on; the rank only where that is unknown", () => {
  const scene = sceneFromHeader(header());
  const [ann, bob, cat] = [0, 1, 2].map((id) => /** @type {SceneNode} */ (nodeOf(scene, id)));
  const open = { request: 7, units: 1, session: null, asked: 0, granted: null, fence: null };
  cat.open = [{ ...open, urgency: { priority: 9 } }];
  const claim = { rank: 144, units: 1, session: null };
  cat.view = { queue: [{ ...claim, origin: { local: 7 } }], waiting: [{ request: 7, ...claim }] };
  bob.view = { queue: [{ ...claim, origin: { node: 2 } }] };
  ann.view = { queue: [{ ...claim, origin: { node: 1 } }], token: {} };
  const texts = () => [ann, bob, cat].map((node) => lookOf(node, scene).chips.map(({ text }) => text));
  assert.deepEqual(texts(), [["9"], ["9"], ["9"]]);
  cat.view = null;
  assert.deepEqual(texts(), [["r144"], ["r144"], ["9"]]);
  // Two that wait for each other's claim lead nowhere.
  bob.view = { queue: [{ ...claim, origin: { node: 0 } }] };
  assert.deepEqual(texts()[0], ["r144"]);
});

/** @param {import("../../app/stage/draw-flights.js").Shape} shape @param {number} angle */
function turned(shape, angle) {
  if (shape === "circle") return shape;
  return cornersOf(shape, { ux: Math.cos(angle), uy: Math.sin(angle) });
}

test("shapes stand upright on every link: a square is no diamond", () => {
  const eighth = Math.PI / 4;
  assert.deepEqual(turned("square", eighth), turned("square", 0));
  assert.deepEqual(turned("diamond", eighth), turned("diamond", 0));
  assert.notDeepEqual(turned("triangle", eighth), turned("triangle", 0));
});

test("only what is lost is a cross", () => {
  for (const kind of ["withdraw", "cancel"]) assert.equal(looksOf(kind).shape, "bar");
});

test("a node that is dragged over the border of the area stays at the border", () => {
  assert.deepEqual(inside([-0.7, 41], [60, 40]), [0, 40]);
  assert.deepEqual(inside([3, 4], [60, 40]), [3, 4]);
  assert.deepEqual(inside([-3, 4], null), [-3, 4]);
});
