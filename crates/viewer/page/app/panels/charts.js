// Waiting, use and cost over time.

/** @import { Figures, Viewer } from "../types.d.ts" */

import { drawChart } from "./chartdraw.js";
import { fill, h, paced } from "./dom.js";
import { moment, significant, span } from "./format.js";
import { extentOf, fraction } from "./marks.js";
import { clockOf } from "./names.js";

/** @param {Viewer} viewer @param {HTMLElement} element */
export function charts(viewer, element) {
  /** @type {ReturnType<typeof drawChart>[]} */
  let drawn = [];
  /** Which chart is pointed at, and how far from its left, 0 to 1. @type {{ index: number, part: number } | null} */
  let pointed = null;

  function draw() {
    const { figures } = viewer;
    if (!figures) return fill(element, h("p", { class: "muted" }, "Counting…"));
    const clock = clockOf(viewer);
    const spans = bySpans(figures, ROWS);
    const numbers = chartsOf(spans, clock);
    const made = chartsOf(figures, clock).map(drawChart);
    drawn = made;
    fill(
      element,
      made.map(({ svg, plot }, index) => {
        const partAt = (/** @type {MouseEvent} */ event) => {
          const box = svg.getBoundingClientRect();
          const x = ((event.clientX - box.left) / box.width) * plot.total;
          return fraction(x - plot.left, plot.width);
        };
        svg.addEventListener("click", (event) => viewer.seekTo(partAt(event) * extentOf(figures, clock)));
        svg.addEventListener("pointermove", (event) => point({ index, part: partAt(event) }));
        svg.addEventListener("pointerleave", () => point(null));
        return h("figure", { class: "chart" }, svg, table(numbers[index], spans, clock));
      }),
    );
    drawCursor();
    point(pointed);
  }
  /** Tells the values where one points. @param {typeof pointed} where */
  function point(where) {
    pointed = where;
    const { figures } = viewer;
    for (const [index, { hair, readout, plot }] of drawn.entries()) {
      const here = figures && where?.index === index;
      const x = String(plot.left + (here ? where.part : -1) * plot.width);
      hair.setAttribute("x1", x);
      hair.setAttribute("x2", x);
      hair.toggleAttribute("hidden", !here);
      readout.textContent = here ? valuesAt(chartsOf(figures, clockOf(viewer))[index], figures, where.part) : "";
    }
  }
  function drawCursor() {
    const place = viewer.figures ? fraction(viewer.now, extentOf(viewer.figures, clockOf(viewer))) : 0;
    for (const { cursor, plot } of drawn) {
      const x = String(plot.left + place * plot.width);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
  }
  const soon = paced(element, draw, 500);
  viewer.on("figures", soon);
  viewer.on("moment", paced(element, drawCursor, 0));
  soon();
}

/** @param {Figures} figures @param {"step" | "time_ns"} clock @returns {import("./chartdraw.js").Chart[]} */
export function chartsOf(figures, clock) {
  const size = clock === "step" ? 1 : 1e9;
  const x = clock === "step" ? { label: "step", unit: "" } : { label: "time", unit: "s" };
  const waits = { label: "waiting time", unit: clock === "step" ? "steps" : "s" };
  const last = extentOf(figures, clock) / size;
  const scaled = (/** @type {(number | null)[]} */ values) =>
    values.map((value) => (value === null ? null : value / size));
  const use = [
    { name: "in use", values: figures.in_use, stepped: true },
    { name: "waiting", values: figures.queued, stepped: true },
  ];
  const capacity = figures.capacity;
  if (capacity !== null) {
    use.push({
      name: `of ${capacity}`,
      values: figures.in_use.map(() => capacity),
      ...{ stepped: false, dashed: true },
    });
  }
  return [
    {
      title: "Waiting time",
      x,
      y: waits,
      last,
      series: [
        { name: "mean", values: scaled(figures.waiting) },
        { name: "longest", values: scaled(figures.longest), dashed: true },
      ],
    },
    {
      title: "Units in use, and requests that wait",
      x,
      y: { label: "units, requests", unit: "", whole: true },
      last,
      series: use,
    },
    {
      title: "Messages per entry",
      x,
      y: { label: "messages", unit: "" },
      last,
      series: [{ name: "sent for each grant", values: perEntry(figures.messages, figures.grants) }],
    },
  ];
}

/**
 * Messages for each grant. Spans without a grant are counted with the next one that has one: their messages were sent
 * for it.
 * @param {number[]} messages
 * @param {number[]} grants
 */
export function perEntry(messages, grants) {
  let sent = 0;
  return messages.map((many, index) => {
    sent += many;
    if (!grants[index]) return null;
    const each = sent / grants[index];
    sent = 0;
    return each;
  });
}

/** The numbers have at most so many rows. */
const ROWS = 20;

/**
 * The same figures by fewer, longer spans: means by how many grants there were, the longest of all, and what was so at
 * the end of a span at the end of the longer one.
 * @param {Figures} figures
 * @param {number} rows at most so many spans
 * @returns {Figures}
 */
export function bySpans(figures, rows) {
  const many = figures.grants.length;
  const stride = Math.max(1, Math.ceil(many / rows));
  const starts = Array.from({ length: Math.ceil(many / stride) }, (_, row) => row * stride);
  /** @template T @param {T[]} values */
  const split = (values) => starts.map((from) => values.slice(from, from + stride));
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0);
  const sums = (/** @type {number[]} */ values) => split(values).map(sum);
  const ends = (/** @type {number[]} */ values) => split(values).map((part) => part[part.length - 1]);
  const grants = sums(figures.grants);
  const waited = sums(figures.waiting.map((mean, at) => (mean ?? 0) * figures.grants[at]));
  return {
    ...figures,
    marks: {},
    waiting: waited.map((total, row) => (grants[row] > 0 ? total / grants[row] : null)),
    longest: split(figures.longest).map((part) =>
      part.reduce((most, one) => (one === null ? most : Math.max(most ?? one, one)), null),
    ),
    in_use: ends(figures.in_use),
    queued: ends(figures.queued),
    messages: sums(figures.messages),
    grants,
  };
}

/** @param {import("./chartdraw.js").Chart} chart @param {number | null} value */
function valueWords(chart, value) {
  if (value === null) return "–";
  return chart.y.unit === "s" ? span(value * 1e9, "time_ns") : significant(value, 3);
}

/**
 * The values of a chart at a place: "3.2 s: mean 12 ms, longest 40 ms". A span in which nothing was measured has those of
 * the last one before it.
 * @param {import("./chartdraw.js").Chart} chart
 * @param {Figures} figures
 * @param {number} part how far from the left, 0 to 1
 */
export function valuesAt(chart, figures, part) {
  const clock = chart.x.unit === "s" ? "time_ns" : "step";
  const values = chart.series.map(({ name, values }) => {
    const at = Math.min(values.length - 1, Math.floor(part * values.length));
    return `${name} ${valueWords(chart, values.slice(0, at + 1).findLast((value) => value !== null) ?? null)}`;
  });
  return `${moment(part * extentOf(figures, clock), clock)}: ${values.join(", ")}`;
}

/**
 * The numbers of a chart, for those who cannot see it: a row for each span.
 * @param {import("./chartdraw.js").Chart} chart of the figures by these spans
 * @param {Figures} figures
 * @param {"step" | "time_ns"} clock
 * @returns {{ head: string[], rows: string[][] }}
 */
export function numbersOf(chart, figures, clock) {
  const many = chart.series[0].values.length;
  const edge = (/** @type {number} */ row) => moment((extentOf(figures, clock) * row) / many, clock);
  return {
    head: ["from", "to", ...chart.series.map(({ name, stepped }) => (stepped ? `${name} at the end` : name))],
    rows: Array.from({ length: many }, (_, row) => [
      edge(row),
      edge(row + 1),
      ...chart.series.map(({ values }) => valueWords(chart, values[row])),
    ]),
  };
}

/** @param {import("./chartdraw.js").Chart} chart @param {Figures} figures @param {"step" | "time_ns"} clock */
function table(chart, figures, clock) {
  const { head, rows } = numbersOf(chart, figures, clock);
  const line = (/** @type {"th" | "td"} */ tag, /** @type {string[]} */ words) => {
    const cells = words.map((one) => h(tag, { class: "number" }, one));
    return h("tr", {}, cells);
  };
  const lines = rows.map((row) => line("td", row));
  const whole = h("table", {}, h("thead", {}, line("th", head)), h("tbody", {}, lines));
  const summary = h("summary", { "data-key": `numbers-${chart.title}` }, "Numbers");
  return h("details", {}, summary, h("div", { class: "scroll", tabindex: 0 }, whole));
}
