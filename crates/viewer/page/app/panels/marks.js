// Marks on the timeline: how many there are in each span of time, and where a moment lies.

/** @import { MarkKind, Moment, Viewer } from "../types.d.ts" */

import { hasMark } from "../place.js";
import { recordMoment } from "../scene.js";

/**
 * The end of the spans that figures are counted by. A step lasts until the next one, so steps end one later.
 * @param {{ last: number }} figures
 * @param {"step" | "time_ns"} clock
 */
export function extentOf({ last }, clock) {
  return clock === "step" ? last + 1 : last;
}

/**
 * As the server counted them; the few steps of a place in a check are counted here. Null while they are not counted yet.
 * @param {Pick<Viewer, "figures" | "place" | "summary">} viewer
 * @param {MarkKind} kind
 * @returns {number[] | null}
 */
export function marksOf({ figures, place, summary }, kind) {
  if (!place) return figures ? (figures.marks[kind] ?? []) : null;
  const last = summary?.last ?? 0;
  // Spans so fine that a step is drawn where the cursor stands after it.
  const counts = new Array(40 * Math.max(1, last)).fill(0);
  for (const record of place.records) {
    if (hasMark(record, kind)) counts[Math.min(counts.length - 1, 40 * recordMoment(record))] += 1;
  }
  return counts;
}

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
