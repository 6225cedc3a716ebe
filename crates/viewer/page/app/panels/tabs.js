// The side panel: one tab at a time. Arrow keys go from tab to tab.

import { button, h } from "./dom.js";

/**
 * Makes the tabs; each is filled once, and told by an event "shown" when it comes into view.
 * @param {HTMLElement} list
 * @param {HTMLElement} room
 * @param {{ name: string, still?: boolean, part: (element: HTMLElement) => void }[]} parts
 * @returns {(name: string) => void} shows the tab of this name
 */
export function tabs(list, room, parts) {
  const made = parts.map(({ name, still }) => {
    const id = `tab-${name.toLowerCase()}`;
    const tab = button(name, () => show(name), { id, role: "tab", "aria-controls": `${id}-panel` });
    const panel = h("div", {
      id: `${id}-panel`,
      class: still ? "panel still" : "panel",
      role: "tabpanel",
      "aria-labelledby": id,
      tabindex: 0,
    });
    list.append(tab);
    room.append(panel);
    return { name, tab, panel };
  });

  /** @param {string} name */
  function show(name) {
    for (const one of made) {
      const chosen = one.name === name;
      one.tab.setAttribute("aria-selected", String(chosen));
      one.tab.tabIndex = chosen ? 0 : -1;
      one.panel.hidden = !chosen;
      if (chosen) one.panel.dispatchEvent(new Event("shown"));
    }
  }
  list.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const at = made.findIndex(({ tab }) => tab === document.activeElement);
    const next = made[(at + by + made.length) % made.length];
    show(next.name);
    next.tab.focus();
    event.preventDefault();
  });
  show(parts[0].name);
  for (const [index, { part }] of parts.entries()) part(made[index].panel);
  return show;
}
