import assert from "node:assert/strict";
import { test } from "node:test";
import { throttle } from "../../app/emitter.js";
import { extend, liveMoment, liveSpeed, MeshClock, Speedometer } from "../../app/growth.js";
import { firstSpeed, roundUp } from "../../app/pace.js";
import { badgeOf } from "../../app/panels/header.js";
import { stateWords } from "../../app/panels/live.js";
import { asksFor, tape, timed } from "./samples.js";

/** @import { About } from "../../app/types.d.ts" */

const playing = { paused: false, speed: 2, now: 5e9, over: false, range: null, pace: 1, replay: null };

/** @param {number} seconds */
const lasting = (seconds) => tape([asksFor(0, 0, 1, 1), asksFor(seconds, 0, 2, 1)].map(timed), 10).summary;

test("an update that only makes the last chunk longer is written into the summary", () => {
  const { summary } = tape([asksFor(1, 0, 1, 1), asksFor(2, 0, 2, 1)].map(timed), 10);
  const news = { tape: 0, lines: 7, last: 9e9, chunks: 1, grows: true, read: 1 };
  assert.ok(extend(summary, news, 1));
  assert.deepEqual(summary.chunks, [{ chunk: 0, line: 2, records: 6, from: 1e9, to: 9e9 }]);
  assert.ok(!extend(summary, { ...news, chunks: 2 }, 1));
  assert.ok(!extend(summary, { ...news, grows: false }, 1));
});

test("between two pieces of news a live source goes on, but not for long", () => {
  const summary = lasting(4);
  assert.deepEqual(liveMoment(summary, playing, 100, "sim"), {
    moment: 5.2e9,
    known: 5e9,
    rate: 2e9,
    pace: 2e9,
    moving: true,
  });
  assert.equal(liveMoment(summary, playing, 60_000, "sim").moving, false);
  assert.equal(liveMoment(summary, { ...playing, paused: true }, 100, "sim").moment, 5e9);
  // After the time of the scenario one can still take part.
  assert.equal(liveSpeed({ ...playing, over: true }), playing.speed);
  assert.equal(liveMoment(summary, null, 100, "mesh").moment, 4.1e9);
});

test("the first speed: messages are seen, the whole does not take too long", () => {
  assert.equal(firstSpeed(tape([asksFor(1, 0, 1, 1)], 10).summary, 0, 0), 1);
  assert.equal(firstSpeed(lasting(6), 1e6, 5), 0.1); // a minute in all
  assert.equal(firstSpeed(lasting(600), 1e6, 5), 1); // never faster than it was
  assert.equal(firstSpeed(lasting(0.06), 6e6, 5), 0.01); // a flight of 6 ms is seen for 0.6 s
  assert.equal(firstSpeed(lasting(60), 1e6, 300), 0.1); // very many messages
});

test("speeds are numbers that can be said", () => {
  assert.deepEqual([0.013, 0.2, 0.6, 1, 3, 7].map(roundUp), [0.02, 0.2, 1, 1, 5, 10]);
});

test("a throttle runs at once, and once more after the pause if it was wanted meanwhile", () => {
  let runs = 0;
  /** @type {(() => void)[]} */
  const pauses = [];
  const wanted = throttle(
    () => runs++,
    (callback) => pauses.push(callback),
  );
  wanted();
  wanted();
  wanted();
  assert.equal(runs, 1);
  pauses.shift()?.();
  assert.equal(runs, 2);
  pauses.shift()?.();
  assert.equal(runs, 2);
  wanted();
  assert.equal(runs, 3);
});

test("a simulation that is slower than it should be says so", () => {
  const meter = new Speedometer();
  /** @type {(number | null)[]} */
  const read = [];
  for (let at = 0; at <= 4000; at += 500) read.push(meter.take({ ...playing, now: at * 1e5 }, at));
  assert.deepEqual(read.slice(0, 4), [null, null, null, null]);
  assert.ok(Math.abs((read.at(-1) ?? 0) - 0.1) < 1e-9, `${read}`);
  assert.equal(stateWords(playing, 0.1), "running, slowed down to ×0.1: more happens than can be shown");
  assert.match(stateWords(playing, 0), /slowed down nearly to a standstill/);
  assert.equal(stateWords(playing, 1.9), "running");
  // Another speed is measured anew.
  assert.equal(meter.take({ ...playing, speed: 5, now: 6e8 }, 6000), null);
  assert.equal(meter.take({ ...playing, paused: true }, 9000), null);
});

/** @param {About["source"]} source @param {Partial<Parameters<typeof badgeOf>[0]> & { grows?: boolean }} [more] */
function badge(source, { grows = true, ...more } = {}) {
  const about = { version: "", source, title: "", tapes: [], can: [], notes: [] };
  const summary = { ...tape([], 1).summary, grows };
  const { words, look } = badgeOf({ about, summary, following: true, live: null, gone: null, ...more });
  return look === "" ? words : `${words} (${look})`;
}

test("the badge says whether one sees what is so now", () => {
  assert.equal(badge("mesh"), "live mesh (live)");
  assert.equal(badge("mesh", { following: false }), "live mesh, looking back");
  assert.equal(badge("mesh", { grows: false }), "live mesh, at its end");
  assert.match(badge("mesh", { gone: "no answer" }), /not connected.*\(gone\)/);
  assert.equal(badge("sim", { live: playing }), "simulation (live)");
  assert.equal(badge("sim", { live: { ...playing, paused: true } }), "simulation, paused");
  assert.equal(badge("trace", { grows: false, following: false }), "recording");
  assert.equal(badge("check", { grows: false, following: false }), "state graph");
});

test("the clock of a mesh runs without news, and late news does not put it back", () => {
  const clock = new MeshClock();
  clock.heard(2e9, 100);
  assert.equal(clock.now(600), 2.5e9);
  clock.heard(2.1e9, 700); // it was under way for half a second
  assert.equal(clock.now(1100), 3e9);
  clock.heard(4e9, 1100);
  assert.equal(clock.now(1100), 4e9);
});
