// The picture by keyboard.

import { h } from "../panels/dom.js";
import { canDrag, dragger } from "./drag.js";
import { nodeWords } from "./look.js";

/** @import { Position } from "../types.d.ts" */
/** @import { Menu } from "./menu.js" */
/** @import { Stage } from "./index.js" */

/** How far an arrow key goes, in pixels. */
const PAN = 60;
const NUDGE = 15;

/** @type {Record<string, Position>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * @param {Stage} stage
 * @param {Menu} menu
 */
export function addKeys(stage, menu) {
  const { canvas, camera, viewer, pointer } = stage;
  const drag = dragger(stage);
  // What screen readers say when one goes through the nodes.
  const spoken = h("div", { class: "stage-spoken", "aria-live": "polite" });
  stage.element.append(spoken);

  /** @param {1 | -1} by */
  function cycle(by) {
    const { scene } = viewer;
    const nodes = scene?.nodes.filter((node) => !node.gone) ?? [];
    if (!scene || nodes.length === 0) return;
    const at = nodes.findIndex((node) => node.id === pointer.focused);
    const node = nodes[at < 0 ? (by > 0 ? 0 : nodes.length - 1) : (at + by + nodes.length) % nodes.length];
    pointer.focused = node.id;
    camera.reveal(stage.places.of(node));
    spoken.textContent = nodeWords(node, scene, stage.frame()?.suspended.get(node.id));
  }

  /** The node that keys are about: the one gone to, or else the selected one. */
  function current() {
    const id = pointer.focused ?? (viewer.selected && "node" in viewer.selected ? viewer.selected.node : null);
    return id === null ? undefined : stage.frame()?.byId.get(id);
  }

  /** @param {KeyboardEvent} event */
  function handle(event) {
    const arrow = ARROWS[event.key];
    if (arrow && event.altKey) {
      const dot = current();
      if (!dot || !canDrag(stage, dot.node)) return false;
      drag(dot.node, camera.toWorld([dot.x + arrow[0] * NUDGE, dot.y + arrow[1] * NUDGE]));
      return true;
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return false;
    if (arrow) camera.pan(-arrow[0] * PAN, -arrow[1] * PAN);
    else if (event.key === "+" || event.key === "=") camera.zoom(1.25);
    else if (event.key === "-") camera.zoom(0.8);
    else if (event.key === "0") stage.fit();
    else if (event.key === "n") cycle(1);
    else if (event.key === "p") cycle(-1);
    else if (event.key === "m") {
      const dot = current();
      menu.open(dot?.node ?? null, dot ? [dot.x, dot.y] : [camera.width / 2, camera.height / 2]);
    } else if (event.key === "Enter" && pointer.focused !== null) viewer.select({ node: pointer.focused });
    else if (event.key === "Escape") {
      pointer.focused = null;
      if (viewer.selected) viewer.select(null);
    } else return false;
    return true;
  }

  canvas.addEventListener("keydown", (event) => {
    if (!handle(event)) return;
    event.preventDefault();
    event.stopPropagation();
    stage.redraw();
  });
  canvas.addEventListener("blur", () => {
    pointer.focused = null;
    stage.redraw();
  });
}
