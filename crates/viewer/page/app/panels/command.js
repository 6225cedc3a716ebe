// A command of the terminal with a button that copies it.

import { button, h } from "./dom.js";
import { say } from "./notices.js";

/** @param {string} text */
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
