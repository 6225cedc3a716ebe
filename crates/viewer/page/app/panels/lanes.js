// Which part of a trace the diagram shows, which nodes have a lane in it, and where a record stands.

/** @import { NodeId } from "../types.d.ts" */
/** @typedef {import("./causality.js").Row} Row */

/** With more nodes than this, only those that take part have a lane. */
export const MOST_LANES = 30;

/**
 * Rows around a line: without mere movement, which has no place in the diagram, and a little more of the past.
 * @param {Row[]} rows
 * @param {number} line
 * @param {number} size
 */
export function rowsAround(rows, line, size) {
  const telling = rows.filter(({ record }) => !record.move);
  const at = telling.findLastIndex((row) => row.line <= line) + 1;
  const before = Math.ceil(size * 0.6);
  const from = Math.max(0, Math.min(at - before, telling.length - size));
  return telling.slice(from, from + size);
}

/**
 * The nodes that have a lane, in the order of their ids.
 * @param {NodeId[]} nodes
 * @param {Row[]} rows
 * @param {NodeId | null} selected
 */
export function lanesFor(nodes, rows, selected) {
  if (nodes.length <= MOST_LANES) return [...nodes];
  /** @type {Map<NodeId, number>} */
  const busy = new Map();
  const count = (/** @type {NodeId | undefined} */ node) => {
    if (node !== undefined) busy.set(node, (busy.get(node) ?? 0) + 1);
  };
  for (const { record } of rows) {
    // Hearing of a link is no reason for a lane: in a moving mesh every node does all the time.
    const hears = typeof record.event === "object" && ("link-up" in record.event || "link-down" in record.event);
    if (!hears) count(record.node);
    count(record.lost?.from);
    count(record.end?.violation?.node);
  }
  if (selected !== null) busy.set(selected, Number.POSITIVE_INFINITY);
  const most = [...busy].sort((a, b) => b[1] - a[1]).slice(0, MOST_LANES);
  return most.map(([node]) => node).sort((a, b) => a - b);
}

/**
 * Where rows stand from left to right: one after the other, or by their moments. By moments no two that follow each
 * other are nearer than a little, so that they can be told apart.
 * @param {number[]} moments
 * @param {number} gap pixels from one to the next
 * @param {boolean} evenly
 */
export function places(moments, gap, evenly) {
  if (evenly || moments.length < 2) return moments.map((_, index) => index * gap);
  const width = (moments.length - 1) * gap;
  const [first, last] = [moments[0], moments[moments.length - 1]];
  const least = Math.min(4, gap);
  let previous = -least;
  return moments.map((moment) => {
    const place = last > first ? ((moment - first) / (last - first)) * width : 0;
    previous = Math.max(place, previous + least);
    return previous;
  });
}
