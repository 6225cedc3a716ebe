// How fast a tape is played at first.

/** @import { Summary } from "./types.d.ts" */

/** A message should be seen flying so long, in seconds of the viewer. */
const SEEN = 0.6;
/** A whole tape should not take much longer than this, in seconds of the viewer. */
const WHOLE = 60;

/**
 * Of steps one per second. Of time: so slow that the usual message is seen flying, but not so slow that the whole tape
 * takes more than a minute, and never faster than it really was.
 * @param {Summary} summary
 * @param {number} typical how long a message usually takes, in nanoseconds
 */
export function firstSpeed(summary, typical) {
  if (summary.clock === "step") return 1;
  const first = summary.chunks[0]?.from ?? 0;
  const seconds = (summary.last - first) / 1e9;
  const wanted = Math.max(typical / 1e9 / SEEN, seconds / WHOLE);
  return wanted > 0 ? Math.min(1, roundUp(wanted)) : 1;
}

/**
 * The next of 1, 2, 5, 10, ... (and 0.5, 0.2, 0.1, ...): a number that can be said.
 * @param {number} value
 */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value * 0.999) ?? 10;
  return Number((step * power).toPrecision(1));
}
