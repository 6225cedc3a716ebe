// Everything around the picture.

/** @import { Viewer } from "../types.d.ts" */

import { charts } from "./charts.js";
import { check } from "./check.js";
import { events } from "./events.js";
import { header } from "./header.js";
import { keys } from "./keys.js";
import { live } from "./live.js";
import { node } from "./node.js";
import { notices } from "./notices.js";
import { spacetime } from "./spacetime.js";
import { tabs } from "./tabs.js";
import { timeline } from "./timeline.js";
import { transport } from "./transport.js";

/** @param {Viewer} viewer @param {Document} page */
export function panels(viewer, page) {
  const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (page.getElementById(id));
  notices(viewer, at("notices"));
  header(viewer, page);
  transport(viewer, at("timeline"), live(viewer));
  timeline(viewer, at("timeline"));
  spacetime(viewer, at("diagram"));
  const parts = [
    { name: "Node", part: (/** @type {HTMLElement} */ element) => node(viewer, element) },
    { name: "Events", still: true, part: (/** @type {HTMLElement} */ element) => events(viewer, element) },
    { name: "Charts", part: (/** @type {HTMLElement} */ element) => charts(viewer, element) },
  ];
  if (viewer.about.source === "check") {
    parts.unshift({ name: "Check", part: (element) => check(viewer, element) });
    // A path of a few steps has no statistics.
    parts.pop();
  }
  const show = tabs(at("tabs"), at("panels"), parts);
  // What was just selected is what the reader wants to see.
  viewer.on("selection", () => {
    if (!viewer.selected) return;
    if ("line" in viewer.selected) show("Events");
    // The list of events has its own use for a node.
    else if (page.getElementById("tab-events")?.getAttribute("aria-selected") !== "true") show("Node");
  });
  keys(viewer, page);
}
