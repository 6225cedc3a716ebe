import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_LATE, paced } from "../../app/pace.js";
import { fakeViewer } from "./fake.js";
import { asksFor, tape, timed } from "./samples.js";

/** @import { Moment, Record_ } from "../../app/types.d.ts" */
/** @import { Span } from "../../app/pace.js" */

const FRAME = 1 / 60;

/**
 * What is shown from frame to frame while a source goes on at a moment per second.
 * @param {Span[]} flights
 * @param {number} seconds
 */
function shown(flights, seconds) {
  let now = 0;
  /** @type {{ now: Moment, late: number }[]} */
  const frames = [];
  for (let goal = FRAME; goal < seconds; goal += FRAME) {
    now = paced(now, goal, FRAME, 1, (from, to) => flights.filter((one) => one.to > from && one.from < to));
    frames.push({ now, late: goal - now });
  }
  return frames;
}

/** @param {number} from @param {number} [length] @returns {Span} */
const flight = (from, length = 1e-4) => ({ from, to: from + length, seen: 0.4, token: true });

test("without messages time goes as it goes", () => {
  for (const { late } of shown([], 3)) assert.ok(Math.abs(late) < 1e-9);
});

test("time goes slower while a message flies, and catches up afterwards", () => {
  const frames = shown([flight(1)], 6);
  const flying = frames.filter(({ now }) => now >= 1 && now < 1.0001);
  const seen = flying.length * FRAME;
  assert.ok(seen > 0.3 && seen <= 0.45, `seen for ${seen} s`);
  assert.ok((frames.at(-1)?.late ?? 1) < 0.02, `late by ${frames.at(-1)?.late} s in the end`);
  // A message that takes long enough anyway is not made slower.
  for (const { late } of shown([flight(1, 0.5)], 3)) assert.ok(Math.abs(late) < 1e-9);
});

test("however much flies, showing is never later than it may be", () => {
  const busy = Array.from({ length: 2000 }, (_, i) => flight(1 + i * 0.003));
  const latest = Math.max(...shown(busy, 8).map(({ late }) => late));
  assert.ok(latest > 1 && latest <= MOST_LATE + 0.1, `${latest} s`);
});

/** The token goes to and fro between two nodes, and the node that gets it enters. @param {number} rounds @returns {Record_[]} */
function passes(rounds) {
  /** @type {Record_[]} */
  const records = [];
  let line = 1;
  for (let i = 0; i < rounds; i++) {
    const [from, to] = i % 2 === 0 ? [0, 1] : [1, 0];
    const at = (i + 1) * 1e9;
    records.push({ ...timed(asksFor(0, to, i, 1)), time_ns: at });
    const release = i === 0 ? "leave" : { release: { request: i - 1, units: 1 } };
    const send = { send: { to, message: "token" } };
    records.push({ time_ns: at + 1e6, node: from, event: /** @type {any} */ (release), effects: [send], view: {} });
    line += 2;
    const grant = { request: i, units: 1, session: null, fence: i };
    const received = { receive: { from, message: "token" } };
    const effects = [{ granted: { grant } }];
    records.push({ time_ns: at + 1.1e6, node: to, event: received, effects, view: { token: {} }, cause: line });
    line += 1;
  }
  return records;
}

/** @param {ReturnType<typeof fakeViewer>["viewer"]} viewer */
function watch(viewer) {
  const frames = { flying: 0, early: 0 };
  viewer.on("moment", () => {
    for (const { token, to } of viewer.flights()) {
      if (!token) continue;
      frames.flying++;
      const target = viewer.scene?.nodes.find(({ id }) => id === to);
      if (target?.view?.token || target?.open.some(({ granted }) => granted !== null)) frames.early++;
    }
  });
  return frames;
}

test("no node is drawn inside before the token has been seen to arrive: recordings", async () => {
  const { viewer, pass } = fakeViewer(tape(passes(5), 100));
  await viewer.begin();
  viewer.setSpeed(1);
  const frames = watch(viewer);
  viewer.play();
  await pass(12);
  assert.equal(viewer.scene?.line, 16);
  assert.ok(frames.flying >= 10, `the token was seen flying in ${frames.flying} frames`);
  assert.equal(frames.early, 0);
});

test("no node is drawn inside before the token has been seen to arrive: live", async () => {
  const records = passes(5);
  const shown = tape(records.slice(0, 3), 100);
  shown.summary.grows = true;
  const { viewer, pass } = fakeViewer(shown, { source: "mesh" });
  await viewer.begin();
  const frames = watch(viewer);
  for (let round = 2; round <= 5; round++) {
    const more = tape(records.slice(0, round * 3), 100);
    shown.chunks = more.chunks;
    shown.summary = { ...more.summary, grows: true };
    const { lines, last } = more.summary;
    const news = { tape: 0, lines, last, chunks: 1, grows: true, read: 1 };
    await viewer.updated({ tapes: [news], playing: null, about: false });
    await pass(1);
  }
  await pass(3);
  assert.equal(viewer.scene?.line, 16);
  assert.ok(frames.flying >= 8, `the token was seen flying in ${frames.flying} frames`);
  assert.equal(frames.early, 0);
});
