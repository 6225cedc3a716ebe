// The line at the top: what is shown, which of its resources, theme and help.

/** @import { Viewer } from "../types.d.ts" */

import { button, fill, h } from "./dom.js";
import { helpDialog } from "./help.js";

const SOURCES = { trace: "recording", sim: "simulation", mesh: "live mesh", check: "state graph" };
/** Where the theme is kept in the browser; early.js sets it before the first paint. */
const THEME = "meshlock-theme";
const THEMES = /** @type {const} */ (["auto", "light", "dark"]);

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
    chooser.hidden = about.tapes.length < 2;
    if (tapes.options.length !== about.tapes.length) {
      fill(
        tapes,
        about.tapes.map(({ name }, index) => h("option", { value: index }, name)),
      );
    }
    tapes.value = String(viewer.tape);
  }
  function drawBadge() {
    const { words, look } = badgeOf(viewer);
    badge.hidden = false;
    if (badge.textContent !== words) badge.textContent = words;
    badge.className = `badge ${look}`;
    badge.title = viewer.gone ?? "";
    page.body.classList.toggle("gone", viewer.gone !== null);
  }
  viewer.on("about", draw);
  viewer.on("summary", draw);
  for (const name of /** @type {const} */ (["about", "summary", "transport", "server"])) viewer.on(name, drawBadge);
  draw();
  drawBadge();
}

/**
 * What one looks at, and whether it is what is so now.
 * @param {Pick<Viewer, "about" | "summary" | "following" | "live" | "gone">} viewer
 * @returns {{ words: string, look: "live" | "gone" | "" }}
 */
export function badgeOf({ about, summary, following, live, gone }) {
  const name = SOURCES[about.source];
  if (gone !== null) return { words: `${name}, not connected: this is the last that was heard`, look: "gone" };
  if (about.source !== "sim" && about.source !== "mesh") return { words: name, look: summary?.grows ? "live" : "" };
  if (summary && !summary.grows) return { words: `${name}, at its end`, look: "" };
  if (!following) return { words: `${name}, looking back`, look: "" };
  return live?.paused ? { words: `${name}, paused`, look: "" } : { words: name, look: "live" };
}

/** Light, dark, or as the system says. Canvas code hears of a change by the event "themechange" of the document. */
function themeChooser() {
  const select = h(
    "select",
    { "aria-label": "Theme", title: "Theme" },
    THEMES.map((theme) => h("option", { value: theme }, `${theme[0].toUpperCase()}${theme.slice(1)}`)),
  );
  select.value = document.documentElement.dataset.theme ?? "auto";
  select.addEventListener("change", () => choose(select.value));
  return select;
}

/** @param {string} theme */
function choose(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // Without storage it lasts as long as the page.
  }
  document.dispatchEvent(new Event("themechange"));
}
