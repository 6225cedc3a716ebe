// What one may do to a node of a live source: ask and give back in its name, take it away, add another.

/** @import { Action, SceneNode, Viewer } from "../types.d.ts" */

import { unitWords, urgencyWords } from "../words.js";
import { button, fill, h } from "./dom.js";
import { say } from "./notices.js";

/**
 * @param {Viewer} viewer
 * @param {HTMLElement} element
 * @returns {(node: SceneNode | null) => void} draws for this node
 */
export function actions(viewer, element) {
  const can = (/** @type {Action["do"]} */ what) => viewer.about.can.includes(what);
  const act = (/** @type {Action} */ action) => viewer.act(action).catch(() => null);
  const asking = form((wish) => {
    if (subject) act({ do: "request", tape: viewer.tape, node: subject.id, ...wish });
  });
  const open = h("ul", { class: "plain" });
  const others = h("div", { class: "row" });
  /** @type {SceneNode | null} */
  let subject = null;
  element.append(asking, open, others);

  /** A request can be given back or given up. @param {SceneNode} node */
  const requests = (node) =>
    node.open.map(({ request, units, urgency, granted }) => {
      const words = `${granted === null ? "waits for" : "holds"} ${unitWords(units)}`;
      const end = () => act({ do: "release", tape: viewer.tape, node: node.id, request });
      const label = granted === null ? "Give up" : "Release";
      return h(
        "li",
        { class: "row" },
        `${words}, ${urgencyWords(urgency)}`,
        button(label, end, { "data-key": `end-${request}` }),
      );
    });
  async function add() {
    const done = await act({ do: "add", at: null });
    if (done?.node === undefined) return;
    say("A node was added.");
    viewer.select({ node: done.node });
  }

  let shown = "";
  return (node) => {
    subject = node;
    const now = JSON.stringify([node?.id, node?.gone, node?.open, viewer.about.can]);
    if (now === shown) return;
    shown = now;
    asking.hidden = !node || node.gone || !can("request");
    fill(open, node && can("release") ? requests(node) : []);
    fill(
      others,
      node &&
        !node.gone &&
        can("remove") &&
        button("Remove node", () => act({ do: "remove", node: node.id }), { "data-key": "remove" }),
      can("add") && button("Add node", add, { "data-key": "add" }),
    );
  };
}

/** @param {(wish: { units: number, priority: number, session: number | null }) => void} send */
function form(send) {
  const field = (/** @type {string} */ name, /** @type {Record<string, any>} */ more) =>
    h("input", { type: "number", inputmode: "numeric", name, step: 1, ...more });
  const units = field("units", { min: 1, value: 1, required: true });
  const priority = field("priority", { min: 0, value: 0, required: true });
  const session = field("session", { min: 0, placeholder: "none" });
  const element = h(
    "form",
    { class: "ask", "aria-label": "Request" },
    h("label", {}, "Units", units),
    h("label", {}, "Priority", priority),
    h("label", {}, "Session", session),
    h("button", { type: "submit", class: "primary" }, "Request"),
  );
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    send({
      units: Number(units.value),
      priority: Number(priority.value),
      session: session.value === "" ? null : Number(session.value),
    });
  });
  return element;
}
