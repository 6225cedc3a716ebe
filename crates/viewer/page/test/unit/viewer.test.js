import assert from "node:assert/strict";
import { test } from "node:test";
import { Chunks } from "../../app/chunks.js";
import { fakeViewer, settled } from "./fake.js";
import { asksFor, header, receives, sends, tape, timed } from "./samples.js";

/** @import { Place, Record_ } from "../../app/types.d.ts" */

/** @param {number} count @returns {Record_[]} requests, one each step */
const requests = (count) => Array.from({ length: count }, (_, i) => asksFor(i + 1, 0, i + 1, 1));

test("seeking by line and by moment, across chunks", async () => {
  const { viewer } = fakeViewer(tape(requests(25), 10));
  await viewer.begin();
  assert.equal(viewer.scene?.line, 1);
  await viewer.seek(15);
  assert.equal(viewer.scene?.line, 15);
  assert.equal(viewer.scene?.nodes[0].open.length, 14);
  assert.equal(viewer.now, 14);
  await viewer.seekTo(7.5);
  assert.equal(viewer.scene?.line, 8);
  assert.equal(viewer.now, 7.5);
  await viewer.seek(999);
  assert.equal(viewer.scene?.line, 26);
  await viewer.seekTo(-5);
  assert.equal(viewer.scene?.line, 1);
});

test("of two seeks at once the last one counts", async () => {
  const { viewer } = fakeViewer(tape(requests(25), 10));
  await viewer.begin();
  await Promise.all([viewer.seek(25), viewer.seek(4)]);
  assert.equal(viewer.scene?.line, 4);
});

test("stepping passes over moves, there and back", async () => {
  /** @type {Record_} */
  const move = { step: 2, move: { node: 0, position: [1, 1] } };
  const { viewer } = fakeViewer(tape([asksFor(1, 0, 1, 1), move, move, asksFor(3, 0, 2, 1)], 2));
  await viewer.begin();
  const lines = [];
  for (const by of /** @type {const} */ ([1, 1, 1, -1, -1, -1])) {
    await viewer.step(by);
    lines.push(viewer.scene?.line);
  }
  assert.deepEqual(lines, [2, 5, 5, 2, 1, 1]);
});

test("playing goes through all chunks and ends at the end", async () => {
  const { viewer, pass } = fakeViewer(tape(requests(25), 10));
  await viewer.begin();
  let changes = 0;
  viewer.on("transport", () => changes++);
  viewer.setSpeed(2);
  viewer.play();
  await pass(5);
  assert.ok(viewer.playing && viewer.now > 8 && viewer.now < 11);
  await pass(20);
  assert.equal(viewer.playing, false);
  assert.equal(viewer.scene?.line, 26);
  assert.equal(changes, 3);
  viewer.play(); // again from the beginning
  await settled();
  assert.equal(viewer.scene?.line, 1);
  assert.ok(viewer.playing);
});

test("chunks are fetched once, and the least recently used are forgotten", async () => {
  const { chunks: all, summary } = tape(requests(100), 10);
  /** @type {number[]} */
  const fetched = [];
  const chunks = new Chunks(async (chunk) => {
    fetched.push(chunk);
    return all[chunk];
  });
  chunks.infos = summary.chunks;
  await Promise.all([chunks.load(summary.chunks[0]), chunks.load(summary.chunks[0])]);
  for (const info of summary.chunks) await chunks.load(info);
  assert.deepEqual(fetched, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await chunks.load(summary.chunks[9]);
  await chunks.load(summary.chunks[0]);
  assert.deepEqual(fetched.slice(10), [0]);
});

test("large chunks are forgotten sooner, and a chunk that follows one at hand comes without its scene", async () => {
  const { chunks: all, summary } = tape(requests(100), 10);
  /** @type {[number, number | undefined][]} */
  const fetched = [];
  const chunks = new Chunks(async (chunk, after) => {
    fetched.push([chunk, after]);
    const whole = { ...all[chunk], size: 10e6 };
    return after === undefined ? whole : { ...whole, scene: null, line: after + 1 };
  });
  chunks.infos = summary.chunks;
  for (const info of summary.chunks.slice(0, 5)) await chunks.load(info);
  assert.deepEqual(fetched, [
    [0, undefined],
    [1, 11],
    [2, 21],
    [3, 31],
    [4, 41],
  ]);
  // The same scenes as the server's.
  for (const info of summary.chunks.slice(2, 5)) {
    assert.deepEqual(chunks.peek(info)?.scene, all[info.chunk].scene);
  }
  assert.equal(chunks.peek(summary.chunks[1]), undefined);
});

test("a live tape is followed: only what is new is fetched", async () => {
  const records = requests(8).map(timed);
  const shown = tape(records.slice(0, 3), 100);
  shown.summary.grows = true;
  const { viewer, asked, pass } = fakeViewer(shown, { source: "mesh" });
  await viewer.begin();
  assert.ok(viewer.following);
  assert.equal(viewer.scene?.line, 4);
  const more = tape(records, 100);
  shown.chunks = more.chunks;
  shown.summary = { ...more.summary, grows: true };
  const news = { tape: 0, lines: 9, last: 8e9, chunks: 1, grows: true, read: 1 };
  await viewer.updated({ tapes: [news], playing: null, about: false });
  await pass(3);
  assert.equal(viewer.scene?.line, 9);
  assert.deepEqual(asked.chunks, [
    [0, undefined],
    [0, 4],
  ]);
  viewer.pause();
  assert.equal(viewer.following, false);
});

test("of news that comes while older news is worked on only the last counts, and headers are fetched once", async () => {
  const shown = tape(requests(3).map(timed), 100);
  shown.summary.grows = true;
  /** @type {boolean[]} */
  const headers = [];
  const summary = async (/** @type {number} */ _tape, header = true) => {
    headers.push(header);
    await settled();
    const whole = structuredClone(shown.summary);
    return header ? whole : { ...whole, header: /** @type {any} */ (null) };
  };
  const { viewer } = fakeViewer(shown, { source: "mesh" }, { summary });
  await viewer.begin();
  const before = viewer.summary?.header;
  const all = tape(requests(60).map(timed), 10);
  const growth = Array.from({ length: 6 }, (_, i) => {
    const { chunks, summary: newer } = tape(requests(i * 10 + 10).map(timed), 10);
    shown.chunks = all.chunks;
    shown.summary = { ...newer, grows: true };
    const news = { tape: 0, lines: newer.lines, last: newer.last, chunks: chunks.length, grows: true, read: 1 };
    return viewer.updated({ tapes: [news], playing: null, about: false });
  });
  await Promise.all(growth);
  assert.deepEqual(headers, [true, false]);
  assert.equal(viewer.summary?.lines, 61);
  assert.equal(viewer.summary?.header, before);
});

test("figures are fetched at once, and then not before two seconds are over", async () => {
  const shown = tape(requests(3).map(timed), 100);
  const { viewer, asked, later } = fakeViewer(shown);
  await viewer.begin();
  await settled();
  assert.equal(asked.figures, 1);
  for (const lines of [5, 6, 7]) {
    const news = { tape: 0, lines, last: 3e9, chunks: 1, grows: true, read: 0.5 };
    await viewer.updated({ tapes: [news], playing: null, about: false });
  }
  assert.equal(asked.figures, 1);
  later.splice(0).forEach((callback) => {
    callback();
  });
  await settled();
  assert.equal(asked.figures, 2);
});

test("nodes move on between records", async () => {
  /** @type {Record_} */
  const move = { time_ns: 1e9, move: { node: 0, position: [10, 20], velocity: [2, -1] } };
  const { viewer } = fakeViewer(tape([move, { time_ns: 9e9, end: {} }], 10));
  await viewer.begin();
  await viewer.seekTo(4e9);
  const node = viewer.scene?.nodes[0];
  assert.deepEqual(node && viewer.positionOf(node), [16, 17]);
});

test("what the server refuses is told to the user", async () => {
  const refuse = async () => {
    throw new Error("that cannot be done");
  };
  const { viewer } = fakeViewer(tape(requests(3), 10), {}, { act: refuse, next: refuse });
  await viewer.begin();
  /** @type {string[]} */
  const told = [];
  viewer.on("notice", ({ text, kind }) => told.push(`${kind}: ${text}`));
  await assert.rejects(viewer.act({ do: "play" }));
  assert.equal(await viewer.jump("grant", false), false);
  assert.deepEqual(told, ["error: that cannot be done", "error: that cannot be done"]);
});

test("a check: paths are addresses, and a step back is the path before", async () => {
  const records = [sends(1, 0, [1]), receives(2, 1, 0), sends(3, 1, [2])];
  /** @param {number[]} path @returns {Promise<Place>} */
  const place = async (path) => ({
    path,
    header: header(),
    records: records.slice(0, path.length),
    next: [{ label: "go on", node: 0, breaks: null }],
    broken: null,
    quiet: false,
  });
  const overview = async () => ({
    model: "m",
    command: "c",
    properties: [],
    search: { states: 1, depth: 1, done: true, verdict: "" },
  });
  const { viewer, address } = fakeViewer(tape([], 1), { source: "check", tapes: [] }, { place, overview });
  address.hash = "#/path/0.3";
  await viewer.begin();
  assert.deepEqual(viewer.place?.path, [0, 3]);
  assert.equal(viewer.scene?.line, 3);
  await viewer.goTo([0, 3, 1]);
  assert.equal(address.hash, "#/path/0.3.1");
  assert.equal(viewer.flights().length, 1);
  await viewer.seek(2);
  assert.equal(viewer.scene?.line, 2);
  await viewer.step(1);
  assert.equal(viewer.scene?.line, 3);
  await viewer.seek(4);
  await viewer.step(-1);
  assert.deepEqual(viewer.place?.path, [0, 3]);
  address.hash = "#/path/start";
  viewer.addressChanged();
  await settled();
  assert.deepEqual(viewer.place?.path, []);
  assert.deepEqual(address.entries, ["#/path/0.3.1", "#/path/0.3"]);
});
