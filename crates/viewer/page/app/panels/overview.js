// What is shown while no node is selected: the run as a whole, and how to read the picture.

/** @import { Header, NodeId, Viewer } from "../types.d.ts" */

import { isTokenMessage } from "../words.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { legend } from "./legend.js";
import { nodeButton } from "./names.js";
import { command } from "./notices.js";

/** Buttons for more nodes than this would bury everything else. */
const MOST_BUTTONS = 24;

/** @param {Viewer} viewer @param {Header} header @returns {HTMLElement[]} */
export function overview(viewer, header) {
  const { scene } = viewer;
  const nodes = scene?.nodes.filter((node) => !node.gone) ?? [];
  const holds = nodes.filter((node) => node.open.some((open) => open.granted !== null) || node.view?.holding?.length);
  const waits = nodes.filter((node) => node.open.some((open) => open.granted === null) || node.view?.waiting?.length);
  const facts = h(
    "dl",
    { class: "facts" },
    fact("Token", tokenPlace(viewer)),
    fact("Inside", buttons(viewer, holds, "inside", "none")),
    fact("Waiting", buttons(viewer, waits, "waits", "none")),
    fact("Protocol", [`${header.protocol}, ${header.variant}`]),
    fact("Mesh", [`${plural(nodes.length, "node")}, ${plural(scene?.links.length ?? 0, "link")}`]),
    header.seed !== undefined && fact("Seed", [String(header.seed)]),
  );
  const notes = viewer.about.notes.map((note) => h("p", { class: "muted" }, note));
  const parts = [facts, ...invitation(viewer), legend(header), parameters(header), ...notes];
  const problem = viewer.summary?.problem;
  if (problem) parts.unshift(h("p", { class: "note alarm" }, `It could be read only up to here: ${problem}`));
  const end = scene?.end?.violation;
  if (end) {
    const at = end.node === undefined ? [] : [" at ", nodeButton(viewer, end.node, "broken")];
    parts.unshift(
      h("p", { class: "note alarm" }, h("strong", {}, `✕ The rule ${end.rule} is broken`), ...at, h("br"), end.what),
    );
  }
  return parts;
}

/** What a newcomer may try, where something can be done. @param {Viewer} viewer */
function invitation({ about: { can } }) {
  if (!can.includes("request")) return [];
  const moves = can.includes("move") ? " Drag it and see its links come and go." : "";
  const cuts = can.includes("link") ? " Click a link to cut it." : "";
  return [h("p", { class: "note" }, `Try it: click a node and request something there.${moves}${cuts}`)];
}

/** @param {string} name @param {(Node | string)[]} content */
function fact(name, content) {
  const line = document.createDocumentFragment();
  line.append(h("dt", {}, name), h("dd", { class: "row" }, content));
  return line;
}

/** @param {Viewer} viewer @param {{ id: NodeId }[]} nodes @param {string} where @param {string} none */
function buttons(viewer, nodes, where, none) {
  if (nodes.length === 0) return [h("span", { class: "muted" }, none)];
  const shown = nodes.slice(0, MOST_BUTTONS).map(({ id }) => nodeButton(viewer, id, where));
  const more = nodes.length - shown.length;
  return more > 0 ? [...shown, h("span", { class: "muted" }, `and ${more} more`)] : shown;
}

/** Where the token is, as far as the trace tells. @param {Viewer} viewer @returns {(Node | string)[]} */
function tokenPlace(viewer) {
  const { scene } = viewer;
  if (!scene) return ["–"];
  const holders = scene.nodes.filter((node) => node.view?.token && !node.gone);
  if (holders.length > 0) {
    const free = holders[0].view?.token?.free;
    const words = free === undefined ? [] : [h("span", { class: "muted" }, `${free} free`)];
    return ["at ", ...holders.map(({ id }) => nodeButton(viewer, id, "token")), ...words];
  }
  const flying = scene.under_way.findLast(({ message }) => isTokenMessage(message));
  if (flying) {
    return ["from ", nodeButton(viewer, flying.from, "token"), " to ", nodeButton(viewer, flying.to, "token")];
  }
  if (scene.nodes.some((node) => node.view?.by_permission)) return ["none: one enters by permission of the others"];
  const unknown = viewer.summary?.views === false ? "not in this recording, see “views” below" : "no node has it";
  return [h("span", { class: "muted" }, unknown)];
}

/** @param {Header} header */
function parameters(header) {
  const rows = Object.entries(header.parameters ?? {}).map(([name, value]) =>
    h("tr", {}, h("td", {}, name.replaceAll("_", " ")), h("td", {}, words(value))),
  );
  return h(
    "details",
    { class: "stack" },
    h("summary", { "data-key": "parameters" }, "Parameters"),
    h("table", {}, h("tbody", {}, rows)),
    header.replay ? [h("p", { class: "muted" }, "To run this again:"), command(header.replay)] : null,
    header.made_by ? h("p", { class: "muted" }, `made by ${header.made_by}`) : null,
  );
}

/** @param {unknown} value */
function words(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** How to get a recording with views, if this one has none. @param {Viewer} viewer @param {Header} header */
export function howToRecordViews(viewer, header) {
  if (viewer.summary?.views !== false) return null;
  const again = header.replay ? `${header.replay} --views` : null;
  return h(
    "div",
    { class: "note stack" },
    h("p", {}, "This recording has no views: heights, queues and the token are not in it. To record them:"),
    again ? command(again) : h("p", {}, "run it again with ", h("code", {}, "--views"), "."),
  );
}
