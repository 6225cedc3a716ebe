// The line at the top: what is shown, which of its resources, theme and help.

/** @import { Viewer } from "../types.d.ts" */

import { button, fill, h } from "./dom.js";
import { helpDialog } from "./help.js";
import { themeChooser } from "./theme.js";

const SOURCES = { trace: "recording", sim: "simulation", mesh: "live mesh", check: "state graph" };

/** @param {Viewer} viewer @param {Document} page */
export function header(viewer, page) {
  const title = /** @type {HTMLElement} */ (page.getElementById("title"));
  const badge = /** @type {HTMLElement} */ (page.getElementById("badge"));
  const chooser = /** @type {HTMLElement} */ (page.getElementById("chooser"));
  const tapes = /** @type {HTMLSelectElement} */ (page.getElementById("tape"));
  const help = helpDialog(viewer);
  page.body.append(help);
  page.getElementById("controls")?.append(
    themeChooser(),
    button("Help", () => help.showModal(), { "aria-haspopup": "dialog", title: "Shortcuts and notes (?)" }),
  );
  tapes.addEventListener("change", () => viewer.showTape(Number(tapes.value)));

  function draw() {
    const { about } = viewer;
    title.textContent = about.title;
    title.title = about.title;
    // The chooser says it already.
    title.hidden = about.tapes.length > 1 && about.tapes.some(({ name }) => name === about.title);
    page.title = `${about.title} · meshlock`;
    badge.hidden = false;
    badge.textContent = SOURCES[about.source];
    badge.classList.toggle("live", viewer.summary?.grows ?? false);
    chooser.hidden = about.tapes.length < 2;
    if (tapes.options.length !== about.tapes.length) {
      fill(
        tapes,
        about.tapes.map(({ name }, index) => h("option", { value: index }, name)),
      );
    }
    tapes.value = String(viewer.tape);
  }
  viewer.on("about", draw);
  viewer.on("summary", draw);
  draw();
}
