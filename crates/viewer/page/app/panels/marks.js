// How many marks of a kind there are in each span of time.

/** @import { MarkKind, Viewer } from "../types.d.ts" */

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
 * As the server counted them; the few steps of a place in a check are counted here. Null while nobody has counted.
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
