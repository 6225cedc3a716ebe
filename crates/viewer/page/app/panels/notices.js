// Messages for the user. They go by themselves; errors stay until they are closed.

/** @import { Viewer } from "../types.d.ts" */

import { button, h } from "./dom.js";

const STAYS_MS = 4000;
const MOST = 4;

/** @param {Viewer} viewer @param {HTMLElement} element */
export function notices(viewer, element) {
  element.setAttribute("role", "status");
  element.setAttribute("aria-live", "polite");

  /** @param {string} text @param {"info" | "error"} kind */
  function show(text, kind) {
    for (const old of element.children) if (old.getAttribute("data-text") === text) old.remove();
    const toast = h(
      "div",
      { class: `toast ${kind}`, "data-text": text, role: kind === "error" ? "alert" : null },
      h("p", {}, kind === "error" && !text.startsWith("The ") ? h("strong", {}, "That did not work. ") : null, text),
      button("Close", () => toast.remove()),
    );
    element.append(toast);
    while (element.children.length > MOST) element.firstElementChild?.remove();
    if (kind === "info") setTimeout(() => toast.remove(), STAYS_MS);
  }
  viewer.on("notice", ({ text, kind }) => show(text, kind));

  // A tape that ends in the middle is told of once.
  const told = new Set();
  viewer.on("summary", () => {
    const problem = viewer.summary?.problem;
    if (!problem || told.has(problem)) return;
    told.add(problem);
    show(`The trace could not be read to its end: ${problem}. What stands before it is shown.`, "error");
  });

  // Parts of the page say small things the same way.
  window.addEventListener("say", (event) => show(/** @type {CustomEvent} */ (event).detail, "info"));
}

/** @param {string} text */
export function say(text) {
  window.dispatchEvent(new CustomEvent("say", { detail: text }));
}

/** A command of the terminal with a button that copies it. @param {string} text */
export function command(text) {
  return h(
    "div",
    { class: "command" },
    h("code", { tabindex: 0, title: text }, text),
    button("Copy", () => copy(text, "The command is copied."), { "data-key": `copy-${text}` }),
  );
}

/** @param {string} text @param {string} done */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say("The browser does not allow copying here; please select the text by hand.");
  }
}
