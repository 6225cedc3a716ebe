// How fast a tape is played at first.

/** @import { Summary } from "./types.d.ts" */

/** A message should be seen flying so long, in seconds of the viewer. */
const SEEN = 0.6;
/** A whole tape should take about so long, in seconds of the viewer; in no case longer than the second. */
const WHOLE = 60;
const LONGEST = 600;
/** So many messages per second of the viewer can be followed with the eye. */
const FOLLOWED = 30;

/**
 * Of steps one per second. Of time: so slow that the usual message is seen flying, but not so slow that the whole tape
 * takes more than a minute, and never faster than it really was. Where very many messages fly it is slower, down to ten
 * minutes for the whole tape.
 * @param {Summary} summary
 * @param {number} typical how long a message usually takes, in nanoseconds
 * @param {number} rate how many messages there are in a second of the tape
 */
export function firstSpeed(summary, typical, rate) {
  if (summary.clock === "step") return 1;
  const first = summary.chunks[0]?.from ?? 0;
  const seconds = (summary.last - first) / 1e9;
  const seen = typical / 1e9 / SEEN;
  const crowded = Math.max(seen, seconds / LONGEST, FOLLOWED / Math.max(rate, 1e-9));
  const wanted = Math.min(Math.max(seen, seconds / WHOLE), crowded);
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
