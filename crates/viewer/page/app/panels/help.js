// The help: keys, and what is worth knowing of this source.

/** @import { Viewer } from "../types.d.ts" */

import { button, h } from "./dom.js";

const KEYS = [
  [["Space"], "play or pause"],
  [["←", "→"], "one step back or forward"],
  [["Shift ←", "Shift →"], "to the grant before or after"],
  [["g"], "next grant (with Shift: the one before)"],
  [["v"], "next violation (with Shift: the one before)"],
  [["l"], "next change of a link (with Shift: the one before)"],
  [["Home", "End"], "to the beginning or the end"],
  [["f"], "follow the end of a live source"],
  [["Esc"], "select nothing"],
  [["?"], "this help"],
];

/** @param {Viewer} viewer */
export function helpDialog(viewer) {
  const keys = viewer.about.source === "check" ? [[["1 … 9"], "take the step with this number"], ...KEYS] : KEYS;
  const rows = keys.map(([names, words]) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        /** @type {string[]} */ (names).flatMap((name) => [h("kbd", {}, name), " "]),
      ),
      h("td", {}, String(words)),
    ),
  );
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "What you can do here"),
    h(
      "p",
      { class: "muted" },
      "Click a node, a link or an event to see what is behind it. Click the timeline or a chart to go to that moment.",
    ),
    h("table", {}, h("tbody", {}, rows)),
    viewer.about.notes.map((note) => h("p", { class: "note" }, note)),
    h("p", { class: "muted" }, `meshlock ${viewer.about.version}`),
    button("Close", () => dialog.close(), { class: "primary" }),
  );
  // A click on what is behind the dialog closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
