// Small traces for tests.

import { applyRecord, recordMoment, sceneCopy, sceneFromHeader } from "../../app/scene.js";

/** @import { Chunk, Header, Record_, Summary } from "../../app/types.d.ts" */

/** @returns {Header} three nodes in a line */
export function header() {
  return {
    source: "check",
    protocol: "reverse-link",
    variant: "repaired",
    nodes: [
      { id: 2, name: "cat" },
      { id: 0, name: "ann" },
      { id: 1, name: "bob" },
    ],
    links: [
      [0, 1],
      [1, 2],
    ],
  };
}

/**
 * @param {number} step
 * @param {number} from
 * @param {number[]} to
 * @returns {Record_}
 */
export function sends(step, from, to) {
  return { step, node: from, event: "leave", effects: [{ multicast: { to, message: "hello" } }] };
}

/**
 * @param {number} step
 * @param {number} node
 * @param {number} from
 * @param {number} [cause]
 * @returns {Record_}
 */
export function receives(step, node, from, cause) {
  const record = { step, node, event: { receive: { from, message: "hello" } }, effects: [] };
  return cause === undefined ? record : { ...record, cause };
}

/**
 * @param {number} step
 * @param {number} node
 * @param {number} request
 * @param {number} units
 * @returns {Record_}
 */
export function asksFor(step, node, request, units) {
  const demand = { units, urgency: { priority: 1 }, session: null };
  return { step, node, event: { request: { request, demand } }, effects: [] };
}

/**
 * The same with times instead of steps: a step is a second.
 * @param {Record_} record
 * @returns {Record_}
 */
export function timed({ step, ...record }) {
  return { time_ns: (step ?? 0) * 1e9, ...record };
}

/**
 * A tape as the server gives it, in chunks of so many records.
 * @param {Record_[]} records
 * @param {number} size
 * @returns {{ summary: Summary, chunks: Chunk[] }}
 */
export function tape(records, size) {
  const scene = sceneFromHeader(header());
  /** @type {Chunk[]} */
  const chunks = [];
  for (let first = 0; first < records.length; first += size) {
    const part = records.slice(first, first + size);
    chunks.push({ chunk: chunks.length, line: first + 2, scene: sceneCopy(scene), records: part });
    part.forEach((record, i) => {
      applyRecord(scene, first + 2 + i, record);
    });
  }
  const infos = chunks.map(({ chunk, line, records: part }) => ({
    chunk,
    line,
    records: part.length,
    from: recordMoment(/** @type {Record_} */ (part[0])),
    to: recordMoment(/** @type {Record_} */ (part[part.length - 1])),
  }));
  return {
    chunks,
    summary: {
      header: header(),
      clock: records[0]?.step === undefined ? "time_ns" : "step",
      chunks: infos,
      lines: records.length + 1,
      last: infos.at(-1)?.to ?? 0,
      grows: false,
      read: 1,
      problem: null,
      views: false,
      end: null,
    },
  };
}
