// Axes with the ticks of the charts of study pages (crates/report/src/chart/axis.rs): multiples of 1, 2 or 5 times a
// power of ten, as many as their labels leave room for; and units with the prefix that gives short numbers.

import { minus } from "./format.js";

/** The size of tick labels. */
export const TICK_SIZE = 11.5;

/** @typedef {{ at: number, label: string }} Tick `at` is a fraction of the length */
/** @typedef {{ label: string, ticks: Tick[], place: (value: number) => number }} Axis */

/**
 * An axis from zero to the largest of the values, or to `most` if given. Null if there are none.
 * @param {{ label: string, unit: string, whole?: boolean }} scale
 * @param {number[]} values
 * @param {{ length: number, vertical: boolean }} room
 * @returns {Axis | null}
 */
export function axis(scale, values, room) {
  if (values.length === 0) return null;
  const largest = Math.max(...values, 0);
  const unit = unitFor(scale.unit, largest);
  const most = largest > 0 ? largest / unit.size : 1;
  const { step, power, count } = steps(most, { ...room, whole: scale.whole });
  const high = room.vertical ? count * step : most;
  const ticks = [];
  for (let index = 0; index <= count; index++) {
    const value = index * step;
    if (value <= high * (1 + 1e-9)) ticks.push({ at: value / high, label: tickLabel(value, power, count * step) });
  }
  const label = unit.name === "" ? scale.label : `${scale.label} (${unit.name})`;
  return { label, ticks, place: (value) => value / unit.size / high };
}

/**
 * As many steps from zero as have room for their labels. What is counted has no halves.
 * @param {number} most
 * @param {{ length: number, vertical: boolean, whole?: boolean }} room
 */
export function steps(most, { length, vertical, whole = false }) {
  for (let wanted = vertical ? 8 : 10; wanted > 1; wanted--) {
    const candidate = niceSteps(most, wanted);
    if (whole && candidate.step < 1) continue;
    const shown = vertical ? candidate.count * candidate.step : most;
    const gap = (candidate.step / shown) * length;
    const widest = width(tickLabel(candidate.count * candidate.step, candidate.power, most));
    if (gap >= (vertical ? TICK_SIZE * 1.6 : widest + TICK_SIZE)) return candidate;
  }
  return niceSteps(whole ? Math.max(1, most) : most, 1);
}

/** @param {number} most @param {number} wanted */
function niceSteps(most, wanted) {
  const rough = most / wanted;
  let power = Math.floor(Math.log10(rough) + 1e-12);
  const lead = rough / 10 ** power;
  let factor = [1, 2, 5].find((nice) => lead <= nice + 1e-9);
  if (factor === undefined) {
    factor = 1;
    power += 1;
  }
  const step = power < 0 ? factor / 10 ** -power : factor * 10 ** power;
  return { step, power, count: Math.ceil(most / step - 1e-9) };
}

/** A label with the decimals that steps of this power of ten need. @param {number} value @param {number} power @param {number} largest */
export function tickLabel(value, power, largest) {
  if (value === 0) return "0";
  for (const [exponent, suffix] of /** @type {const} */ ([
    [9, "G"],
    [6, "M"],
    [3, "k"],
  ])) {
    if (largest >= 10 ** Math.max(exponent, 4) && power >= exponent - 2) {
      return `${(value / 10 ** exponent).toFixed(Math.max(0, exponent - power))}${suffix}`;
    }
  }
  return minus(value.toFixed(Math.min(20, Math.max(0, -power))));
}

/** The unit for values up to this size; seconds get smaller ones. @param {string} unit @param {number} largest */
export function unitFor(unit, largest) {
  if (unit !== "s" || largest === 0) return { name: unit, size: 1 };
  const fitting = /** @type {const} */ ([
    ["s", 1],
    ["ms", 1e-3],
    ["µs", 1e-6],
  ]).find(([, size]) => largest >= size);
  const [name, size] = fitting ?? ["ns", 1e-9];
  return { name, size };
}

/** About how wide a label is. @param {string} label */
export function width(label) {
  return label.length * TICK_SIZE * 0.58;
}
