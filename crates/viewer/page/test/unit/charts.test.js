// Axes and numbers of the charts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axis, steps, tickLabel, unitFor } from "../../app/panels/chartaxis.js";
import { bySpans, chartsOf, numbersOf, perEntry, valuesAt } from "../../app/panels/charts.js";

const VERTICAL = { length: 150, vertical: true };
const HORIZONTAL = { length: 340, vertical: false };

test("steps are 1, 2 or 5 times a power of ten", () => {
  for (const most of [0.0031, 0.7, 1, 3, 9.9, 12, 47, 360, 1234, 98765]) {
    const { step, power } = steps(most, VERTICAL);
    assert.ok(
      [1, 2, 5].some((lead) => Math.abs(step / 10 ** power - lead) < 1e-9),
      `${most}: ${step}`,
    );
  }
});

test("the vertical axis ends with a tick above all values", () => {
  for (const most of [0.3, 4, 17, 99, 101]) {
    const made = axis({ label: "waits", unit: "" }, [most, most / 3], VERTICAL);
    assert.ok(made);
    assert.equal(made.ticks[0].at, 0);
    assert.ok(Math.abs((made.ticks.at(-1)?.at ?? 0) - 1) < 1e-9);
    assert.ok(made.place(most) <= 1 + 1e-9);
  }
});

test("the horizontal axis ends with the data", () => {
  const made = axis({ label: "time", unit: "s" }, [68.6], HORIZONTAL);
  assert.equal(made?.place(68.6), 1);
  assert.deepEqual(
    made?.ticks.map(({ label }) => label),
    ["0", "10", "20", "30", "40", "50", "60"],
  );
});

test("what is counted has no halves", () => {
  const labels = (/** @type {number} */ most) =>
    axis({ label: "units", unit: "", whole: true }, [most], VERTICAL)?.ticks.map(({ label }) => label);
  assert.deepEqual(labels(4), ["0", "1", "2", "3", "4"]);
  assert.deepEqual(labels(1), ["0", "1"]);
  assert.deepEqual(labels(0), ["0", "1"]);
});

test("nothing to show is no axis", () => {
  assert.equal(axis({ label: "waits", unit: "s" }, [], VERTICAL), null);
});

test("small times are told in small units", () => {
  assert.deepEqual(unitFor("s", 0.0019), { name: "ms", size: 1e-3 });
  assert.deepEqual(unitFor("s", 3), { name: "s", size: 1 });
  assert.deepEqual(unitFor("s", 2e-8), { name: "ns", size: 1e-9 });
  assert.deepEqual(unitFor("", 0.001), { name: "", size: 1 });
  assert.equal(axis({ label: "waiting time", unit: "s" }, [0.02], VERTICAL)?.label, "waiting time (ms)");
});

test("labels have the decimals that their step needs", () => {
  assert.equal(tickLabel(0.25, -2, 1), "0.25");
  assert.equal(tickLabel(0, -2, 1), "0");
  assert.equal(tickLabel(20000, 4, 60000), "20k");
  assert.equal(tickLabel(1500, 2, 3000), "1500");
});

test("messages of spans without a grant count for the next grant", () => {
  assert.deepEqual(perEntry([4, 2, 6, 3], [1, 0, 2, 0]), [4, null, 4, null]);
});

test("waiting times are in seconds, or in steps where there is no time", () => {
  const figures = {
    last: 2e9,
    marks: {},
    waiting: [5e8, null],
    longest: [1e9, null],
    in_use: [1, 0],
    queued: [0, 2],
    messages: [3, 1],
    grants: [1, 0],
    capacity: 3,
  };
  const [waiting, use] = chartsOf(figures, "time_ns");
  assert.deepEqual(waiting.series[0].values, [0.5, null]);
  assert.equal(waiting.last, 2);
  assert.deepEqual(
    use.series.map(({ name }) => name),
    ["in use", "waiting", "of 3"],
  );
  const [steps] = chartsOf({ ...figures, last: 2, waiting: [5, null] }, "step");
  assert.deepEqual(steps.series[0].values, [5, null]);
  assert.equal(steps.y.unit, "steps");
});

test("the numbers behind a chart are those of their whole span, not of its last part", () => {
  const figures = {
    last: 12e9,
    marks: {},
    // Three grants waited long and one hardly at all, just before the end of the span.
    waiting: [9.2e9, null, 6.67e6, null],
    longest: [11.8e9, null, 6.67e6, null],
    in_use: [1, 2, 0, 1],
    queued: [5, 1, 0, 3],
    messages: [10, 4, 2, 7],
    grants: [3, 0, 1, 0],
    capacity: null,
  };
  const spans = bySpans(figures, 2);
  const rows = (/** @type {import("../../app/types.d.ts").Figures} */ of) =>
    chartsOf(of, "time_ns").map((chart) => numbersOf(chart, of, "time_ns"));
  assert.deepEqual(spans.waiting, [9.2e9, 6.67e6]);
  const [waits, use, cost] = rows(bySpans(figures, 1));
  assert.deepEqual(waits, {
    head: ["from", "to", "mean", "longest"],
    rows: [["0.000 s", "12.000 s", "6.9 s", "11.8 s"]],
  });
  assert.deepEqual(use.head.slice(2), ["in use at the end", "waiting at the end"]);
  assert.deepEqual(use.rows[0].slice(2), ["1", "3"]);
  assert.deepEqual(cost.rows[0].slice(2), ["5.75"]);
  // Where nothing was granted there is nothing to tell.
  assert.deepEqual(
    rows(bySpans({ ...figures, grants: [3, 0, 0, 0], waiting: [1e9, null, null, null] }, 2))[0].rows[1][2],
    "–",
  );
});

test("a chart tells its values where one points, with those of the last span that has some", () => {
  const figures = {
    last: 8e9,
    marks: {},
    waiting: [2e6, null, 4e6, 6e6],
    longest: [3e6, null, 9e6, 9e6],
    in_use: [0, 1, 2, 3],
    queued: [0, 0, 1, 1],
    messages: [1, 1, 1, 1],
    grants: [1, 0, 1, 1],
    capacity: 3,
  };
  const [waiting, use] = chartsOf(figures, "time_ns");
  assert.equal(valuesAt(waiting, figures, 0.3), "2.400 s: mean 2 ms, longest 3 ms");
  assert.equal(valuesAt(use, figures, 1), "8.000 s: in use 3, waiting 1, of 3 3");
});
