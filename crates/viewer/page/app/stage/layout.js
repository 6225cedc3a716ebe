// Where nodes are drawn when the trace has no places: near their neighbours, far from others.
//
// Stress majorisation (Gansner, Koren, North 2004): every pair should be as far apart as the links between them, near
// pairs count most. Lines, rings and grids come out as such. The same nodes and links always give the same picture.

/** @import { NodeId, Position } from "../types.d.ts" */
/** @import { Box } from "./camera.js" */

/** One link on the paper. */
export const HOP = 100;
/** Above this many nodes, pairs become too many: a spiral must do. */
const MOST = 1500;
/** How many pairs are looked at in all. */
const EFFORT = 1.2e7;
/** What is this much wider than high is meant to be a line. */
const FLAT = 0.06;

/**
 * @param {NodeId[]} ids
 * @param {[NodeId, NodeId][]} links
 * @returns {Map<NodeId, Position>}
 */
export function layout(ids, links) {
  const index = new Map(ids.map((id, i) => [id, i]));
  const near = neighbourLists(index, links);
  const ring = ringOrder(near);
  const places = ring
    ? circle(ring)
    : ids.length > MOST
      ? spiral(ids.length)
      : straighten(relax(start(near), near), near);
  return new Map(ids.map((id, i) => [id, /** @type {Position} */ ([places[2 * i] * HOP, places[2 * i + 1] * HOP])]));
}

/** Where one more node could stand, so many places across and down. */
const CANDIDATES = 36;
/** Nearer than this to another, in hops, nodes would cover each other. */
const TOO_NEAR = 0.6;

/**
 * A place for one more node while all others stay where they are: where its distances fit the links best.
 * @param {NodeId} id
 * @param {Map<NodeId, Position>} laid the others, at least one
 * @param {[NodeId, NodeId][]} links
 * @param {Box} room what is in the picture: there, if possible
 * @returns {Position}
 */
export function placeFor(id, laid, links, room) {
  const ids = [...laid.keys(), id];
  const hops = distances(neighbourLists(new Map(ids.map((one, i) => [one, i])), links), ids.length - 1);
  const others = [...laid.values()].map(([x, y], i) => ({ x, y, hops: hops[i] < ids.length ? hops[i] : 2 }));
  const [xs, ys] = [others.map(({ x }) => x), others.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs) - HOP, Math.min(...ys) - HOP];
  const [right, bottom] = [Math.max(...xs) + HOP, Math.max(...ys) + HOP];
  /** @type {{ place: Position, stress: number }} */
  let best = { place: [right, bottom], stress: Number.POSITIVE_INFINITY };
  for (let i = 0; i < CANDIDATES ** 2; i++) {
    const x = left + ((right - left) * (i % CANDIDATES)) / (CANDIDATES - 1);
    const y = top + ((bottom - top) * Math.floor(i / CANDIDATES)) / (CANDIDATES - 1);
    const outside = x < room.left || x > room.right || y < room.top || y > room.bottom;
    const stress = others.reduce(
      (sum, other) => {
        const apart = Math.hypot(x - other.x, y - other.y) / HOP;
        return sum + (apart / other.hops - 1) ** 2 + (apart < TOO_NEAR ? 100 : 0);
      },
      outside ? others.length : 0,
    );
    if (stress < best.stress) best = { place: [x, y], stress };
  }
  return best.place;
}

/**
 * @param {Map<NodeId, number>} index
 * @param {[NodeId, NodeId][]} links
 */
function neighbourLists(index, links) {
  /** @type {Set<number>[]} */
  const near = Array.from(index, () => new Set());
  for (const [a, b] of links) {
    const i = index.get(a);
    const j = index.get(b);
    if (i === undefined || j === undefined || i === j) continue;
    near[i].add(j);
    near[j].add(i);
  }
  return near.map((set) => [...set].sort((a, b) => a - b));
}

/**
 * In which order nodes stand on a circle, if that is their best shape: a ring, all linked with all, or none at all.
 * @param {number[][]} near
 * @returns {number[] | null}
 */
function ringOrder(near) {
  const all = near.map((_, i) => i);
  if (near.every((list) => list.length === 0) || near.every((list) => list.length === near.length - 1)) return all;
  if (near.some((list) => list.length !== 2)) return null;
  const order = [0];
  for (let next = near[0][0], before = 0; next !== 0; ) {
    order.push(next);
    const onward = near[next][0] === before ? near[next][1] : near[next][0];
    before = next;
    next = onward;
  }
  return order.length === near.length ? order : null;
}

/** @param {number[]} order */
function circle(order) {
  const count = order.length;
  const places = new Float64Array(2 * count);
  const radius = count < 2 ? 0 : 0.5 / Math.sin(Math.PI / count);
  order.forEach((node, i) => {
    const angle = (2 * Math.PI * i) / count - Math.PI / 2;
    places[2 * node] = radius * Math.cos(angle);
    places[2 * node + 1] = radius * Math.sin(angle);
  });
  return places;
}

/** @param {number} count */
function spiral(count) {
  const places = new Float64Array(2 * count);
  for (let i = 0; i < count; i++) {
    const angle = i * 2.399963; // the golden angle
    places[2 * i] = 0.6 * Math.sqrt(i) * Math.cos(angle);
    places[2 * i + 1] = 0.6 * Math.sqrt(i) * Math.sin(angle);
  }
  return places;
}

/**
 * How many links away every node is; the count of nodes where there is no way.
 * @param {number[][]} near
 * @param {number} from
 */
function distances(near, from) {
  const found = new Uint16Array(near.length).fill(near.length);
  found[from] = 0;
  const queue = [from];
  for (const at of queue) {
    for (const next of near[at]) {
      if (found[next] < near.length) continue;
      found[next] = found[at] + 1;
      queue.push(next);
    }
  }
  return found;
}

/**
 * A first placement that is already unfolded: by the distances from four nodes at opposite ends.
 * @param {number[][]} near
 */
function start(near) {
  const count = near.length;
  const west = distances(near, farthest(distances(near, 0), count));
  const east = distances(near, farthest(west, count));
  const between = west.map((distance, i) => Math.min(distance, east[i]));
  const north = distances(near, farthest(between, count));
  const south = distances(near, farthest(north, count));
  const places = new Float64Array(2 * count);
  for (let i = 0; i < count; i++) {
    // A little of a spiral, so that no two nodes begin at one place.
    places[2 * i] = (west[i] - east[i]) / 2 + 0.01 * Math.cos(i * 2.4);
    places[2 * i + 1] = (north[i] - south[i]) / 2 + 0.01 * Math.sin(i * 2.4);
  }
  return places;
}

/**
 * The node farthest away that can be reached.
 * @param {Uint16Array} from
 * @param {number} count
 */
function farthest(from, count) {
  let best = 0;
  for (let i = 0; i < count; i++) if (from[i] < count && (from[i] > from[best] || from[best] >= count)) best = i;
  return best;
}

/**
 * @param {Float64Array} places
 * @param {number[][]} near
 */
function relax(places, near) {
  const count = near.length;
  const wanted = new Float32Array(count * count);
  near.forEach((_, i) => {
    wanted.set(distances(near, i), i * count);
  });
  const longest = wanted.reduce((most, distance) => (distance < count ? Math.max(most, distance) : most), 1);
  const xs = places.filter((_, i) => i % 2 === 0);
  const ys = places.filter((_, i) => i % 2 === 1);
  const rounds = Math.max(8, Math.min(1500, Math.floor(EFFORT / (count * count))));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < count; i++) {
      let x = 0;
      let y = 0;
      let weights = 0;
      for (let j = 0; j < count; j++) {
        if (i === j) continue;
        let apart = wanted[i * count + j];
        let weight = 1 / (apart * apart);
        if (apart >= count) {
          // Parts without a way between them stand side by side.
          apart = longest / 2 + 1.5;
          weight = 0.02 / (apart * apart);
        }
        const dx = xs[i] - xs[j];
        const dy = ys[i] - ys[j];
        const stretch = apart / Math.max(Math.sqrt(dx * dx + dy * dy), 1e-6);
        x += weight * (xs[j] + dx * stretch);
        y += weight * (ys[j] + dy * stretch);
        weights += weight;
      }
      xs[i] = x / weights;
      ys[i] = y / weights;
    }
  }
  for (let i = 0; i < count; i++) places.set([xs[i], ys[i]], 2 * i);
  return places;
}

/**
 * Turns the picture so that most links are level or upright, and it is wider than high.
 * @param {Float64Array} places
 * @param {number[][]} near
 */
function straighten(places, near) {
  let [cos, sin] = [0, 0];
  near.forEach((list, i) => {
    for (const j of list) {
      const angle = 4 * Math.atan2(places[2 * j + 1] - places[2 * i + 1], places[2 * j] - places[2 * i]);
      cos += Math.cos(angle);
      sin += Math.sin(angle);
    }
  });
  turn(places, -Math.atan2(sin, cos) / 4);
  const [wide, high] = [0, 1].map((axis) => {
    const values = places.filter((_, i) => i % 2 === axis);
    return Math.max(...values) - Math.min(...values);
  });
  if (high > wide * 1.01) turn(places, Math.PI / 2);
  // A line that is nearly straight becomes straight.
  if (Math.min(high, wide) < FLAT * Math.max(high, wide)) for (let i = 1; i < places.length; i += 2) places[i] = 0;
  // The first node stands left and above, where one begins to read.
  for (const axis of [0, 1]) {
    const mean = places.reduce((sum, value, i) => (i % 2 === axis ? sum + value : sum), 0) / near.length;
    if (places[axis] > mean) for (let i = axis; i < places.length; i += 2) places[i] = -places[i];
  }
  return places;
}

/**
 * @param {Float64Array} places
 * @param {number} angle
 */
function turn(places, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  for (let i = 0; i < places.length; i += 2) {
    const [x, y] = [places[i], places[i + 1]];
    places[i] = c * x - s * y;
    places[i + 1] = s * x + c * y;
  }
}
