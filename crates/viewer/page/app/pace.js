// One clock for everything that is shown. Messages of a real mesh fly for a tenth of a millisecond, too short to be seen.
// So time itself goes slower while one flies, and faster afterwards until it has caught up. What is shown is always
// everything as it was at one moment: a node gets in when the token has been seen to arrive there, never before.

/** @import { Moment, Summary } from "./types.d.ts" */

/** Showing is never later than this, in seconds of the viewer: the later it is, the shorter messages are seen. */
export const MOST_LATE = 2;
/** So much faster than usual time goes for every second that it is late. */
const CATCH_UP = 1;
/** More flights than this in a frame cannot be seen one by one; then only those of the token count. */
const MOST_FLIGHTS = 400;

/**
 * A message on its way.
 * @typedef {object} Span
 * @property {Moment} from when it is sent
 * @property {Moment} to when it ends
 * @property {number} seen how long one should see it, in seconds of the viewer
 * @property {boolean} token
 */

/**
 * Where time is after some seconds of the viewer.
 * @param {Moment} now
 * @param {Moment} goal where it would be at its usual rate; it never goes beyond
 * @param {number} seconds
 * @param {number} rate moments per second of the viewer, usually
 * @param {(from: Moment, to: Moment) => Span[]} flights those that end after the first moment and begin before the second
 * @returns {Moment}
 */
export function paced(now, goal, seconds, rate, flights) {
  const late = (goal - now) / rate;
  const fast = rate * (1 + CATCH_UP * Math.max(0, late));
  const end = Math.min(goal, now + fast * seconds);
  const patience = Math.max(0, 1 - late / MOST_LATE);
  const ahead = patience > 0 ? slowing(flights(now, end), fast, patience) : [];
  let at = now;
  let left = seconds;
  while (at < goal && left > 0) {
    const moment = at;
    const active = ahead.filter(({ from, to }) => from <= moment && moment < to);
    const speed = Math.min(fast, ...active.map((span) => span.speed));
    const next = Math.min(
      goal,
      ...active.map(({ to }) => to),
      ...ahead.map(({ from }) => (from > moment ? from : goal)),
    );
    const takes = (next - at) / speed;
    if (takes > left) return at + speed * left;
    at = next;
    left -= takes;
  }
  return at;
}

/**
 * The flights that would be over too soon, and how fast time may go while they last.
 * @param {Span[]} flights
 * @param {number} fast
 * @param {number} patience 1: they are seen as long as they should
 */
function slowing(flights, fast, patience) {
  const few = flights.length > MOST_FLIGHTS ? flights.filter(({ token }) => token) : flights;
  return few
    .map(({ from, to, seen }) => ({ from, to, speed: (to - from) / (seen * patience) }))
    .filter(({ from, to, speed }) => to > from && speed < fast)
    .slice(0, MOST_FLIGHTS);
}

// How fast a tape is played at first.

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
