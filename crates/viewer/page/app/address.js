// The part of an address after the #: a path of the checker, or a line of a tape with what is selected there.

/** @import { About, Selection } from "./types.d.ts" */

/**
 * The path that an address names; null if it names none.
 * @param {string} hash
 * @returns {number[] | null}
 */
export function pathOf(hash) {
  const named = /^#\/path\/(start|\d+(?:\.\d+)*)$/.exec(hash);
  if (!named) return null;
  return named[1] === "start" ? [] : named[1].split(".").map(Number);
}

/** @param {number[]} path */
export function addressOf(path) {
  return `#/path/${path.length > 0 ? path.join(".") : "start"}`;
}

/** @typedef {{ tape: number, line: number, selected: Selection | null }} Spot */

/**
 * The spot that an address names; null if it names none, or a tape that is not here.
 * @param {string} hash
 * @param {About["tapes"]} tapes
 * @returns {Spot | null}
 */
export function spotOf(hash, tapes) {
  const named = /^#\/at\/([^/]+)\/(\d+)(?:\/(node|line)\/(\d+)|\/link\/(\d+)-(\d+))?$/.exec(hash);
  const tape = named ? tapes.findIndex(({ name }) => encodeURIComponent(name) === named[1]) : -1;
  if (!named || tape < 0) return null;
  const [, , line, kind, id, one, other] = named;
  /** @type {Selection | null} */
  let selected = null;
  if (kind === "node") selected = { node: Number(id) };
  else if (kind === "line") selected = { line: Number(id) };
  else if (one !== undefined) selected = { link: [Number(one), Number(other)] };
  return { tape, line: Number(line), selected };
}

/**
 * @param {Spot} spot
 * @param {About["tapes"]} tapes
 */
export function addressOfSpot({ tape, line, selected }, tapes) {
  const words = Object.entries(selected ?? {}).map(([kind, what]) => `/${kind}/${[what].flat().join("-")}`);
  return `#/at/${encodeURIComponent(tapes[tape]?.name ?? "")}/${line}${words.join("")}`;
}
