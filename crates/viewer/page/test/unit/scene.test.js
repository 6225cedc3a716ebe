import assert from "node:assert/strict";
import { test } from "node:test";
import { applyRecord, MOST_UNDER_WAY, nodeOf, sceneCopy, sceneFromHeader } from "../../app/scene.js";
import { asksFor, header, receives, sends } from "./samples.js";

/** @import { Record_, Scene } from "../../app/types.d.ts" */

/**
 * @param {Record_[]} records
 * @param {Scene} [scene]
 */
function after(records, scene = sceneFromHeader(header())) {
  records.forEach((record, i) => {
    applyRecord(scene, i + 2, record);
  });
  return scene;
}

test("the header makes the first scene: nodes and links are ordered", () => {
  const scene = sceneFromHeader({ ...header(), links: [[2, 1], [1, 0], [0, 1]] }); // biome-ignore format: pairs
  assert.deepEqual(scene.links, [
    [0, 1],
    [1, 2],
  ]);
  assert.deepEqual(
    scene.nodes.map((node) => node.id),
    [0, 1, 2],
  );
  assert.equal(scene.line, 1);
});

test("a message is under way until it is received", () => {
  const scene = after([sends(1, 0, [1])]);
  assert.deepEqual(scene.under_way, [{ line: 2, from: 0, to: 1, sent: 1, message: "hello" }]);
  assert.equal(applyRecord(scene, 3, receives(2, 1, 0, 2)).length, 1);
  assert.deepEqual(scene.under_way, []);
});

test("the cause tells which message arrives; without it the oldest does", () => {
  const scene = after([sends(1, 0, [1]), sends(2, 0, [1])]);
  applyRecord(scene, 4, receives(3, 1, 0, 3));
  assert.deepEqual(
    scene.under_way.map(({ line }) => line),
    [2],
  );
  const other = after([sends(1, 0, [1]), sends(2, 0, [1]), receives(3, 1, 0)]);
  assert.deepEqual(
    other.under_way.map(({ line }) => line),
    [3],
  );
});

test("a broadcast goes to every neighbour that is up", () => {
  const scene = after([
    { step: 1, link: { between: [2, 0], up: true } },
    { step: 2, node: 0, event: "leave", effects: [{ broadcast: { message: "bye" } }] },
  ]);
  assert.deepEqual(
    scene.under_way.map(({ to }) => to),
    [1, 2],
  );
});

test("what is under way on a link that breaks is lost, in both directions", () => {
  const scene = after([sends(1, 0, [1]), sends(2, 1, [0, 2])]);
  const lost = applyRecord(scene, 4, { step: 3, link: { between: [1, 0], up: false } });
  assert.equal(lost.length, 2);
  assert.deepEqual(
    scene.under_way.map(({ from, to }) => [from, to]),
    [[1, 2]],
  );
  assert.deepEqual(scene.links, [[1, 2]]);
});

test("requests are open from asking to the last unit given back", () => {
  const grant = { request: 1, units: 3, session: 4, fence: 9 };
  const scene = after([
    asksFor(1, 0, 1, 3),
    { step: 2, node: 0, event: { reprioritize: { request: 1, urgency: { priority: 8 } } } },
    { step: 3, node: 0, event: "leave", effects: [{ granted: { grant } }] },
  ]);
  const open = () => nodeOf(scene, 0)?.open;
  assert.deepEqual(open(), [
    { request: 1, units: 3, urgency: { priority: 8 }, session: 4, asked: 1, granted: 3, fence: 9 },
  ]);
  applyRecord(scene, 5, { step: 4, node: 0, event: { cancel: { request: 1 } } });
  applyRecord(scene, 6, { step: 5, node: 0, event: { release: { request: 1, units: 1 } } });
  assert.equal(open()?.[0].units, 2);
  applyRecord(scene, 7, { step: 6, node: 0, event: { release: { request: 1, units: 2 } } });
  assert.deepEqual(open(), []);
});

test("misuse changes no request", () => {
  const scene = after([{ ...asksFor(1, 0, 1, 3), misuse: "over-capacity" }]);
  assert.deepEqual(nodeOf(scene, 0)?.open, []);
});

test("a node that is gone is back when it moves or joins again", () => {
  const scene = after([
    { step: 1, join: { id: 7, name: "late", position: [1, 2] } },
    { step: 2, move: { node: 7, position: [3, 4], velocity: [1, 0], gone: true } },
  ]);
  assert.deepEqual(nodeOf(scene, 7)?.position, [3, 4]);
  assert.equal(nodeOf(scene, 7)?.gone, true);
  applyRecord(scene, 4, { step: 3, join: { id: 7, name: "again" } });
  assert.equal(nodeOf(scene, 7)?.gone, false);
  assert.equal(nodeOf(scene, 7)?.name, "again");
});

test("too many messages under way: the oldest are forgotten", () => {
  const scene = after([sends(1, 0, [1]), sends(2, 0, Array(MOST_UNDER_WAY).fill(2))]);
  assert.equal(scene.under_way.length, MOST_UNDER_WAY);
  assert.equal(scene.under_way[0].line, 3);
});

test("a copy can be changed without changing the original", () => {
  const scene = after([asksFor(1, 0, 1, 1), sends(2, 0, [1])]);
  const before = structuredClone(scene);
  const copy = sceneCopy(scene);
  after([receives(3, 1, 0), { step: 4, link: { between: [0, 1], up: false } }, asksFor(5, 0, 2, 1)], copy);
  applyRecord(copy, 6, { step: 6, node: 0, event: { reprioritize: { request: 1, urgency: { priority: 3 } } } });
  assert.deepEqual(scene, before);
});

test("blank lines mean nothing, and unknown nodes are given a name", () => {
  const scene = after([]);
  applyRecord(scene, 2, null);
  assert.equal(scene.line, 1);
  applyRecord(scene, 3, { step: 1, node: 42, event: "leave", effects: [] });
  assert.equal(nodeOf(scene, 42)?.name, "node 42");
});
