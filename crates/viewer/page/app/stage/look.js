// What is shown of a node, told from its view and its open requests; and in which direction links point.

import { urgencyOf } from "../claims.js";
import { unitWords } from "../words.js";

/** @import { Header, Height, Scene, SceneNode, Urgency, Viewer } from "../types.d.ts" */

/** Heights from this level on mean that a node has not heard of the token yet. */
export const UNKNOWN_LEVEL = 2 ** 40;

/**
 * @typedef {object} Look
 * @property {boolean} token the token is here
 * @property {boolean} copy a copy of it is kept until the next one has it
 * @property {number} held units in use here
 * @property {number | null} session of what is in use, or else of what is waited for
 * @property {boolean} waiting
 * @property {Chip[]} chips the claims it knows, most urgent first
 */
/**
 * A claim: the priority (or deadline) that was asked for; its rank, with an r before it, where that is not known.
 * @typedef {{ text: string, own: boolean, session: number | null }} Chip
 */

/**
 * @param {SceneNode} node
 * @param {Scene} scene
 * @returns {Look}
 */
export function lookOf(node, scene) {
  const inside = node.open.filter((request) => request.granted !== null);
  const waits = node.open.filter((request) => request.granted === null);
  const view = node.view;
  return {
    // What a node had that is gone is lost.
    token: Boolean(view?.token) && !node.gone,
    copy: (view?.keeps_copy ?? false) && !node.gone,
    held: inside.reduce((sum, request) => sum + request.units, 0),
    session: (inside[0] ?? waits[0])?.session ?? null,
    waiting: waits.length > 0 || (view?.waiting?.length ?? 0) > 0,
    // Only shown of some nodes, and costly where there are many.
    get chips() {
      return chipsOf(node, scene);
    },
  };
}

/**
 * @param {SceneNode} node
 * @param {Scene} scene
 * @returns {Chip[]}
 */
function chipsOf(node, scene) {
  const claims = node.view?.queue?.length ? node.view.queue : (node.view?.token?.queue ?? []);
  if (claims.length > 0) {
    return claims.map((claim) => {
      const urgency = urgencyOf(scene, node, claim);
      const text = urgency ? urgencyText(urgency) : `r${short(claim.rank)}`;
      return { text, own: "local" in claim.origin, session: claim.session };
    });
  }
  return node.open
    .filter((request) => request.granted === null)
    .map(({ urgency, session }) => ({ text: urgencyText(urgency), own: true, session }));
}

/** @param {Urgency} urgency */
function urgencyText(urgency) {
  return short("priority" in urgency ? urgency.priority : urgency.deadline);
}

/** @param {number} value ranks of deadlines are large */
function short(value) {
  const size = Math.abs(value);
  if (size < 10_000) return String(value);
  return size < 1e7 ? `${Math.round(value / 1e3)}k` : `${Math.round(value / 1e6)}M`;
}

/**
 * Which end of a link is lower: requests travel there. 0 if that is not known, null where the protocol has no heights.
 * @param {SceneNode | undefined} one
 * @param {SceneNode | undefined} other
 * @returns {-1 | 0 | 1 | null} 1 if the second is lower
 */
export function slope(one, other) {
  const a = one?.view?.height;
  const b = other?.view?.height;
  if (!a && !b) return null;
  if (!a || !b || a.level >= UNKNOWN_LEVEL || b.level >= UNKNOWN_LEVEL) return 0;
  return compare(a, b) > 0 ? 1 : -1;
}

/**
 * @param {Height} a
 * @param {Height} b
 */
function compare(a, b) {
  return a.level - b.level || a.depth - b.depth || a.id - b.id;
}

/**
 * The units of the resource: what nodes know, or what the run was set up with.
 * @param {Viewer} viewer
 */
export function capacityOf(viewer) {
  const nodes = viewer.scene?.nodes ?? [];
  const holder = nodes.find((node) => node.view?.token?.capacity !== undefined);
  const known = holder?.view?.token?.capacity ?? nodes.find((node) => node.view?.capacity)?.view?.capacity;
  const parameters = viewer.summary?.header.parameters ?? {};
  return known ?? number(parameters.capacity) ?? number(parameters.k) ?? viewer.figures?.capacity ?? 1;
}

/**
 * How far the radio reaches, in metres; null where there is none.
 * @param {Viewer} viewer
 */
export function rangeOf(viewer) {
  return viewer.live?.range ?? number(viewer.summary?.header.parameters?.range_m) ?? null;
}

/**
 * The area in which nodes move, if the trace tells it.
 * @param {Header | undefined} header
 * @returns {[number, number] | null}
 */
export function areaOf(header) {
  const area = header?.parameters?.area_m;
  return Array.isArray(area) && area.length === 2 ? [Number(area[0]), Number(area[1])] : null;
}

/** @param {unknown} value */
function number(value) {
  return typeof value === "number" ? value : undefined;
}

/**
 * What stands in the circle of a node: its name if that is short, otherwise its number.
 * @param {SceneNode} node
 */
export function labelOf(node) {
  return node.name.length <= 3 ? node.name : String(node.id);
}

/**
 * Whether the name says more than the label: "bob", but not "n1234".
 * @param {SceneNode} node
 */
export function hasOwnName(node) {
  return node.name !== labelOf(node) && node.name !== `n${node.id}`;
}

/**
 * How a node is, in a few words: "n4: has the token, holds 2 units; 3 claims in its queue".
 * @param {SceneNode} node
 * @param {Scene} scene
 * @param {string} [suspended] why it grants nothing
 */
export function nodeWords(node, scene, suspended) {
  const look = lookOf(node, scene);
  const parts = [];
  if (node.gone) parts.push(node.crashed ? "has crashed" : "is gone");
  if (suspended !== undefined) parts.push(`grants nothing: ${suspended}`);
  if (look.token) parts.push("has the token");
  if (look.copy) parts.push("keeps a copy of the token");
  if (look.held > 0) parts.push(`holds ${unitWords(look.held)}`);
  if (look.waiting) parts.push("waits");
  if (look.session !== null) parts.push(`session ${look.session}`);
  if (parts.length === 0) parts.push(node.view?.role ?? "idle");
  const claims = look.chips.length;
  if (claims > 0) parts.push(claims === 1 ? "1 claim in its queue" : `${claims} claims in its queue`);
  return `${node.name}: ${parts.join(", ")}`;
}

/**
 * The scene in one sentence, for those who do not see it.
 * @param {Scene} scene
 */
export function sentence(scene) {
  const there = scene.nodes.filter((node) => !node.gone);
  const looks = there.map((node) => lookOf(node, scene));
  const holders = there.filter((_, i) => looks[i].token).map((node) => node.name);
  const inside = there.filter((_, i) => looks[i].held > 0).map((node) => node.name);
  const waiting = looks.filter((look) => look.waiting).length;
  const parts = [`${there.length} nodes, ${scene.links.length} links`];
  if (holders.length > 0) parts.push(`the token is at ${list(holders)}`);
  else if (there.some((node) => node.view && !node.view.by_permission)) parts.push("the token is under way");
  parts.push(inside.length > 0 ? `${list(inside)} ${inside.length === 1 ? "is" : "are"} inside` : "none is inside");
  parts.push(waiting === 1 ? "1 node waits" : `${waiting} nodes wait`);
  const broken = scene.end?.violation;
  if (broken) parts.push(`the rule ${broken.rule} is broken`);
  return `${parts.join("; ")}.`;
}

/** @param {string[]} names */
function list(names) {
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}
