// The selected node or link, or else the whole run.

/** @import { Claimant, NodeId, OpenRequest, SceneNode, View, Viewer } from "../types.d.ts" */

import { partOf, repairNow } from "../census.js";
import { urgencyOf } from "../claims.js";
import { messageWords, unitWords, urgencyWords } from "../words.js";
import { actions } from "./actions.js";
import { changedFields, claimWords, demandWords, FIELDS, fenceWords, fieldWords, viewBefore } from "./differences.js";
import { button, fill, h, paced } from "./dom.js";
import { session, span } from "./format.js";
import { clockOf, namer, nodeButton, selectedNode } from "./names.js";
import { howToRecordViews, overview } from "./overview.js";

/** @param {Viewer} viewer @param {HTMLElement} element */
export function node(viewer, element) {
  const facts = h("div", { class: "stack" });
  const doing = h("div", { class: "stack" });
  const about = h("div", { class: "stack" });
  element.append(h("div", { class: "stack" }, facts, doing, about));
  const drawActions = actions(viewer, doing);

  function draw() {
    const header = viewer.summary?.header ?? viewer.place?.header;
    const id = selectedNode(viewer);
    const node = viewer.scene?.nodes.find((one) => one.id === id);
    drawActions(node ?? null);
    if (!header) return fill(facts, h("p", { class: "muted" }, "Loading…"));
    if (viewer.selected && "link" in viewer.selected && viewer.scene) {
      fill(facts, part(`link-${viewer.selected.link}`, selectedLink(viewer, viewer.selected.link)));
      return fill(about);
    }
    fill(facts, node ? part(`node-${node.id}`, selected(viewer, node)) : part("whole", overview(viewer, header)));
    fill(about, howToRecordViews(viewer, header));
  }
  const soon = paced(element, draw, 120);
  for (const name of /** @type {const} */ (["moment", "summary", "selection", "about", "check"])) viewer.on(name, soon);
  soon();
}

/** What is shown of one thing. Of another it is another element, which begins at its top. @param {string} key @param {HTMLElement[]} content */
function part(key, content) {
  return h("div", { class: "stack", "data-key": key }, content);
}

/** @param {Viewer} viewer @param {SceneNode} node @returns {HTMLElement[]} */
function selected(viewer, node) {
  const { scene } = viewer;
  const line = scene?.line ?? 0;
  const record = viewer.recordAt(line);
  const touched = record?.node === node.id && record.view !== undefined;
  const suspended = viewer.following ? viewer.condition.suspended.find(([id]) => id === node.id)?.[1] : undefined;
  const { words: part } = partOf(node, repairNow(viewer), suspended !== undefined, viewer);
  const changed = new Set(touched ? changedFields(viewBefore(viewer, node.id, line), node.view) : []);
  const title = h(
    "div",
    { class: "row" },
    h("h2", {}, node.name),
    part !== null && h("span", { class: "badge" }, part),
    h("span", { class: "spacer" }),
    button("Overview", () => viewer.select(null), { "data-key": "overview", title: "Select nothing (Esc)" }),
  );
  const rows = node.view ? fromView(viewer, node, node.view) : fromRequests(viewer, node);
  const list = h("dl", { class: "facts" });
  for (const { field, name, content } of rows) {
    const mark = changed.has(field) ? "changed" : null;
    list.append(
      h("dt", { "data-key": `name-${field}` }, name),
      h("dd", { "data-key": field, class: mark, title: mark && "changed by the last event" }, content),
    );
  }
  return suspended === undefined ? [title, list] : [title, h("p", { class: "note alarm" }, suspended), list];
}

/** @typedef {{ field: keyof View, name: string, content: (Node | string)[] }} Row */

/** @param {Viewer} viewer @param {SceneNode} node @param {View} view @returns {Row[]} */
function fromView(viewer, node, view) {
  const nameOf = namer(viewer);
  const rows = /** @type {(keyof View)[]} */ (Object.keys(FIELDS)).map((field) => {
    const content = special(viewer, node, view, field) ?? [fieldWords(view, field, nameOf)];
    return { field, name: FIELDS[field], content };
  });
  // State, what it has and what it waits for are always told; the rest only where there is something.
  const always = new Set(["role", "token", "holding", "waiting", "queue", "neighbours"]);
  return rows.filter(({ field, content }) => always.has(field) || content[0] !== "–");
}

/** Fields that are more than words. @param {Viewer} viewer @param {SceneNode} node @param {View} view @param {keyof View} field */
function special(viewer, node, view, field) {
  const nameOf = namer(viewer);
  const urgency = (/** @type {Claimant} */ claim) => viewer.scene && urgencyOf(viewer.scene, node, claim);
  if (field === "asked" && view.asked !== undefined) {
    return [
      h("span", { class: "next" }, "→ "),
      nodeButton(viewer, view.asked, "asked"),
      " has its most urgent request",
    ];
  }
  if (field === "captain" && view.captain !== undefined) return [nodeButton(viewer, view.captain, "captain")];
  if (field === "keeps_copy" && view.keeps_copy) return ["gave the token away and has not heard yet that it arrived"];
  if (field === "neighbours" && view.neighbours?.length) {
    return [h("span", { class: "row" }, ...view.neighbours.map((id) => nodeButton(viewer, id, "neighbour")))];
  }
  if (field === "queue" && view.queue?.length) {
    return [
      list(
        view.queue.map((claim, index) => [
          index === 0 ? h("b", {}, "first: ") : "",
          claimWords(claim, nameOf, urgency(claim)),
        ]),
      ),
    ];
  }
  if (field === "token" && view.token) return [tokenFacts(viewer, node, view)];
  if (field === "holding" && view.holding?.length) {
    return [
      list(view.holding.map((grant) => [fieldWords({ holding: [grant] }, field, nameOf), since(viewer, node, grant)])),
    ];
  }
  if (field === "waiting" && view.waiting?.length) {
    return [
      list(
        view.waiting.map((one) => {
          const asked = node.open.find(({ request }) => request === one.request)?.urgency;
          return [demandWords(one, asked), since(viewer, node, one)];
        }),
      ),
    ];
  }
  return null;
}

/** @param {Viewer} viewer @param {SceneNode} node @param {View} view */
function tokenFacts(viewer, node, view) {
  const nameOf = namer(viewer);
  const ledger = (view.token?.ledger ?? []).map(({ grant, units, session: of }) => {
    const words = ` holds ${unitWords(units)}${of === null ? "" : `, session ${session(of)}`}`;
    return [nodeButton(viewer, grant.node, "ledger"), words];
  });
  const queue = (view.token?.queue ?? []).map((claim) => {
    const urgency = viewer.scene && urgencyOf(viewer.scene, node, claim);
    return [`waits: ${claimWords(claim, nameOf, urgency)}`];
  });
  const words = h("span", { class: "token" }, `● ${fieldWords(view, "token", nameOf)}`);
  return h("div", {}, words, ledger.length + queue.length > 0 ? list([...ledger, ...queue]) : "");
}

/** What is known without views: its requests. @param {Viewer} viewer @param {SceneNode} node @returns {Row[]} */
function fromRequests(viewer, node) {
  const { scene } = viewer;
  const words = (/** @type {OpenRequest} */ open) => {
    const parts = [unitWords(open.units), urgencyWords(open.urgency)];
    if (open.session !== null) parts.push(`session ${session(open.session)}`);
    return [`${parts.join(", ")}${fenceWords(open.fence)}`, since(viewer, node, open)];
  };
  const held = node.open.filter(({ granted }) => granted !== null);
  const waits = node.open.filter(({ granted }) => granted === null);
  const near = (scene?.links ?? []).filter((pair) => pair.includes(node.id)).map(([a, b]) => (a === node.id ? b : a));
  return [
    { field: "holding", name: "Holds", content: held.length ? [list(held.map(words))] : ["–"] },
    { field: "waiting", name: "Waits for", content: waits.length ? [list(waits.map(words))] : ["–"] },
    {
      field: "neighbours",
      name: "Neighbours",
      content: near.length
        ? [h("span", { class: "row" }, ...near.map((id) => nodeButton(viewer, id, "neighbour")))]
        : ["–"],
    },
  ];
}

/** @param {Viewer} viewer @param {SceneNode} node @param {{ request: number }} of */
function since(viewer, node, of) {
  const open = node.open.find(({ request }) => request === of.request);
  if (!open) return "";
  const clock = clockOf(viewer);
  const length = Math.max(0, viewer.now - (open.granted ?? open.asked));
  return h("span", { class: "muted" }, ` for ${span(clock === "step" ? Math.floor(length) : length, clock)}`);
}

/** @param {(Node | string)[][]} items */
function list(items) {
  return h("ul", { class: "plain" }, ...items.map((item) => h("li", {}, item)));
}

/** The selected link: its ends, and cutting or mending it where that can be done. @param {Viewer} viewer @param {[NodeId, NodeId]} between @returns {HTMLElement[]} */
function selectedLink(viewer, between) {
  const [one, other] = between;
  const joins = (/** @type {NodeId} */ a, /** @type {NodeId} */ b) =>
    (a === one && b === other) || (a === other && b === one);
  const up = viewer.scene?.links.some(([a, b]) => joins(a, b)) ?? false;
  const nameOf = namer(viewer);
  const flying = viewer.scene?.under_way.filter(({ from, to }) => joins(from, to)) ?? [];
  const set = () => viewer.act({ do: "link", between, up: !up }).catch(() => {});
  return [
    h(
      "div",
      { class: "row" },
      h("h2", {}, "Link"),
      nodeButton(viewer, one, "end"),
      "–",
      nodeButton(viewer, other, "end"),
      h("span", { class: "spacer" }),
      button("Overview", () => viewer.select(null), { "data-key": "overview" }),
    ),
    h("p", {}, up ? "It is up: the two hear each other." : "It is cut: the two do not hear each other."),
    h(
      "ul",
      { class: "plain" },
      flying.map(({ from, message }) => h("li", {}, `from ${nameOf(from)}: ${messageWords(message, nameOf)}`)),
    ),
    viewer.about.can.includes("link")
      ? button(up ? "Cut the link" : "Mend the link", set, { "data-key": "link" })
      : h("p", { class: "muted" }, `${flying.length} under way on it`),
  ];
}
