// The menu of a node, and of the ground: what one may do there.

import { button, h } from "../panels/dom.js";

/** @import { Action, NodeId, Position, SceneNode } from "../types.d.ts" */
/** @import { Stage } from "./index.js" */

/** @typedef {{ words: string, run: () => void }} Item */
/**
 * @typedef {object} Menu
 * @property {(node: SceneNode | null, point: Position) => void} open at a node, or on the ground at a point of the canvas
 * @property {() => boolean} close whether it was open
 */

/** Links of a node are listed up to this many. */
const MOST_LINKS = 8;

/**
 * @param {Stage} stage
 * @returns {Menu}
 */
export function addMenu(stage) {
  const { element, canvas } = stage;
  /** @type {HTMLElement | null} */
  let shown = null;

  function close() {
    const was = shown;
    shown = null;
    was?.remove();
    return was !== null;
  }

  /**
   * @param {SceneNode | null} node
   * @param {Position} point
   */
  function open(node, point) {
    close();
    const items = node ? nodeItems(stage, node) : groundItems(stage, point);
    if (items.length === 0) return;
    const press = (/** @type {() => void} */ run) => () => {
      close();
      canvas.focus({ preventScroll: true });
      run();
    };
    const name = node ? `What to do with ${node.name}` : "What to do here";
    const menu = h(
      "div",
      { class: "stage-menu", role: "menu", "aria-label": name },
      node && h("div", { class: "title" }, node.name),
      items.map(({ words, run }) => button(words, press(run), { role: "menuitem" })),
    );
    menu.addEventListener("keydown", (event) => onKey(event, menu));
    element.append(menu);
    shown = menu;
    // It never reaches over the border of the stage.
    menu.style.left = `${Math.max(4, Math.min(point[0], element.clientWidth - menu.offsetWidth - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(point[1], element.clientHeight - menu.offsetHeight - 4))}px`;
    menu.querySelector("button")?.focus({ preventScroll: true });
  }

  /**
   * @param {KeyboardEvent} event
   * @param {HTMLElement} menu
   */
  function onKey(event, menu) {
    const buttons = [...menu.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const by = { ArrowDown: 1, ArrowUp: -1, Tab: event.shiftKey ? -1 : 1 }[event.key];
    if (by) buttons[(at + by + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape") {
      close();
      canvas.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  document.addEventListener("pointerdown", (event) => {
    if (shown && !shown.contains(/** @type {Node} */ (event.target))) close();
  });
  return { open, close };
}

/**
 * @param {Stage} stage
 * @param {SceneNode} node
 * @returns {Item[]}
 */
function nodeItems({ viewer }, node) {
  const { can } = viewer.about;
  /** @type {Item[]} */
  const items = [];
  /** @param {string} words @param {Action} action */
  const add = (words, action) => {
    if (can.includes(action.do)) items.push({ words, run: () => viewer.act(action).catch(() => {}) });
  };
  const base = { tape: viewer.tape, node: node.id };
  add("Request 1 unit", { do: "request", ...base, units: 1, priority: 1, session: usualSession(viewer) });
  for (const { request, granted } of node.open) {
    add(granted === null ? `Give up request ${request}` : `Release request ${request}`, {
      do: "release",
      ...base,
      request,
    });
  }
  const name = (/** @type {NodeId} */ id) => viewer.scene?.nodes.find((other) => other.id === id)?.name ?? String(id);
  const links = viewer.scene?.links.filter((link) => link.includes(node.id)) ?? [];
  const chosen = viewer.selected && "node" in viewer.selected ? viewer.selected.node : node.id;
  if (chosen !== node.id && !links.some((link) => link.includes(chosen))) {
    add(`Link with ${name(chosen)}`, { do: "link", between: pair(node.id, chosen), up: true });
  }
  for (const link of links.slice(0, MOST_LINKS)) {
    const other = link[0] === node.id ? link[1] : link[0];
    add(`Cut link to ${name(other)}`, { do: "link", between: link, up: false });
  }
  add("Remove node", { do: "remove", node: node.id });
  return items;
}

/**
 * Some protocols want a session with every request: the first that is in use will do.
 * @param {Stage["viewer"]} viewer
 */
function usualSession(viewer) {
  if (!viewer.summary?.header.protocol.startsWith("group")) return null;
  const open = viewer.scene?.nodes.flatMap((node) => node.open) ?? [];
  return open.find((request) => request.session !== null)?.session ?? 1;
}

/**
 * @param {NodeId} a
 * @param {NodeId} b
 * @returns {[NodeId, NodeId]}
 */
function pair(a, b) {
  return a < b ? [a, b] : [b, a];
}

/**
 * @param {Stage} stage
 * @param {Position} point
 * @returns {Item[]}
 */
function groundItems(stage, point) {
  const { viewer, camera, places } = stage;
  /** @type {Item[]} */
  const items = [];
  if (viewer.about.can.includes("add")) {
    const at = places.real ? camera.toWorld(point) : null;
    items.push({ words: "Add node here", run: () => viewer.act({ do: "add", at }).catch(() => {}) });
  }
  items.push({ words: "Show all", run: stage.fit });
  return items;
}
