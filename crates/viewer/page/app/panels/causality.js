// Which record made which happen: messages from sending to arrival, and the causal past and future of a record.

/** @import { Message, NodeId, Record_ } from "../types.d.ts" */

import { isTokenMessage, messageKind } from "../words.js";

/** @typedef {{ line: number, record: Record_ }} Row */

/**
 * @typedef {object} Passage a message on its way
 * @property {NodeId} from
 * @property {NodeId} to
 * @property {number | null} sent its line; null if it is not known
 * @property {number | null} ended the line of its arrival or loss; null if it has neither
 * @property {boolean} lost
 * @property {boolean} token
 * @property {string} kind
 */

/**
 * All messages that were sent, arrived or were lost in these rows. Where a record does not name its cause, links deliver
 * in the order of sending.
 * @param {Row[]} rows
 * @returns {Passage[]}
 */
export function passages(rows) {
  /** @type {Passage[]} */
  const all = [];
  /** @type {Map<string, Passage[]>} */
  const underWay = new Map();
  /** @param {NodeId} from @param {NodeId} to @param {number} line @param {Message} message */
  const send = (from, to, line, message) => {
    const passage = { ...about(message), from, to, sent: line, ended: null, lost: false };
    all.push(passage);
    const key = `${from} ${to}`;
    underWay.set(key, [...(underWay.get(key) ?? []), passage]);
  };
  /** @param {NodeId} from @param {NodeId} to @param {number} line @param {Message} message @param {number | undefined} cause @param {boolean} lost */
  const end = (from, to, line, message, cause, lost) => {
    const waiting = underWay.get(`${from} ${to}`) ?? [];
    const at = cause === undefined ? 0 : waiting.findIndex(({ sent }) => sent === cause);
    const [passage] = at >= 0 ? waiting.splice(at, 1) : [];
    if (passage) Object.assign(passage, { ended: line, lost });
    else all.push({ ...about(message), from, to, sent: cause ?? null, ended: line, lost });
  };
  for (const { line, record } of rows) {
    const { node, event, lost } = record;
    if (lost) end(lost.from, lost.to, line, lost.message, lost.cause, true);
    if (node === undefined || event === undefined) continue;
    if (typeof event === "object" && "receive" in event) {
      end(event.receive.from, node, line, event.receive.message, record.cause, false);
    }
    for (const effect of record.effects ?? []) {
      if ("send" in effect) send(node, effect.send.to, line, effect.send.message);
      if ("multicast" in effect) for (const to of effect.multicast.to) send(node, to, line, effect.multicast.message);
      // Who hears a broadcast is told by the view, if there is one; else by the arrivals, which name their cause.
      if ("broadcast" in effect) {
        for (const to of record.view?.neighbours ?? []) send(node, to, line, effect.broadcast.message);
      }
    }
  }
  return all;
}

/** @param {Message} message */
function about(message) {
  return { kind: messageKind(message), token: isTokenMessage(message) };
}

/**
 * For every line the lines that led to it directly: what its node did before, the sending of the message it got, the
 * arming of its timer, the change of the link it tells of.
 * @param {Row[]} rows
 * @param {Passage[]} all
 * @returns {Map<number, number[]>}
 */
export function directCauses(rows, all) {
  /** @type {Map<number, number[]>} */
  const causes = new Map(rows.map(({ line }) => [line, []]));
  const add = (/** @type {number} */ line, /** @type {number | null | undefined} */ cause) => {
    if (cause !== null && cause !== undefined && causes.has(cause)) causes.get(line)?.push(cause);
  };
  for (const { sent, ended } of all) if (ended !== null) add(ended, sent);
  /** @type {Map<NodeId, number>} */
  const latest = new Map();
  /** @type {Map<string, number>} */
  const links = new Map();
  const pair = (/** @type {NodeId} */ a, /** @type {NodeId} */ b) => `${Math.min(a, b)} ${Math.max(a, b)}`;
  for (const { line, record } of rows) {
    const { node, event, link } = record;
    if (link) links.set(pair(...link.between), line);
    if (record.end?.violation?.node !== undefined) add(line, latest.get(record.end.violation.node));
    if (node === undefined || event === undefined) continue;
    add(line, latest.get(node));
    latest.set(node, line);
    if (typeof event !== "object") continue;
    if ("expired" in event) add(line, record.cause);
    if ("link-up" in event) add(line, links.get(pair(node, event["link-up"].neighbour)));
    if ("link-down" in event) add(line, links.get(pair(node, event["link-down"].neighbour)));
  }
  return causes;
}

/**
 * Everything that may have led to a line and everything to which it may have led, with itself.
 * @param {Map<number, number[]>} causes
 * @param {number} line
 */
export function pastAndFuture(causes, line) {
  /** @type {Map<number, number[]>} */
  const effects = new Map();
  for (const [later, earlier] of causes)
    for (const one of earlier) effects.set(one, [...(effects.get(one) ?? []), later]);
  return { past: closure(causes, line), future: closure(effects, line) };
}

/** @param {Map<number, number[]>} next @param {number} from */
function closure(next, from) {
  const found = new Set([from]);
  const todo = [from];
  for (let line = todo.pop(); line !== undefined; line = todo.pop()) {
    for (const one of next.get(line) ?? []) {
      if (found.has(one)) continue;
      found.add(one);
      todo.push(one);
    }
  }
  return found;
}

/**
 * @typedef {object} Stretch the life of a request: asked, then held
 * @property {NodeId} node
 * @property {number | null} asked lines; null where they lie before the rows
 * @property {number | null} granted
 * @property {number | null} ended null if it goes on after the rows
 * @property {boolean} held
 * @property {number | null} session
 */

/**
 * The requests of these rows. What was granted before is known by its release, or by `open`: what is open in the end.
 * @param {Row[]} rows
 * @returns {Stretch[]}
 */
export function stretches(rows) {
  /** @type {Map<string, Stretch>} */
  const open = new Map();
  /** @type {Stretch[]} */
  const all = [];
  const of = (/** @type {NodeId} */ node, /** @type {number} */ request, /** @type {boolean} */ held) => {
    const key = `${node} ${request}`;
    const known = open.get(key);
    if (known) return known;
    /** @type {Stretch} */
    const made = { node, asked: null, granted: null, ended: null, held, session: null };
    open.set(key, made);
    all.push(made);
    return made;
  };
  for (const { line, record } of rows) {
    const { node, event } = record;
    if (node === undefined || event === undefined || record.misuse !== undefined) continue;
    // A view tells also of what was granted before.
    for (const { request, session } of record.view?.holding ?? []) {
      Object.assign(of(node, request, true), { held: true, session: session ?? null });
    }
    if (typeof event === "object") {
      if ("request" in event) of(node, event.request.request, false).asked ??= line;
      const end = "release" in event ? event.release.request : "cancel" in event ? event.cancel.request : null;
      if (end !== null) {
        of(node, end, "release" in event).ended = line;
        open.delete(`${node} ${end}`);
      }
    }
    for (const effect of record.effects ?? []) {
      if (!("granted" in effect)) continue;
      const stretch = of(node, effect.granted.grant.request, true);
      const session = effect.granted.grant.session ?? null;
      Object.assign(stretch, { granted: line, held: true, session });
    }
  }
  return all;
}
