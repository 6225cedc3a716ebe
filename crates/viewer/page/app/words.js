// Short human words for what stands in a trace.

import { INCARNATION } from "./census.js";

/** @import { Census, Effect, Event, Message, NodeId, Record_, Urgency } from "./types.d.ts" */

/** @typedef {(id: NodeId) => string} NameOf */

/** Kinds of messages that bring the right to enter, in all protocols and baselines. */
const TOKEN_KINDS = new Set(["token", "privilege"]);

/**
 * What a message really says: without the envelope that a relay puts around it, and without what every message of its
 * protocol carries (heights and clocks). As a kind and its fields.
 * @param {Message} message
 * @returns {{ kind: string, fields: unknown, envelope: string | null }}
 */
export function openMessage(message) {
  if (typeof message === "string") return { kind: message, fields: null, envelope: null };
  if (message === null || typeof message !== "object") return { kind: "message", fields: message, envelope: null };
  const object = /** @type {Record<string, unknown>} */ (message);
  if ("body" in object) return openMessage(object.body);
  const kind = Object.keys(object).find((key) => key !== "height" && key !== "clock") ?? "message";
  const fields = object[kind];
  if ((kind === "flood" || kind === "hop") && isObject(fields) && "payload" in fields) {
    return { ...openMessage(fields.payload), envelope: kind };
  }
  return { kind, fields, envelope: null };
}

/**
 * The kind of a message: "token", "ask", "request".
 * @param {Message} message
 */
export function messageKind(message) {
  return openMessage(message).kind;
}

/**
 * Whether the token is in this message.
 * @param {Message} message
 */
export function isTokenMessage(message) {
  const { kind, fields } = openMessage(message);
  return TOKEN_KINDS.has(kind) || (isObject(fields) && isObject(fields.token));
}

/**
 * A message in a few words: "token", "ask (rank 60, 2 units, for n9)".
 * @param {Message} message
 * @param {NameOf} nameOf
 */
export function messageWords(message, nameOf) {
  const { kind, fields, envelope } = openMessage(message);
  const about = fieldWords(fields, nameOf);
  if (envelope === "flood") about.unshift("to all");
  return about.length > 0 ? `${kind} (${about.join(", ")})` : kind;
}

/**
 * Fields that name a node, with the word before the name.
 * @type {Record<string, string>}
 */
const NODE_FIELDS = { origin: "for", site: "of", node: "of", to: "for", dest: "for", captain: "captain" };
/**
 * Fields that are told as they are, with a word before the number.
 * @type {Record<string, string>}
 */
const NUMBER_FIELDS = { rank: "rank", level: "level", session: "session", request: "request", number: "number" };

/**
 * @param {unknown} fields
 * @param {NameOf} nameOf
 * @returns {string[]}
 */
function fieldWords(fields, nameOf) {
  if (typeof fields === "number") return [String(fields)];
  if (Array.isArray(fields)) return fields.length > 1 ? [`${fields.length} items`] : fieldWords(fields[0], nameOf);
  if (!isObject(fields)) return [];
  const words = [];
  for (const [key, value] of Object.entries(fields)) {
    if (typeof value !== "number") continue;
    if (key in NODE_FIELDS) words.push(`${NODE_FIELDS[key]} ${nameOf(value)}`);
    else if (key in NUMBER_FIELDS) words.push(`${NUMBER_FIELDS[key]} ${value}`);
    else if (key === "units") words.push(unitWords(value));
  }
  if (isObject(fields.ask)) words.push("asks for it back");
  return words;
}

/**
 * The name of an event: "request", "receive", "leave".
 * @param {Event} event
 */
export function eventKind(event) {
  return typeof event === "string" ? event : Object.keys(event)[0];
}

/**
 * What happened, as a sentence without full stop, and what followed from it.
 * @param {Record_} record
 * @param {NameOf} nameOf
 * @returns {{ title: string, details: string[] }}
 */
export function describeRecord(record, nameOf) {
  if (record.event !== undefined) {
    const node = nameOf(record.node ?? 0);
    const details = (record.effects ?? []).map((effect) => effectWords(effect, nameOf));
    if (record.misuse !== undefined) details.unshift(`refused: ${plain(record.misuse)}`);
    return { title: `${node} ${eventWords(record.event, nameOf)}`, details };
  }
  if (record.link) {
    const [one, other] = record.link.between;
    return { title: `link ${nameOf(one)} – ${nameOf(other)} ${record.link.up ? "comes up" : "breaks"}`, details: [] };
  }
  if (record.move) {
    const { node, gone, velocity, crashed } = record.move;
    return {
      title: `${nameOf(node)} ${crashed ? "crashes" : gone ? "is gone" : velocity ? "moves on" : "stands still"}`,
      details: [],
    };
  }
  if (record.lost) {
    const { from, to, message } = record.lost;
    return { title: `${messageKind(message)} from ${nameOf(from)} to ${nameOf(to)} is lost`, details: [] };
  }
  if (record.join) return { title: `${record.join.name} joins`, details: [] };
  if (record.end) return endWords(record.end, nameOf);
  return { title: "unknown record", details: [] };
}

/**
 * @param {NonNullable<Record_["end"]>} end
 * @param {NameOf} nameOf
 */
function endWords(end, nameOf) {
  const details = [];
  if (end.violation) {
    const at = end.violation.node === undefined ? "" : ` at ${nameOf(end.violation.node)}`;
    details.push(`${end.violation.rule} is broken${at}`, end.violation.what);
  }
  if (end.repeats_from !== undefined) details.push("from here on it repeats forever");
  return { title: end.violation ? "a rule is broken" : "the end", details };
}

/**
 * What a node did or what happened to it: "asks for 2 units, priority 5".
 * @param {Event} event
 * @param {NameOf} nameOf
 */
export function eventWords(event, nameOf) {
  if (event === "resume") return "goes on after a stop";
  if (typeof event === "string") return event === "leave" ? "is about to leave" : plain(event);
  if ("request" in event) {
    const { units, urgency, session } = event.request.demand;
    const words = [`asks for ${unitWords(units)}`, urgencyWords(urgency)];
    if (session !== null && session !== undefined) words.push(`session ${session}`);
    return words.join(", ");
  }
  if ("cancel" in event) return `gives up request ${event.cancel.request}`;
  if ("reprioritize" in event) {
    return `changes request ${event.reprioritize.request} to ${urgencyWords(event.reprioritize.urgency)}`;
  }
  if ("release" in event) return `gives back ${unitWords(event.release.units)}`;
  if ("link-up" in event) return `hears ${nameOf(event["link-up"].neighbour)}`;
  if ("link-down" in event) return `no longer hears ${nameOf(event["link-down"].neighbour)}`;
  if ("receive" in event) return `gets ${messageKind(event.receive.message)} from ${nameOf(event.receive.from)}`;
  if ("expired" in event) return "has waited long enough: a timer runs out";
  if ("resize" in event) return `hears that there are ${unitWords(event.resize.capacity)} now`;
  if ("census" in event) return censusWords(event.census.census, nameOf);
  if ("remake" in event) {
    const { rows } = event.remake.remake;
    return `makes the lost token anew, by ${rows.length === 1 ? "its own report" : `the reports of ${rows.length} nodes`}`;
  }
  return plain(eventKind(event));
}

/**
 * @param {Census} census
 * @param {NameOf} nameOf
 */
function censusWords(census, nameOf) {
  const names = Object.entries(census.counts).flatMap(([member, count]) => {
    const last = Number(member) + INCARNATION * Math.floor((count - 1) / 2);
    if (census.removed.includes(Number(member))) return [`${nameOf(last)} was removed`];
    if (count % 2 === 0) return [`${nameOf(last)} is gone`];
    return count > 1 ? [`${nameOf(last)} came back after a crash`] : [];
  });
  return names.length > 0 ? `hears that ${names.join(", ")}` : "hears who is a member";
}

/**
 * What a node wanted done: "sends token to n3", "is granted 1 unit".
 * @param {Effect} effect
 * @param {NameOf} nameOf
 */
export function effectWords(effect, nameOf) {
  if ("send" in effect) return `sends ${messageWords(effect.send.message, nameOf)} to ${nameOf(effect.send.to)}`;
  if ("multicast" in effect) {
    const { to, message } = effect.multicast;
    const names = to.length > 4 ? `${to.length} neighbours` : to.map(nameOf).join(", ");
    return `sends ${messageWords(message, nameOf)} to ${names}`;
  }
  if ("broadcast" in effect) return `tells all neighbours: ${messageWords(effect.broadcast.message, nameOf)}`;
  if ("granted" in effect) {
    const { units, session, fence } = effect.granted.grant;
    const words = [`is granted ${unitWords(units)}`];
    if (session !== null && session !== undefined) words.push(`session ${session}`);
    if (fence !== null && fence !== undefined) words.push(`fence ${fence}`);
    return words.join(", ");
  }
  if ("arm" in effect) {
    const { least_ms, most_ms } = effect.arm.after;
    return `sets a timer of ${least_ms === most_ms ? least_ms : `${least_ms} to ${most_ms}`} ms`;
  }
  if ("reject" in effect)
    return `ignores ${nameOf(effect.reject.from)}: ${plain(JSON.stringify(effect.reject.reason))}`;
  return plain(Object.keys(effect)[0]);
}

/** @param {Urgency} urgency */
export function urgencyWords(urgency) {
  return "priority" in urgency ? `priority ${urgency.priority}` : `deadline ${urgency.deadline}`;
}

/** @param {number} units */
export function unitWords(units) {
  return units === 1 ? "1 unit" : `${units} units`;
}

/** @param {string} text words from enums, as people write them */
function plain(text) {
  return text.replaceAll(/["{}]/g, "").replaceAll(/[-_]/g, " ").replaceAll(/[:,]/g, "$& ");
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
