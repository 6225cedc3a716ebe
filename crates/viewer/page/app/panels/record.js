// One record in full: what followed from it, what was said, and what changed in its node.

/** @import { Record_, Viewer } from "../types.d.ts" */

import { recordMoment } from "../scene.js";
import { describeRecord, messageKind } from "../words.js";
import { changedFields, FIELDS, fieldWords, viewBefore } from "./differences.js";
import { button, h } from "./dom.js";
import { moment } from "./format.js";
import { clockOf, namer, nodeButton } from "./names.js";

/** @param {Viewer} viewer @param {number} line @param {Record_} record @returns {HTMLElement} */
export function recordDetails(viewer, line, record) {
  const nameOf = namer(viewer);
  const { title, details } = describeRecord(record, nameOf);
  const cause = record.cause ?? record.lost?.cause;
  return h(
    "div",
    { class: "stack", "data-key": `record-${line}` },
    h(
      "div",
      { class: "row" },
      h("h2", {}, title),
      h("span", { class: "muted" }, `${moment(recordMoment(record), clockOf(viewer))} · line ${line}`),
    ),
    details.length > 0 &&
      h(
        "ul",
        {},
        details.map((words) => h("li", {}, words)),
      ),
    h(
      "div",
      { class: "row" },
      record.node !== undefined && nodeButton(viewer, record.node, "record"),
      cause !== undefined && button(`Its cause: line ${cause}`, () => viewer.seek(cause)),
    ),
    differences(viewer, line, record),
    ...messages(record).map(([name, message]) =>
      h(
        "details",
        { open: messages(record).length === 1 },
        h("summary", {}, name),
        h("pre", { tabindex: 0 }, pretty(message)),
      ),
    ),
  );
}

/** @param {Viewer} viewer @param {number} line @param {Record_} record */
function differences(viewer, line, record) {
  if (!record.view || record.node === undefined) return null;
  const before = viewBefore(viewer, record.node, line);
  const nameOf = namer(viewer);
  const fields = before ? changedFields(before, record.view) : [];
  if (fields.length === 0) return null;
  const rows = fields.map((field) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, FIELDS[field]),
      h("td", {}, fieldWords(before, field, nameOf)),
      h("td", {}, fieldWords(record.view, field, nameOf)),
    ),
  );
  const head = h("tr", {}, h("th", {}, "Changed"), h("th", {}, "before"), h("th", {}, "after"));
  return h("table", { class: "differences" }, h("thead", {}, head), h("tbody", {}, rows));
}

/** What was said in a record. @param {Record_} record @returns {[string, unknown][]} */
function messages(record) {
  /** @type {[string, unknown][]} */
  const found = [];
  const { event } = record;
  if (typeof event === "object" && "receive" in event) {
    found.push([`received: ${messageKind(event.receive.message)}`, event.receive.message]);
  }
  if (record.lost) found.push([`lost: ${messageKind(record.lost.message)}`, record.lost.message]);
  for (const effect of record.effects ?? []) {
    const sent = "send" in effect ? effect.send : "multicast" in effect ? effect.multicast : null;
    const message = sent ? sent.message : "broadcast" in effect ? effect.broadcast.message : undefined;
    if (message !== undefined) found.push([`sent: ${messageKind(message)}`, message]);
  }
  return found;
}

/** JSON with short objects on one line. @param {unknown} value @param {string} [indent] @returns {string} */
export function pretty(value, indent = "") {
  const short = JSON.stringify(value);
  if (short === undefined) return "";
  if (short.length + indent.length <= 56 || value === null || typeof value !== "object") return spaced(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) return `[\n${value.map((one) => inner + pretty(one, inner)).join(",\n")}\n${indent}]`;
  const lines = Object.entries(value).map(([key, one]) => `${inner}${key}: ${pretty(one, inner)}`);
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

/** @param {unknown} value @returns {string} */
function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${key}: ${spaced(one)}`);
  return entries.length > 0 ? `{ ${entries.join(", ")} }` : "{}";
}
