// Small pictures on buttons, in the colour of the text.

import { s } from "./dom.js";

const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  back: "M12.5 2.5v11L5.5 8zM3 2.5h1.8v11H3z",
  forward: "M3.5 2.5v11l7-5.5zM11.2 2.5H13v11h-1.8z",
  left: "M10.5 2.5 5 8l5.5 5.5 1.4-1.4L7.8 8l4.1-4.1z",
  right: "M5.5 2.5 11 8l-5.5 5.5-1.4-1.4L8.2 8 4.1 3.9z",
  start: "M3 2.5h2v11H3zM13 2.5v11L6 8z",
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}
