// Who came and who is gone, as nodes tell it to each other, and what can be said of a repair from that.

/** @import { Census, NodeId, Scene, SceneNode, Viewer } from "./types.d.ts" */

/** @typedef {{ heir: NodeId | null, missing: Set<NodeId>, asksVoters?: boolean }} Repair */

/** So long one sees who made a token anew, in nanoseconds; where time goes by steps, for so many. */
const REMADE = { time_ns: 4e9, step: 6 };

/** Ids of incarnations of one node differ by multiples of this. */
export const INCARNATION = 65_536;

/**
 * Whether two ids are incarnations of one node.
 * @param {NodeId} one
 * @param {NodeId} other
 */
export function isSameMember(one, other) {
  return one % INCARNATION === other % INCARNATION;
}

/** The count of a node while it is living; one more when it is gone. @param {NodeId} id */
const livingCount = (id) => 2 * Math.floor(id / INCARNATION) + 1;

/**
 * Whether this incarnation is gone.
 * @param {Census} census
 * @param {NodeId} id
 */
export function isGone(census, id) {
  const member = id % INCARNATION;
  return (census.counts[member] ?? 0) > livingCount(id) || census.removed.includes(member);
}

/**
 * The living incarnations, lowest member first.
 * @param {Census} census
 * @returns {NodeId[]}
 */
export function living(census) {
  return Object.entries(census.counts)
    .filter(([member, count]) => count % 2 === 1 && !census.removed.includes(Number(member)))
    .map(([member, count]) => Number(member) + INCARNATION * ((count - 1) / 2))
    .sort((a, b) => (a % INCARNATION) - (b % INCARNATION));
}

/** How much a census knows. @param {Census} census */
function rank({ counts, removed }) {
  return Object.values(counts).reduce((sum, count) => sum + count, removed.length);
}

/**
 * What is known of the repair after the last crash: who makes lost tokens anew, and whose report it waits for. A node
 * reports as soon as it has heard what the others have, so one that has not is waited for. Null where nobody was ever
 * gone.
 * @param {Scene} scene
 * @returns {Repair | null}
 */
export function repairOf(scene) {
  /** @type {SceneNode[]} */
  const heard = scene.nodes.filter((node) => node.census && !node.gone);
  /** @type {Census | null} */
  let newest = null;
  for (const { census } of heard) if (census && (!newest || rank(census) > rank(newest))) newest = census;
  if (!newest || !hasLosses(newest)) return null;
  const most = rank(newest);
  const alive = living(newest);
  const upToDate = new Set(heard.filter(({ census }) => census && rank(census) === most).map(({ id }) => id));
  return { heir: alive[0] ?? null, missing: new Set(alive.filter((id) => !upToDate.has(id))) };
}

/**
 * The repair at the moment that is shown: of a mesh as it is now by the word of its nodes, otherwise by what the trace
 * tells.
 * @param {Pick<Viewer, "about" | "following" | "condition" | "scene">} viewer
 * @returns {Repair | null}
 */
export function repairNow({ about, following, condition: { repair }, scene }) {
  if (about.source !== "mesh" || !following) return scene && repairOf(scene);
  return repair && { heir: repair.heir, missing: new Set(repair.missing), asksVoters: repair.asks_voters };
}

/**
 * What a node has to do with a crash, in a few words: it is the one, grants nothing, has not reported yet, or makes anew
 * what was lost.
 * @param {SceneNode} node
 * @param {Repair | null} repair
 * @param {boolean} suspended
 * @param {Pick<Viewer, "now" | "summary">} viewer
 * @returns {{ words: string | null, alarm: boolean }}
 */
export function partOf(node, repair, suspended, { now, summary }) {
  const missing = repair?.missing.has(node.id) ?? false;
  if (node.crashed) return { words: missing ? "crashed, waited for" : "crashed", alarm: true };
  if (node.gone) return { words: "gone", alarm: false };
  if (suspended) return { words: "suspended", alarm: true };
  if (missing) return { words: "report missing", alarm: true };
  const remade = node.remade !== null && now - node.remade < REMADE[summary?.clock ?? "step"];
  if (remade) return { words: "made the token anew", alarm: false };
  if (repair?.heir !== node.id) return { words: null, alarm: false };
  return { words: repair.asksVoters ? "heir, asks the voters" : "heir", alarm: false };
}

/** @param {Census} census */
function hasLosses({ counts, removed }) {
  return removed.length > 0 || Object.values(counts).some((count) => count > 1);
}
