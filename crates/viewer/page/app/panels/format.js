// Times and numbers as people read them.

/** @import { Moment } from "../types.d.ts" */

/** @typedef {"step" | "time_ns"} Clock */

const SECOND = 1e9;

/**
 * A moment: `step 12`, `3.250 s`, `1:02.345`.
 * @param {Moment} at
 * @param {Clock} clock
 * @param {number} [decimals] of seconds
 */
export function moment(at, clock, decimals = 3) {
  if (clock === "step") return `step ${Math.floor(at)}`;
  const parts = Math.floor(at / 10 ** (9 - decimals));
  const seconds = Math.floor(parts / 10 ** decimals);
  const rest = String(parts % 10 ** decimals).padStart(decimals, "0");
  if (seconds < 60) return `${seconds}.${rest} s`;
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}.${rest}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}.${rest}`;
}

/**
 * How many decimals tell moments apart that are so far from each other: three at least.
 * @param {Moment} apart
 */
export function decimalsFor(apart) {
  return apart <= 0 ? 3 : Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(apart))));
}

/**
 * A length of time: `12 steps`, `3.25 ms`, `2 min 5 s`.
 * @param {Moment} length
 * @param {Clock} clock
 */
export function span(length, clock) {
  if (clock === "step") return length === 1 ? "1 step" : `${significant(length, 3)} steps`;
  const size = Math.abs(length);
  if (size === 0) return "0 s";
  if (size < 1e3) return `${Math.round(length)} ns`;
  if (size < 1e6) return `${significant(length / 1e3, 3)} µs`;
  if (size < SECOND) return `${significant(length / 1e6, 3)} ms`;
  if (size < 60 * SECOND) return `${significant(length / SECOND, 3)} s`;
  const seconds = Math.round(length / SECOND);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/**
 * A number with so many digits that matter, without zeros at its end.
 * @param {number} value
 * @param {number} digits
 */
export function significant(value, digits) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 10 ** digits) return count(value);
  return minus(String(Number(value.toPrecision(digits))));
}

/** A whole number with its thousands apart: `12,345`. @param {number} value */
export function count(value) {
  return minus(Math.round(value).toLocaleString("en-US"));
}

/** With a minus sign as wide as a plus sign. @param {string} text */
export function minus(text) {
  return text.replace("-", "−");
}

/** @param {number} value @param {string} one @param {string} [many] */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** How fast: `×0.5`, `4 steps/s`. @param {number} speed @param {Clock} clock */
export function speed(speed, clock) {
  return clock === "step"
    ? `${significant(speed, 2)} ${speed === 1 ? "step" : "steps"}/s`
    : `×${significant(speed, 2)}`;
}

/** Sessions of nodes are 63 bits of a hash; four digits of them tell enough apart. @param {number} session */
export function session(session) {
  return session > 1e9 ? `…${session.toString(16).slice(-6)}` : String(session);
}
