// What changed in a node from one view to the next, and the parts of a view in words.

/** @import { Claimant, NodeId, Urgency, View, Viewer } from "../types.d.ts" */

import { UNKNOWN_LEVEL } from "../stage/look.js";
import { unitWords, urgencyWords } from "../words.js";
import { minus, session } from "./format.js";

/** @typedef {keyof View} Field */

/** What the fields of a view are called on this page, in the order in which they are told. */
export const FIELDS = /** @type {const} */ ({
  role: "State",
  token: "Token",
  keeps_copy: "Token copy",
  holding: "Holds",
  waiting: "Waits for",
  asked: "Asked",
  queue: "Queue",
  returning: "Brings back",
  height: "Height",
  captain: "Captain",
  followers: "Followers",
  neighbours: "Neighbours",
  capacity: "Units in all",
  by_permission: "By permission",
  leaving: "Leaving",
});

/**
 * The fields that differ.
 * @param {View | null | undefined} before
 * @param {View | null | undefined} after
 * @returns {Field[]}
 */
export function changedFields(before, after) {
  const same = (/** @type {Field} */ field) => JSON.stringify(before?.[field]) === JSON.stringify(after?.[field]);
  return /** @type {Field[]} */ (Object.keys(FIELDS)).filter((field) => !same(field));
}

/**
 * A field in words; a dash where there is nothing.
 * @param {View | null | undefined} view
 * @param {Field} field
 * @param {(id: NodeId) => string} nameOf
 */
export function fieldWords(view, field, nameOf) {
  const value = view?.[field];
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return "–";
  if (value === true) return "yes";
  if (value === false) return "no";
  const full = /** @type {View} */ (view);
  if (field === "height" && full.height) return heightWords(full.height);
  if (field === "token" && full.token) return tokenWords(full.token);
  if (field === "asked" || field === "captain") return nameOf(Number(value));
  if (field === "neighbours") return (full.neighbours ?? []).map(nameOf).join(", ");
  if (field === "queue") return (full.queue ?? []).map((claim) => claimWords(claim, nameOf)).join("; ");
  if (field === "waiting") return (full.waiting ?? []).map((one) => demandWords(one)).join("; ");
  if (field === "holding") {
    return (full.holding ?? []).map((grant) => `${demandWords(grant)}${fenceWords(grant.fence)}`).join("; ");
  }
  if (field === "returning") {
    const of = (/** @type {{ grant: { node: NodeId } | null }} */ { grant }) =>
      grant ? ` of ${nameOf(grant.node)}` : "";
    return (full.returning ?? []).map((one) => `${demandWords(one)}${of(one)}`).join("; ");
  }
  return String(value);
}

/** @param {NonNullable<View["height"]>} height */
export function heightWords({ level, depth, id }) {
  if (level >= UNKNOWN_LEVEL) return "none yet: it has not heard of the token";
  return `level ${level}, depth ${depth}, id ${id}`.replaceAll("-", "−");
}

/** @param {NonNullable<View["token"]>} token */
export function tokenWords(token) {
  const words = ["here"];
  if (token.free !== undefined) {
    words.push(token.capacity === undefined ? `${token.free} free` : `${token.free} of ${token.capacity} units free`);
  }
  if (token.session !== undefined && token.session !== null) words.push(`session ${session(token.session)}`);
  if (token.pass !== undefined && token.pass !== null) words.push(`passed on ${token.pass} times`);
  if (token.followers) words.push(`${token.followers} followers`);
  return words.join(", ");
}

/** @param {Claimant} claim @param {(id: NodeId) => string} nameOf @param {Urgency | null} [urgency] if it is known */
export function claimWords(claim, nameOf, urgency) {
  const who = "local" in claim.origin ? "itself" : nameOf(claim.origin.node);
  return `${who}: ${demandWords(claim, urgency)}`;
}

/**
 * @param {{ units: number, rank?: number, session?: number | null }} demand
 * @param {Urgency | null} [urgency] what was asked for, if it is known
 */
export function demandWords({ units, rank, session: of }, urgency = null) {
  const words = [unitWords(units)];
  if (urgency !== null) words.push(minus(urgencyWords(urgency)));
  if (rank !== undefined) words.push(minus(`rank ${rank}`));
  if (of !== undefined && of !== null) words.push(`session ${session(of)}`);
  return words.join(", ");
}

/** @param {number | null | undefined} fence */
export function fenceWords(fence) {
  return fence === null || fence === undefined ? "" : `, fence ${fence}`;
}

/**
 * The view of a node before a line, as far as records are at hand.
 * @param {Pick<Viewer, "recordAt" | "summary">} viewer
 * @param {NodeId} node
 * @param {number} line
 * @param {number} [reach] how many lines to look back
 * @returns {View | null}
 */
export function viewBefore(viewer, node, line, reach = 3000) {
  for (let at = line - 1; at > Math.max(1, line - reach); at--) {
    const record = viewer.recordAt(at);
    if (record?.node === node && record.view) return record.view;
    if (record?.join?.id === node) return record.join.view ?? null;
  }
  if (line - reach > 1) return null;
  return viewer.summary?.header.nodes.find(({ id }) => id === node)?.view ?? null;
}
