// A place in the state space of the checker: a path of choices as a small tape of its own, and how records are searched
// where there is no server to do it.

import { recordMoment, sceneFromHeader } from "./scene.js";
import { describeRecord, eventKind } from "./words.js";

/** @import { Chunk, FindQuery, FoundRecords, Place, Record_, Summary } from "./types.d.ts" */

/**
 * Whether one path is the other and one choice more.
 * @param {number[]} longer
 * @param {number[]} shorter
 */
export function isNext(longer, shorter) {
  return longer.length === shorter.length + 1 && shorter.every((choice, i) => choice === longer[i]);
}

/**
 * The tape of a place: one chunk, which is all here.
 * @param {Place} place
 * @returns {{ summary: Summary, chunk: Chunk }}
 */
export function tapeOf(place) {
  const { header, records } = place;
  const last = records.length > 0 ? recordMoment(records[records.length - 1]) : 0;
  const info = {
    chunk: 0,
    line: 2,
    records: records.length,
    from: records[0] ? recordMoment(records[0]) : 0,
    to: last,
  };
  const timed = records.some((record) => record.time_ns !== undefined);
  return {
    summary: {
      header,
      clock: timed ? "time_ns" : "step",
      chunks: [info],
      lines: records.length + 1,
      last,
      grows: false,
      read: 1,
      problem: null,
      views: header.nodes.some((node) => node.view) || records.some((record) => record.view),
      end: records.findLast((record) => record.end)?.end ?? null,
    },
    chunk: { chunk: 0, line: 2, scene: sceneFromHeader(header), records },
  };
}

/**
 * Whether a record has a mark of a kind; what the server does for other tapes.
 * @param {Record_} record
 * @param {string} kind
 */
export function hasMark(record, kind) {
  const event = record.event;
  switch (kind) {
    case "event":
      return event !== undefined;
    case "message":
      return event !== undefined && eventKind(event) === "receive";
    case "request":
    case "release":
      return event !== undefined && eventKind(event) === kind && record.misuse === undefined;
    case "grant":
      return record.effects?.some((effect) => "granted" in effect) ?? false;
    case "violation":
      return record.end?.violation !== undefined;
    default:
      return kind in record;
  }
}

/** @typedef {Pick<Place, "header"> & { records: (Record_ | null)[] }} Searched */

/**
 * Searches records that are all here, as the server does it in other tapes.
 * @param {Searched} place
 * @param {FindQuery} query
 * @returns {FoundRecords}
 */
export function findIn(place, { line, count, back = false, text = "", node, kind }) {
  const nameOf = (/** @type {number} */ id) => place.header.nodes.find((one) => one.id === id)?.name ?? String(id);
  const wanted = text.toLowerCase();
  /** @type {FoundRecords["found"]} */
  const found = [];
  const step = back ? -1 : 1;
  const tokens = kind === "token" ? tokenLines(place) : null;
  for (let at = line + step; at >= 2 && at <= place.records.length + 1; at += step) {
    const record = place.records[at - 2];
    if (
      !record ||
      (kind && !(tokens ? tokens.has(at) : hasMark(record, kind))) ||
      (node !== undefined && !concerns(record, node))
    )
      continue;
    if (wanted) {
      const { title, details } = describeRecord(record, nameOf);
      if (!`${title} ${details.join(" ")} ${JSON.stringify(record)}`.toLowerCase().includes(wanted)) continue;
    }
    if (found.length === count) return { found, more: at - step };
    found.push({ line: at, record });
  }
  return { found, more: null };
}

/**
 * Lines after which the token is at a node where it was not before.
 * @param {Searched} place
 */
function tokenLines({ header, records }) {
  const holders = new Set(header.nodes.filter((node) => node.view?.token).map((node) => node.id));
  const lines = new Set();
  records.forEach((record, i) => {
    if (record?.node === undefined || !record.view) return;
    if (!record.view.token) holders.delete(record.node);
    else if (!holders.has(record.node)) {
      holders.add(record.node);
      lines.add(i + 2);
    }
  });
  return lines;
}

/**
 * @param {Record_} record
 * @param {number} node
 */
function concerns(record, node) {
  const { link, move, lost, join, end } = record;
  return (
    record.node === node ||
    link?.between.includes(node) ||
    move?.node === node ||
    lost?.from === node ||
    lost?.to === node ||
    join?.id === node ||
    end?.violation?.node === node
  );
}
