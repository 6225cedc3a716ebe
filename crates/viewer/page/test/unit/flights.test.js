import assert from "node:assert/strict";
import { test } from "node:test";
import { LoadedChunk } from "../../app/chunks.js";
import { flightsAt, typicalFlight } from "../../app/flights.js";
import { sceneFromHeader } from "../../app/scene.js";
import { header, receives, sends, timed } from "./samples.js";

/** @import { Record_ } from "../../app/types.d.ts" */

/** @param {Record_[]} records */
function chunkOf(records) {
  const chunk = new LoadedChunk(0, 2, sceneFromHeader(header()));
  chunk.append(records);
  return chunk;
}

/**
 * @param {LoadedChunk} chunk
 * @param {number} now
 * @param {{ clock?: "step" | "time_ns", fall?: number, next?: LoadedChunk }} [more]
 */
function flights(chunk, now, { clock = "time_ns", fall = 0, next } = {}) {
  const scene = chunk.sceneAt(chunk.lineAt(now));
  return flightsAt(scene, [undefined, chunk, next], { now, clock, typical: 1e9, fall });
}

test("a message is half way at half of its time", () => {
  const chunk = chunkOf([sends(1, 0, [1]), receives(3, 1, 0)].map(timed));
  const [flight] = flights(chunk, 2e9);
  assert.deepEqual(flight, { line: 2, from: 0, to: 1, progress: 0.5, kind: "hello", token: false, lost: false });
  assert.deepEqual(flights(chunk, 3e9), []);
});

test("messages to several nodes arrive each at its time", () => {
  const chunk = chunkOf([sends(1, 1, [0, 2]), receives(2, 2, 1), receives(5, 0, 1)].map(timed));
  assert.deepEqual(
    flights(chunk, 2.5e9).map(({ to, progress }) => [to, progress]),
    [[0, 0.375]],
  );
});

test("two messages sent in one line arrive one after the other", () => {
  const chunk = chunkOf([sends(0, 0, [1, 1]), receives(1, 1, 0), receives(2, 1, 0)].map(timed));
  assert.deepEqual(
    flights(chunk, 0.5e9).map(({ progress }) => progress),
    [0.5, 0.25],
  );
  assert.deepEqual(
    flights(chunk, 1.5e9).map(({ progress }) => progress),
    [0.75],
  );
});

test("the arrival may stand in the next chunk; while it is unknown, a message nearly arrives", () => {
  const chunk = chunkOf([timed(sends(0, 0, [1]))]);
  assert.equal(flights(chunk, 0.5e9)[0].progress, 0.5);
  assert.equal(flights(chunk, 60e9)[0].progress, 0.9);
  const next = new LoadedChunk(1, 3, chunk.sceneAt(2));
  next.append([timed(receives(10, 1, 0))]);
  assert.equal(flights(chunk, 2e9, { next })[0].progress, 0.2);
});

test("steps: a message rests until the step in which it arrives", () => {
  const chunk = chunkOf([sends(1, 0, [1]), sends(2, 2, [1]), receives(3, 1, 0)]);
  assert.equal(flights(chunk, 1.9, { clock: "step" })[0].progress, 0);
  assert.equal(flights(chunk, 2.25, { clock: "step" })[0].progress, 0.25);
  assert.deepEqual(
    flights(chunk, 3, { clock: "step" }).map(({ from }) => from),
    [2],
  );
});

test("lost messages are seen falling after their end", () => {
  const lost = { from: 0, to: 1, message: "hello" };
  const chunk = chunkOf([sends(1, 0, [1]), { step: 2, lost }].map(timed));
  const [flight] = flights(chunk, 2.5e9);
  assert.ok(flight.lost);
  assert.equal(flight.progress, 0.75);
  // It flies until it is lost, and not on.
  assert.equal(flights(chunk, 1.5e9)[0].progress, 0.25);
  assert.equal(flights(chunk, 2.5e9, { fall: 5e9 })[0].progress, 0.55);
  assert.deepEqual(flights(chunk, 3.5e9), []);
  const broken = chunkOf([sends(1, 0, [1]), { step: 2, link: { between: [0, 1], up: false } }]);
  assert.ok(flights(broken, 2.5, { clock: "step" })[0].lost);
});

test("the usual flight is the median of those that arrived", () => {
  const records = [sends(0, 0, [1]), receives(1, 1, 0), sends(2, 0, [1]), receives(5, 1, 0), sends(5, 0, [1])];
  assert.equal(typicalFlight(chunkOf([...records, receives(14, 1, 0)].map(timed)).journeys), 3e9);
  assert.equal(typicalFlight([]), 0);
});

test("moments are found, also among blank lines and equal moments", () => {
  const chunk = new LoadedChunk(0, 2, sceneFromHeader(header()));
  chunk.append([null, sends(1, 0, [1]), null, null, sends(3, 0, [1]), sends(3, 0, [1]), null]);
  assert.deepEqual(
    [0, 1, 2, 3, 99].map((moment) => chunk.lineAt(moment)),
    [2, 5, 5, 8, 8],
  );
});
