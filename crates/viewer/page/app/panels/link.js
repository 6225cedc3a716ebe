// The selected link: its ends, and cutting or mending it where that can be done.

/** @import { NodeId, Viewer } from "../types.d.ts" */

import { messageWords } from "../words.js";
import { button, h } from "./dom.js";
import { namer, nodeButton } from "./names.js";

/** @param {Viewer} viewer @param {[NodeId, NodeId]} between @returns {HTMLElement[]} */
export function selectedLink(viewer, between) {
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
