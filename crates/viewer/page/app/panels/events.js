// The list of what happened, around the present moment.

/** @import { FindQuery, Viewer } from "../types.d.ts" */

import { recordMoment } from "../scene.js";
import { describeRecord, isTokenMessage } from "../words.js";
import { fill, h, paced, visible } from "./dom.js";
import { moment } from "./format.js";
import { Listing, scrollFor, visibleRange } from "./listing.js";
import { clockOf, namer, nodeNamed, selectedNode } from "./names.js";
import { recordDetails } from "./record.js";

/** The height of a row: more for fingers than for a mouse. */
const ROW = globalThis.matchMedia?.("(max-width: 760px), (pointer: coarse)").matches ? 40 : 26;
const PAGE = 150;
/** A filter that finds little looks through much; so many times it goes on by itself. */
const ROUNDS = 8;
/** After the reader scrolled, the list stays where it is for so long. */
const HANDS_OFF_MS = 4000;

const KINDS = /** @type {const} */ ([
  ["", "Everything"],
  ["event", "Events of nodes"],
  ["message", "Messages"],
  ["token", "Token"],
  ["request", "Requests"],
  ["grant", "Grants"],
  ["release", "Releases"],
  ["link", "Link changes"],
  ["lost", "Losses"],
  ["violation", "Violations"],
]);

/** @param {Viewer} viewer @param {HTMLElement} element */
export function events(viewer, element) {
  const text = h("input", {
    type: "search",
    placeholder: "Search, or a node",
    "aria-label": "Search in records",
  });
  const kind = h(
    "select",
    { "aria-label": "Kind of records" },
    KINDS.map(([value, name]) => h("option", { value }, name)),
  );
  const only = h("input", { type: "checkbox" });
  const onlyWords = h("span", {}, "Selected node only");
  const rows = h("div", {});
  const list = h("div", { class: "list", tabindex: 0, role: "listbox", "aria-label": "Records" }, rows);
  const details = h("div", { class: "record-details" });
  element.append(h("div", { class: "filters" }, text, kind, h("label", {}, only, onlyWords)), list, details);

  list.style.setProperty("--row", `${ROW}px`);

  let listing = new Listing();
  let searches = 0;
  let scrolled = Number.NEGATIVE_INFINITY;
  /** @type {number | null} */
  let described = null;

  /** @returns {Omit<FindQuery, "line" | "count">} */
  function filter() {
    const words = text.value.trim();
    // Records know nodes by number; who types a name means that node.
    const named = words ? nodeNamed(viewer, words) : null;
    const node = named ?? (only.checked ? selectedNode(viewer) : null);
    return {
      ...(words && named === null && { text: words }),
      ...(kind.value && { kind: /** @type {FindQuery["kind"]} */ (kind.value) }),
      ...(node !== null && { node }),
    };
  }

  /** Searches on until a page is found. @param {number} line @param {boolean} back */
  async function search(line, back) {
    /** @type {import("./causality.js").Row[]} */
    const found = [];
    /** @type {number | null} */
    let more = line;
    for (let round = 0; round < ROUNDS && more !== null && found.length < PAGE; round++) {
      const answer = await viewer.find({ line: more, count: PAGE - found.length, back, ...filter() });
      found.push(...answer.found);
      more = answer.more;
    }
    return { found, more };
  }

  async function begin() {
    const number = ++searches;
    const line = viewer.scene?.line ?? 1;
    const [before, after] = await Promise.all([search(line + 1, true), search(line, false)]).catch(() => []);
    if (number !== searches || !before || !after) return;
    listing = new Listing();
    listing.append(after.found, after.more);
    listing.prepend(before.found, before.more);
    scrolled = Number.NEGATIVE_INFINITY;
    drawRows();
    reveal();
  }

  let extending = false;
  async function extend() {
    if (extending) return;
    const top = list.scrollTop < ROW * 20 && listing.before !== null;
    const bottom = list.scrollTop + list.clientHeight > (listing.rows.length - 20) * ROW && listing.after !== null;
    if (!top && !bottom) return;
    extending = true;
    const number = searches;
    const answer = await search(Number(top ? listing.before : listing.after), top).catch(() => null);
    extending = false;
    if (!answer || number !== searches) return;
    const moved = top ? listing.prepend(answer.found, answer.more) : -listing.append(answer.found, answer.more);
    const place = list.scrollTop + moved * ROW;
    rows.style.height = `${listing.rows.length * ROW}px`;
    list.scrollTop = place;
    drawRows();
  }

  function drawRows() {
    rows.style.height = `${Math.max(1, listing.rows.length) * ROW}px`;
    const { from, to } = visibleRange(list.scrollTop, list.clientHeight, ROW, listing.rows.length);
    const present = viewer.scene?.line ?? 0;
    const current = listing.at(present);
    const nameOf = namer(viewer);
    const shown = listing.rows.slice(from, to).map(({ line, record }, index) => {
      const { title, details: after } = describeRecord(record, nameOf);
      const classes = ["record", ...marks(record)];
      if (from + index === current) classes.push("current");
      if (line > present) classes.push("later");
      const row = h(
        "div",
        {
          class: classes.join(" "),
          role: "option",
          id: `record-${line}`,
          "aria-selected": from + index === current,
          title: `line ${line}`,
          onclick: () => choose(line),
        },
        h("span", { class: "when" }, moment(recordMoment(record), clockOf(viewer))),
        h(
          "span",
          { class: "what" },
          title,
          after.length > 0 && h("span", { class: "after" }, ` · ${after.join(" · ")}`),
        ),
      );
      row.style.top = `${(from + index) * ROW}px`;
      return row;
    });
    const none = searches > 0 && shown.length === 0 && h("p", { class: "muted" }, "Nothing found.");
    fill(rows, shown, none);
    list.setAttribute("aria-activedescendant", `record-${listing.rows[current]?.line ?? ""}`);
  }

  /** @param {number} line */
  function choose(line) {
    viewer.pause();
    viewer.seek(line);
    viewer.select({ line });
  }

  function reveal() {
    if (performance.now() - scrolled < HANDS_OFF_MS) return;
    const index = listing.at(viewer.scene?.line ?? 0);
    const place = scrollFor(Math.max(0, index), list.scrollTop, list.clientHeight, ROW);
    if (Math.abs(place - list.scrollTop) > 1) list.scrollTop = place;
  }

  async function describe() {
    const line = viewer.scene?.line ?? 0;
    const record = viewer.recordAt(line);
    if (described === line) return;
    described = line;
    fill(details, record ? recordDetails(viewer, line, record) : []);
  }

  function draw() {
    const node = selectedNode(viewer);
    onlyWords.textContent = node === null ? "Selected node only" : `Only ${namer(viewer)(node)}`;
    only.disabled = node === null;
    if (!listing.covers(viewer.scene?.line ?? 0)) begin();
    else {
      drawRows();
      reveal();
    }
    describe();
  }
  const soon = paced(element, draw, 150);
  const anew = paced(element, begin, 300);
  const hands = () => {
    scrolled = performance.now();
  };
  list.addEventListener("wheel", hands, { passive: true });
  list.addEventListener("pointerdown", hands);
  list.addEventListener("touchmove", hands, { passive: true });
  list.addEventListener("scroll", () => {
    if (!visible(list)) return;
    drawRows();
    extend();
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    const next = listing.rows[listing.at(viewer.scene?.line ?? 0) + by];
    if (next) choose(next.line);
    event.preventDefault();
  });
  for (const input of [text, kind, only]) input.addEventListener("input", anew);
  viewer.on("moment", soon);
  viewer.on("selection", () => (only.checked ? anew() : soon()));
  let tape = viewer.tape;
  viewer.on("summary", () => {
    // More of a live tape: what is at the end may go on now.
    if (listing.after === null && listing.rows.length > 0) listing.after = listing.rows.at(-1)?.line ?? null;
    if (tape !== viewer.tape) anew();
    tape = viewer.tape;
    soon();
  });
  viewer.on("check", anew);
  new ResizeObserver(soon).observe(list);
}

/** @param {import("../types.d.ts").Record_} record */
function marks(record) {
  if (record.end?.violation || record.lost) return ["bad"];
  if (record.effects?.some((effect) => "granted" in effect)) return ["grant"];
  const event = record.event;
  return typeof event === "object" && "receive" in event && isTokenMessage(event.receive.message) ? ["carries"] : [];
}
