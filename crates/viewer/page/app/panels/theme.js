// Light, dark, or as the reader's system says. Kept in the browser; early.js sets it before the first paint.

import { h } from "./dom.js";

const KEY = "meshlock-theme";
const THEMES = /** @type {const} */ (["auto", "light", "dark"]);

/** A choice of themes. Whoever draws on a canvas hears of a change by the event "themechange" of the document. */
export function themeChooser() {
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
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage it lasts as long as the page.
  }
  document.dispatchEvent(new Event("themechange"));
}
