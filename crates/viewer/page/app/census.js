// Who came and who is gone, as nodes tell it to each other, and what can be said of a repair from that.

/** @import { Census, NodeId, Scene, SceneNode } from "./types.d.ts" */

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
 * @returns {{ heir: NodeId | null, missing: Set<NodeId> } | null}
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

/** @param {Census} census */
function hasLosses({ counts, removed }) {
  return removed.length > 0 || Object.values(counts).some((count) => count > 1);
}
