// Names of nodes, as text and as buttons that select them.

/** @import { NodeId, Viewer } from "../types.d.ts" */

import { INCARNATION } from "../census.js";
import { nodeOf } from "../scene.js";
import { button } from "./dom.js";

/**
 * The name of a node at the present moment. Also of one that is only spoken of.
 * @param {Viewer} viewer
 * @returns {(id: NodeId) => string}
 */
export function namer(viewer) {
  /** @type {Map<NodeId, string>} */
  const names = new Map();
  for (const node of viewer.summary?.header.nodes ?? viewer.place?.header.nodes ?? []) names.set(node.id, node.name);
  for (const node of viewer.scene?.nodes ?? []) names.set(node.id, node.name);
  // Another incarnation of a node has the same name.
  const byMember = new Map([...names].map(([id, name]) => [id % INCARNATION, name]));
  return (id) => names.get(id) ?? byMember.get(id % INCARNATION) ?? `node ${id}`;
}

/**
 * A button that selects a node. `where` keeps the keys of one list apart from those of another.
 * @param {Viewer} viewer
 * @param {NodeId} id
 * @param {string} where
 */
export function nodeButton(viewer, id, where) {
  const name = (viewer.scene && nodeOf(viewer.scene, id)?.name) ?? namer(viewer)(id);
  return button(name, () => viewer.select({ node: id }), { class: "node", "data-key": `${where}-${id}` });
}

/**
 * The node of this name, as a user may type it.
 * @param {Viewer} viewer
 * @param {string} name
 * @returns {NodeId | null}
 */
export function nodeNamed(viewer, name) {
  const same = (/** @type {{ name: string }} */ node) => node.name.toLowerCase() === name.toLowerCase();
  return viewer.scene?.nodes.find(same)?.id ?? null;
}

/** The selected node. @param {Viewer} viewer @returns {NodeId | null} */
export function selectedNode(viewer) {
  return viewer.selected && "node" in viewer.selected ? viewer.selected.node : null;
}

/** The clock of what is shown. @param {Viewer} viewer @returns {"step" | "time_ns"} */
export function clockOf(viewer) {
  return viewer.summary?.clock ?? "step";
}
