// Everything at one moment, and how one record changes it. The server does exactly the same (crates/viewer/src/scene.rs);
// a test compares the two on whole traces, so a change here is a change there.

/**
 * @import { Census, Effect, Event, Header, Message, Moment, NodeId, NodeInfo, OpenRequest, Record_, Scene, SceneNode,
 *   UnderWay } from "./types.d.ts"
 */

import { INCARNATION, isGone } from "./census.js";

/** More messages than this are not kept under way; the oldest are dropped. */
export const MOST_UNDER_WAY = 5_000;

/**
 * The moment of a record: its step or its time.
 * @param {Record_} record
 * @returns {Moment}
 */
export function recordMoment(record) {
  return record.step ?? record.time_ns ?? 0;
}

/**
 * The scene before the first record: what the header says.
 * @param {Header} header
 * @returns {Scene}
 */
export function sceneFromHeader(header) {
  /** @type {Scene} */
  const scene = { line: 1, at: 0, nodes: [], links: [], under_way: [], end: null };
  for (const info of header.nodes) join(scene, info);
  for (const [a, b] of header.links ?? []) setLink(scene, a, b, true);
  return scene;
}

/**
 * A copy that can be changed without changing the original. Views and messages are shared: records replace them whole
 * and never change them.
 * @param {Scene} scene
 * @returns {Scene}
 */
export function sceneCopy(scene) {
  return {
    line: scene.line,
    at: scene.at,
    nodes: scene.nodes.map((node) => ({ ...node, open: node.open.map((request) => ({ ...request })) })),
    links: scene.links.slice(),
    under_way: scene.under_way.slice(),
    end: scene.end,
  };
}

/** @type {UnderWay[]} */
const NOTHING = [];

/**
 * Changes the scene by one record.
 * @param {Scene} scene
 * @param {number} line
 * @param {Record_ | null} record null for a blank line
 * @returns {UnderWay[]} messages that are no longer under way because of it: arrived if it is an event, otherwise lost
 */
export function applyRecord(scene, line, record) {
  if (!record) return NOTHING;
  scene.line = line;
  scene.at = recordMoment(record);
  if (record.event !== undefined) return applyEvent(scene, record);
  if (record.link) return setLink(scene, ...record.link.between, record.link.up);
  if (record.lost) return arrive(scene, record.lost.from, record.lost.to, record.lost.cause);
  if (record.move) applyMove(scene, record.move);
  else if (record.join) join(scene, record.join);
  else if (record.end) scene.end = record.end;
  return NOTHING;
}

/**
 * @param {Scene} scene
 * @param {NodeId} id
 * @returns {SceneNode | undefined}
 */
export function nodeOf(scene, id) {
  const at = lowerBound(scene.nodes, (node) => node.id < id);
  return scene.nodes[at]?.id === id ? scene.nodes[at] : undefined;
}

/**
 * The neighbours of a node by the links that are up, in ascending order.
 * @param {Scene} scene
 * @param {NodeId} id
 * @returns {NodeId[]}
 */
export function neighboursOf(scene, id) {
  /** @type {NodeId[]} */
  const found = [];
  // Pairs are ordered by the lower end: those with `id` as upper end come first, and both runs ascend.
  for (const [a, b] of scene.links) {
    if (a === id) found.push(b);
    else if (b === id) found.push(a);
  }
  return found;
}

/**
 * The first index for which `before` is false, in an array where it is true up to some index.
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => boolean} before
 */
export function lowerBound(items, before) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(items[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A node; one without a name is given one.
 * @param {Scene} scene
 * @param {NodeId} id
 * @returns {SceneNode}
 */
function someNode(scene, id) {
  const at = lowerBound(scene.nodes, (node) => node.id < id);
  if (scene.nodes[at]?.id !== id) {
    scene.nodes.splice(at, 0, {
      id,
      name: `node ${id}`,
      position: null,
      velocity: null,
      moved: scene.at,
      gone: false,
      crashed: false,
      census: null,
      remade: null,
      view: null,
      open: [],
    });
  }
  return scene.nodes[at];
}

/**
 * @param {Scene} scene
 * @param {NodeInfo} info
 */
function join(scene, info) {
  if (info.id >= INCARNATION) replaceFormer(scene, info.id);
  const node = someNode(scene, info.id);
  node.name = info.name;
  node.view = info.view ?? null;
  if (info.position) node.position = info.position;
  node.gone = false;
  node.crashed = false;
}

/**
 * A node that comes back after a crash is another incarnation: it takes the place of the former.
 * @param {Scene} scene
 * @param {NodeId} id
 */
function replaceFormer(scene, id) {
  const former = scene.nodes.filter((node) => node.id % INCARNATION === id % INCARNATION && node.id < id);
  for (const { id: old, position } of former) {
    for (const neighbour of neighboursOf(scene, old)) setLink(scene, old, neighbour, false);
    scene.nodes = scene.nodes.filter((node) => node.id !== old);
    someNode(scene, id).position = position;
  }
}

/**
 * A node hears who is gone. What those held is over.
 * @param {Scene} scene
 * @param {SceneNode} hearer
 * @param {Census} census
 */
function hears(scene, hearer, census) {
  hearer.census = census;
  for (const node of scene.nodes) {
    if (!isGone(census, node.id)) continue;
    node.gone = true;
    node.open = [];
  }
}

/**
 * @param {Scene} scene
 * @param {NonNullable<Record_["move"]>} move
 */
function applyMove(scene, move) {
  const node = someNode(scene, move.node);
  // Where nodes have no places, neither has one that is gone.
  if (node.position || !move.gone) {
    node.position = move.position;
    node.velocity = move.velocity ?? null;
  }
  node.moved = scene.at;
  node.gone = move.gone ?? false;
  node.crashed = move.crashed ?? false;
}

/**
 * @param {Scene} scene
 * @param {NodeId} one
 * @param {NodeId} other
 * @param {boolean} up
 */
function setLink(scene, one, other, up) {
  const low = Math.min(one, other);
  const high = Math.max(one, other);
  const at = lowerBound(scene.links, ([a, b]) => a < low || (a === low && b < high));
  const there = scene.links[at]?.[0] === low && scene.links[at]?.[1] === high;
  if (up && !there && low !== high) scene.links.splice(at, 0, [low, high]);
  if (up) return NOTHING;
  if (there) scene.links.splice(at, 1);
  // What was under way on the link is lost with it.
  /** @param {UnderWay} message */
  const between = ({ from, to }) => (from === low && to === high) || (from === high && to === low);
  const lost = scene.under_way.filter(between);
  if (lost.length > 0) scene.under_way = scene.under_way.filter((message) => !between(message));
  return lost;
}

/**
 * @param {Scene} scene
 * @param {Record_} record
 */
function applyEvent(scene, record) {
  const id = /** @type {NodeId} */ (record.node);
  const event = /** @type {Event} */ (record.event);
  const heeded = record.misuse === undefined;
  const node = heeded || record.view ? someNode(scene, id) : undefined;
  const receives = typeof event === "object" && "receive" in event;
  const arrived = receives ? arrive(scene, event.receive.from, id, record.cause) : NOTHING;
  if (typeof event === "object" && "remake" in event) someNode(scene, id).remade = scene.at;
  if (typeof event === "object" && "census" in event) hears(scene, someNode(scene, id), event.census.census);
  if (node && heeded && typeof event === "object") changeRequests(scene, node, event);
  for (const effect of record.effects ?? []) {
    if ("granted" in effect) {
      if (node && heeded) grant(scene, node, effect.granted.grant);
    } else {
      applySending(scene, id, effect, record.view !== undefined);
    }
  }
  if (node && record.view) node.view = record.view;
  return arrived;
}

/**
 * @param {Scene} scene
 * @param {SceneNode} node
 * @param {Exclude<Event, string>} event
 */
function changeRequests(scene, node, event) {
  if ("request" in event) {
    const { request, demand } = event.request;
    node.open.push({ request, ...demandOf(demand), asked: scene.at, granted: null, fence: null });
  } else if ("cancel" in event) {
    node.open = node.open.filter((open) => open.request !== event.cancel.request || open.granted !== null);
  } else if ("reprioritize" in event) {
    const { request } = event.reprioritize;
    const open = node.open.find((one) => one.request === request && one.granted === null);
    if (open) open.urgency = event.reprioritize.urgency;
  } else if ("release" in event) {
    const { request, units } = event.release;
    const open = node.open.find((one) => one.request === request && one.granted !== null);
    if (!open) return;
    if (units < open.units) open.units -= units;
    else node.open = node.open.filter((one) => one !== open);
  }
}

/** @param {{ units: number, urgency: OpenRequest["urgency"], session: number | null }} demand */
function demandOf({ units, urgency, session }) {
  return { units, urgency, session: session ?? null };
}

/**
 * @param {Scene} scene
 * @param {SceneNode} node
 * @param {{ request: number, units: number, session: number | null, fence: number | null }} given
 */
function grant(scene, node, given) {
  const open = node.open.find((one) => one.request === given.request && one.granted === null);
  if (!open) return;
  open.granted = scene.at;
  open.fence = given.fence ?? null;
  open.units = given.units;
  open.session = given.session ?? null;
}

/**
 * @param {Scene} scene
 * @param {NodeId} from
 * @param {Effect} effect
 * @param {boolean} recorded the record has a view
 */
function applySending(scene, from, effect, recorded) {
  if ("send" in effect) send(scene, from, [effect.send.to], effect.send.message, recorded);
  else if ("multicast" in effect) send(scene, from, effect.multicast.to, effect.multicast.message, recorded);
  else if ("broadcast" in effect) send(scene, from, neighboursOf(scene, from), effect.broadcast.message, recorded);
}

/**
 * @param {Scene} scene
 * @param {NodeId} from
 * @param {NodeId[]} receivers
 * @param {Message} message
 * @param {boolean} recorded
 */
function send(scene, from, receivers, message, recorded) {
  for (const to of receivers) {
    // In a recording with views, a node without one is only heard of: what arrives there is not in the trace.
    if (recorded && !nodeOf(scene, to)?.view) continue;
    scene.under_way.push({ line: scene.line, from, to, sent: scene.at, message });
  }
  const surplus = scene.under_way.length - MOST_UNDER_WAY;
  if (surplus > 0) scene.under_way.splice(0, surplus);
}

/**
 * A message is no longer under way, because it arrived or because it was lost.
 * @param {Scene} scene
 * @param {NodeId} from
 * @param {NodeId} to
 * @param {number | undefined} cause
 */
function arrive(scene, from, to, cause) {
  let at = -1;
  if (cause !== undefined) {
    const messages = scene.under_way; // ordered by line
    for (let i = lowerBound(messages, (one) => one.line < cause); messages[i]?.line === cause && at < 0; i++) {
      if (messages[i].from === from && messages[i].to === to) at = i;
    }
  }
  if (at < 0) at = scene.under_way.findIndex((one) => one.from === from && one.to === to);
  return at >= 0 ? scene.under_way.splice(at, 1) : NOTHING;
}
