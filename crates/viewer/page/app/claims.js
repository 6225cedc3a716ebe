// What those who wait really asked for. Protocols know claims by rank, which counts how long a request has waited as
// well; people know the priority that they gave.

import { nodeOf } from "./scene.js";

/** @import { Claimant, Scene, SceneNode, Urgency } from "./types.d.ts" */

/**
 * The urgency of the request behind a claim that a node knows, as far as the trace tells: from neighbour to neighbour to
 * the node that made it.
 * @param {Scene} scene
 * @param {SceneNode} node
 * @param {Pick<Claimant, "origin" | "rank">} claim
 * @returns {Urgency | null}
 */
export function urgencyOf(scene, node, claim) {
  /** @type {SceneNode | undefined} */
  let at = node;
  /** @type {Pick<Claimant, "origin">} */
  let known = claim;
  const seen = new Set([node.id]);
  while (at) {
    if ("local" in known.origin) return openUrgency(at, known.origin.local);
    const id = known.origin.node;
    if (seen.has(id)) return null;
    seen.add(id);
    at = nodeOf(scene, id);
    const own = at?.view?.waiting?.find(({ rank }) => rank === claim.rank);
    if (at && own) return openUrgency(at, own.request);
    const next = at?.view?.queue?.find(
      ({ origin, rank }) => rank === claim.rank && !("node" in origin && seen.has(origin.node)),
    );
    if (!next) return null;
    known = next;
  }
  return null;
}

/**
 * @param {SceneNode} node
 * @param {number} request
 */
function openUrgency(node, request) {
  return node.open.find((open) => open.request === request)?.urgency ?? null;
}
