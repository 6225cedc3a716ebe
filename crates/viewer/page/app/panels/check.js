// The state graph of a model: what must hold, where it does not, and one's own way through.

/** @import { Place, Property, Viewer } from "../types.d.ts" */

import { describeRecord } from "../words.js";
import { button, fill, h, paced, typing } from "./dom.js";
import { count, plural } from "./format.js";
import { namer } from "./names.js";
import { command, copy } from "./notices.js";

/** A sign and a word for each state of a property; never the colour alone. */
const STATES = /** @type {const} */ ({
  searching: ["…", "searching", "muted"],
  holds: ["✓", "holds", "good"],
  broken: ["✕", "broken", "bad"],
  found: ["✓", "can happen", "good"],
  "not-found": ["–", "was not found", "muted"],
  "not-watched": ["○", "not looked at", "muted"],
});

/** @param {Viewer} viewer @param {HTMLElement} element */
export function check(viewer, element) {
  const model = h("div", { class: "stack" });
  const place = h("div", { class: "stack" });
  const properties = h("div", { class: "stack" });
  element.append(h("div", { class: "stack" }, model, place, properties));
  const draw = paced(
    element,
    () => {
      if (viewer.place) fill(place, ...drawPlace(viewer, viewer.place));
      // The latest step is the one that matters.
      const path = place.querySelector(".path");
      if (path) path.scrollTop = path.scrollHeight;
      if (viewer.overview) fill(model, ...drawModel(viewer));
      if (viewer.overview) fill(properties, ...drawProperties(viewer));
    },
    100,
  );
  viewer.on("check", draw);
  draw();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !/^[1-9]$/.test(event.key)) return;
    const number = Number(event.key) - 1;
    if (viewer.place && number < viewer.place.next.length) viewer.goTo([...viewer.place.path, number]);
  });
}

/**
 * What the model is, and the way to what is broken: a reader who comes for that should not have to search for it.
 * @param {Viewer} viewer
 * @returns {HTMLElement[]}
 */
function drawModel(viewer) {
  const { overview, place } = viewer;
  if (!overview) return [];
  const elsewhere = overview.properties.filter(
    ({ state, path }) => state === "broken" && path && `${path}` !== `${place?.path}`,
  );
  return [
    h("p", { class: "muted" }, overview.model),
    ...elsewhere.map(({ name, path }) =>
      h(
        "p",
        { class: "note alarm row" },
        h("strong", {}, `✕ ${name} can be broken`),
        button(`Show how: ${plural(path?.length ?? 0, "step")}`, () => viewer.goTo(path ?? []), {
          "data-key": `how-${name}`,
        }),
      ),
    ),
  ];
}

/** @param {Viewer} viewer @param {Place} place @returns {HTMLElement[]} */
function drawPlace(viewer, place) {
  const steps = place.next.map((next, index) =>
    h(
      "li",
      {},
      button(
        [
          h("span", { class: "key" }, index < 9 ? String(index + 1) : ""),
          h(
            "span",
            {},
            next.label,
            next.breaks !== null && h("span", { class: "breaks-words" }, `✕ breaks ${next.breaks}`),
          ),
        ],
        () => viewer.goTo([...place.path, index]),
        { class: next.breaks === null ? "" : "breaks", "data-key": `next-${index}` },
      ),
    ),
  );
  const none = h("p", { class: "muted" }, "Nothing can happen any more.");
  const back = button("Back", () => viewer.goTo(place.path.slice(0, -1)), {
    disabled: place.path.length === 0,
    "data-key": "back",
  });
  const share = () => copy(location.href, "The address is copied; it names this way.");
  return [
    place.broken
      ? h(
          "p",
          { class: "note alarm" },
          h("strong", {}, `✕ The rule ${place.broken.rule} is broken here. `),
          `${place.broken.what}. The rule: ${place.broken.words}.`,
        )
      : h("p", { class: "muted" }, place.quiet ? "Nothing is under way here." : "Messages are under way."),
    h(
      "div",
      { class: "row" },
      h("h2", {}, "What happens next?"),
      h("span", { class: "spacer" }),
      back,
      button("Copy link", share, { "data-key": "share" }),
    ),
    steps.length > 0 ? h("ol", { class: "steps" }, steps) : none,
    drawPath(viewer, place),
  ];
}

/** The way so far; each step leads back to where it was. @param {Viewer} viewer @param {Place} place */
function drawPath(viewer, place) {
  if (place.path.length === 0) return h("p", { class: "muted" }, "This is the beginning: choose the first step.");
  const nameOf = namer(viewer);
  const words = place.records.filter((record) => record.event !== undefined || record.link || record.lost);
  const steps = place.path.map((_, index) => {
    const records = words.filter((record) => record.step === index + 1);
    const label = records.map((record) => describeRecord(record, nameOf).title).join("; ") || `step ${index + 1}`;
    const last = index === place.path.length - 1;
    return h(
      "li",
      {},
      button(
        [h("span", { class: "key" }, String(index + 1)), h("span", {}, label)],
        () => viewer.goTo(place.path.slice(0, index + 1)),
        { "aria-current": last ? "step" : null, "data-key": `path-${index}` },
      ),
    );
  });
  const start = button("Beginning", () => viewer.goTo([]), { "data-key": "start" });
  return h(
    "section",
    {},
    h("div", { class: "row" }, h("h2", {}, `The way so far: ${plural(place.path.length, "step")}`), start),
    h("ol", { class: "steps path" }, steps),
  );
}

/** @param {Viewer} viewer @returns {HTMLElement[]} */
function drawProperties(viewer) {
  const overview = viewer.overview;
  if (!overview) return [];
  const { search } = overview;
  const seen = `${count(search.states)} states, up to ${plural(search.depth, "step")} deep`;
  const so = `This model ${search.verdict}. Seen${search.done ? "" : " so far"}: ${seen}.`;
  const kinds = /** @type {const} */ ([
    ["always", "What must always hold"],
    ["sometimes", "What can happen"],
  ]);
  return [
    ...kinds.flatMap(([kind, title]) => {
      const all = overview.properties.filter((property) => property.kind === kind);
      if (all.length === 0) return [];
      return [
        h("h2", {}, title),
        h(
          "ul",
          { class: "plain stack" },
          all.map((property) => drawProperty(viewer, property)),
        ),
      ];
    }),
    h("p", { class: "muted", role: "status" }, so),
    command(overview.command),
  ];
}

/** @param {Viewer} viewer @param {Property} property */
function drawProperty(viewer, property) {
  const [sign, words, look] = STATES[property.state];
  const path = property.path;
  const label = property.kind === "always" ? "Counterexample" : "Example";
  return h(
    "li",
    { class: "property" },
    h("span", { class: `verdict ${look}`, "aria-hidden": "true" }, sign),
    h("span", {}, h("strong", {}, property.name), ` ${words}`, h("br"), h("span", { class: "muted" }, property.words)),
    path !== null &&
      button(label, () => viewer.goTo(path), {
        "data-key": `show-${property.name}`,
        title: `${plural(path.length, "step")} from the beginning`,
      }),
  );
}
