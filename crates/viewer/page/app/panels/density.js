// How marks are spread over the timeline: sums by column of pixels, and where a moment lies.

/** @import { Moment } from "../types.d.ts" */

/**
 * Sums of buckets by column. A mark is never lost: each bucket counts in exactly one column.
 * @param {number[]} buckets
 * @param {number} columns
 */
export function byColumn(buckets, columns) {
  const sums = new Array(Math.max(columns, 0)).fill(0);
  if (columns < 1) return sums;
  for (const [index, many] of buckets.entries()) {
    sums[Math.min(columns - 1, Math.floor(((index + 0.5) / buckets.length) * columns))] += many;
  }
  return sums;
}

/**
 * Heights between 0 and 1; the root, so that a single mark beside a thousand can still be seen.
 * @param {number[]} sums
 */
export function heights(sums) {
  const most = Math.max(1, ...sums);
  return sums.map((sum) => Math.sqrt(sum / most));
}

/**
 * Where a moment lies between the beginning and the end, 0 to 1.
 * @param {Moment} at
 * @param {Moment} last
 */
export function fraction(at, last) {
  return last > 0 ? Math.min(1, Math.max(0, at / last)) : 0;
}

/**
 * The moment at a place of a track, from its left edge.
 * @param {number} x
 * @param {number} width
 * @param {Moment} last
 */
export function momentAt(x, width, last) {
  return width > 0 ? Math.min(1, Math.max(0, x / width)) * last : 0;
}
