import assert from "node:assert/strict";
import { test } from "node:test";
import { separate } from "../../app/stage/frame.js";
import { HOP, layout, placeFor } from "../../app/stage/layout.js";

/** @import { NodeId } from "../../app/types.d.ts" */

/** @param {number} count */
const ids = (count) => [...Array(count).keys()];
/** @param {number} count @returns {[NodeId, NodeId][]} */
const line = (count) =>
  ids(count)
    .slice(1)
    .map((i) => [i - 1, i]);

test("the same nodes and links always give the same picture", () => {
  /** @type {[NodeId, NodeId][]} */
  const links = ids(60).map((i) => [i, (i * 7 + 3) % 60]);
  assert.deepEqual(layout(ids(60), links), layout(ids(60), [...links].reverse()));
});

test("a line is a straight line, from left to right", () => {
  const places = [...layout(ids(5), line(5)).values()];
  for (let i = 1; i < 5; i++) {
    assert.equal(places[i][1], places[0][1]);
    assert.ok(Math.abs(places[i][0] - places[i - 1][0] - HOP) < HOP * 0.1);
  }
});

test("a ring is round, and the first node is at the top", () => {
  const places = [...layout(ids(6), [...line(6), [5, 0]]).values()];
  for (const [x, y] of places) assert.ok(Math.abs(Math.hypot(x, y) - HOP) < 1);
  assert.ok(places.every(([, y]) => y >= places[0][1] - 1e-6));
});

test("a grid is a grid: links are level or upright", () => {
  /** @type {[NodeId, NodeId][]} */
  const links = ids(16).flatMap((i) => [
    .../** @type {[NodeId, NodeId][]} */ (i % 4 < 3 ? [[i, i + 1]] : []),
    .../** @type {[NodeId, NodeId][]} */ (i < 12 ? [[i, i + 4]] : []),
  ]);
  const places = [...layout(ids(16), links).values()];
  for (const [a, b] of links) {
    const [dx, dy] = [places[a][0] - places[b][0], places[a][1] - places[b][1]].map(Math.abs);
    assert.ok(Math.min(dx, dy) < 0.15 * HOP && Math.max(dx, dy) > 0.7 * HOP);
  }
});

test("nodes stand apart, also without links, in several parts, and alone", () => {
  for (const links of [
    [],
    line(4),
    /** @type {[NodeId, NodeId][]} */ ([
      [4, 5],
      [6, 7],
    ]),
  ]) {
    // biome-ignore format: pairs
    const places = [...layout(ids(8), links).values()];
    for (const [i, a] of places.entries()) {
      assert.ok(a.every(Number.isFinite));
      for (const b of places.slice(i + 1)) assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) > HOP * 0.1);
    }
  }
  const alone = layout([9], []).get(9);
  assert.ok(alone && Math.hypot(...alone) === 0);
  assert.equal(layout([], []).size, 0);
});

test("a thousand nodes get finite places, and very many too", () => {
  for (const count of [1000, 1600]) {
    /** @type {[NodeId, NodeId][]} */
    const links = ids(count).flatMap((i) =>
      [1, 2, 3].map((k) => /** @type {[NodeId, NodeId]} */ ([i, (i * 7 + k * 131) % count])),
    );
    for (const place of layout(ids(count), links).values()) assert.ok(place.every(Number.isFinite));
  }
});

test("one more node finds a place near its neighbours and away from all others", () => {
  const ring = layout(ids(5), [...line(5), [4, 0]]);
  const before = structuredClone(ring);
  /** @type {[NodeId, NodeId][]} */
  const links = [...line(5), [4, 0], [5, 0], [5, 4]];
  const room = { left: -1000, top: -1000, right: 1000, bottom: 1000 };
  const place = placeFor(5, ring, links, room);
  assert.deepEqual(ring, before);
  const far = (/** @type {number} */ id) => {
    const [x, y] = /** @type {[number, number]} */ (ring.get(id));
    return Math.hypot(x - place[0], y - place[1]) / HOP;
  };
  for (const id of [0, 4]) assert.ok(far(id) > 0.6 && far(id) < 1.4, `${id}: ${far(id)}`);
  for (const id of [1, 2, 3]) assert.ok(far(id) > 1.2, `${id}: ${far(id)}`);
  // In the picture, if there is room.
  const [x, y] = placeFor(5, ring, links, { left: -90, top: -90, right: 90, bottom: 90 });
  assert.ok(Math.abs(x) <= 90 && Math.abs(y) <= 90, `${x}, ${y}`);
});

test("nodes that would cover each other are drawn beside each other, and others stay", () => {
  // A heap of thirty at nearly one place, one at exactly the same as another, and one far away.
  const heap = ids(30).map((i) => ({ x: 100 + (i % 6), y: 100 + Math.floor(i / 6) }));
  const dots = [...heap, { x: 100, y: 100 }, { x: 500, y: 100 }].sort((a, b) => a.x - b.x);
  separate(dots, 20);
  for (const [i, a] of dots.entries()) {
    for (const b of dots.slice(i + 1)) assert.ok(Math.hypot(a.x - b.x, a.y - b.y) > 15);
  }
  assert.deepEqual(dots.at(-1), { x: 500, y: 100 });
  assert.ok(dots.every(({ x, y }) => Math.hypot(x - 100, y - 100) < 120 || x === 500));
});
