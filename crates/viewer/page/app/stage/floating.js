// Over the picture: nearer, farther, all; how many messages are drawn; and at a selected link, cut or restore.

import { button, h } from "../panels/dom.js";

/** @import { NodeId } from "../types.d.ts" */
/** @import { Stage } from "./index.js" */

/** Of more nodes not everything is drawn at first: one would see nothing. */
const FEW = 25;

/**
 * @param {Stage} stage
 * @returns {{ place: () => void, calm: () => boolean }} `place` is called with every frame; `calm`: only the token and
 *   requests are drawn
 */
export function addFloating(stage) {
  const { viewer, camera, element } = stage;
  const tool = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ press) =>
    button(text, press, { title, "aria-label": title });
  const tools = h(
    "div",
    { class: "stage-tools" },
    tool("+", "Nearer (key +)", () => zoom(1.4)),
    tool("−", "Farther (key -)", () => zoom(1 / 1.4)),
    tool("⤢", "Show all (key 0)", stage.fit),
  );
  const cutOrRestore = () => {
    const link = chosenLink();
    if (link) viewer.act({ do: "link", between: link, up: !isUp(link) }).catch(() => {}); // the viewer told the user
  };
  const cut = button("Cut", cutOrRestore, { class: "stage-float", hidden: true });
  const all = h("input", { type: "checkbox", onchange: stage.redraw });
  const choice = h("label", { class: "stage-choice", title: "Otherwise the token and requests" }, all, "all messages");
  element.append(cut, tools, choice);

  /** @param {number} factor */
  function zoom(factor) {
    camera.zoom(factor);
    stage.redraw();
  }

  /** @returns {[NodeId, NodeId] | null} */
  function chosenLink() {
    return viewer.selected && "link" in viewer.selected ? viewer.selected.link : null;
  }

  /** @param {[NodeId, NodeId]} link */
  function isUp(link) {
    return viewer.scene?.links.some(([a, b]) => a === link[0] && b === link[1]) ?? false;
  }

  return {
    calm: () => !choice.hidden && !all.checked,
    place() {
      choice.hidden = (viewer.scene?.nodes.length ?? 0) <= FEW;
      const link = chosenLink();
      const a = link && stage.frame()?.byId.get(link[0]);
      const b = link && stage.frame()?.byId.get(link[1]);
      cut.hidden = !link || !a || !b || !viewer.about.can.includes("link");
      if (cut.hidden || !link || !a || !b) return;
      const words = isUp(link) ? "Cut" : "Restore";
      if (cut.textContent !== words) {
        cut.textContent = words;
        cut.setAttribute("aria-label", `${words} the link between ${a.node.name} and ${b.node.name}`);
      }
      cut.style.transform = `translate(${(a.x + b.x) / 2}px, ${(a.y + b.y) / 2}px) translate(-50%, 12px)`;
    },
  };
}
