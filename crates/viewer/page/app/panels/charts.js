// Waiting, use and cost over time.

/** @import { Figures, Viewer } from "../types.d.ts" */

import { drawChart } from "./chartdraw.js";
import { fraction } from "./density.js";
import { fill, h, paced } from "./dom.js";
import { moment, significant, span } from "./format.js";
import { extentOf } from "./marks.js";
import { clockOf } from "./names.js";

/** @param {Viewer} viewer @param {HTMLElement} element */
export function charts(viewer, element) {
  /** @type {{ cursor: SVGElement, plot: { left: number, width: number, total: number } }[]} */
  let drawn = [];

  function draw() {
    const { figures } = viewer;
    if (!figures) return fill(element, h("p", { class: "muted" }, "Counting…"));
    const open = [...element.querySelectorAll("details")].map((one) => one.open);
    const made = chartsOf(figures, clockOf(viewer)).map((chart) => ({ chart, ...drawChart(chart) }));
    drawn = made;
    fill(
      element,
      made.map(({ chart, svg, plot }, index) => {
        svg.addEventListener("click", (event) => {
          const box = svg.getBoundingClientRect();
          const x = ((event.clientX - box.left) / box.width) * plot.total;
          viewer.seekTo(fraction(x - plot.left, plot.width) * extentOf(figures, clockOf(viewer)));
        });
        return h("figure", { class: "chart" }, svg, table(viewer, chart, figures, open[index] ?? false));
      }),
    );
    drawCursor();
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

/** The numbers, for those who cannot see the chart. */
const ROWS = 20;

/** @param {Viewer} viewer @param {import("./chartdraw.js").Chart} chart @param {Figures} figures @param {boolean} open */
function table(viewer, chart, figures, open) {
  const clock = clockOf(viewer);
  const many = chart.series[0].values.length;
  const stride = Math.max(1, Math.ceil(many / ROWS));
  const words = (/** @type {number | null | undefined} */ value) => {
    if (value === null || value === undefined) return "–";
    return chart.y.unit === "s" ? span(value * 1e9, "time_ns") : significant(value, 3);
  };
  const rows = [];
  for (let from = 0; from < many; from += stride) {
    const values = chart.series.map((series) =>
      series.values.slice(from, from + stride).findLast((one) => one !== null),
    );
    const until = (figures.last * Math.min(many, from + stride)) / many;
    rows.push(
      h(
        "tr",
        {},
        h("td", { class: "number" }, moment(until, clock)),
        values.map((value) => h("td", { class: "number" }, words(value))),
      ),
    );
  }
  const names = ["until", ...chart.series.map(({ name }) => name)].map((name) => h("th", { class: "number" }, name));
  return h(
    "details",
    { open },
    h("summary", { "data-key": `numbers-${chart.title}` }, "Numbers"),
    h(
      "div",
      { class: "scroll", tabindex: 0 },
      h("table", {}, h("thead", {}, h("tr", {}, names)), h("tbody", {}, rows)),
    ),
  );
}
