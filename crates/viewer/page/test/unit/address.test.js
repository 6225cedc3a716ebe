import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOfSpot, spotOf } from "../../app/address.js";
import { exported } from "../../app/exported.js";
import { fakeViewer, settled } from "./fake.js";
import { asksFor, tape, timed } from "./samples.js";

const tapes = [{ name: "docks" }, { name: "hall 2/gate" }];
const requests = Array.from({ length: 25 }, (_, i) => asksFor(i + 1, i % 3, i + 1, 1));

test("a spot is the same after it was an address", () => {
  for (const selected of [
    null,
    { node: 65_538 },
    { line: 7 },
    { link: /** @type {[number, number]} */ ([1, 65_537]) },
  ]) {
    const spot = { tape: 1, line: 48, selected };
    assert.deepEqual(spotOf(addressOfSpot(spot, tapes), tapes), spot);
  }
  assert.equal(addressOfSpot({ tape: 1, line: 48, selected: { node: 3 } }, tapes), "#/at/hall%202%2Fgate/48/node/3");
});

test("what names no spot, or one of another mesh, is none", () => {
  for (const hash of ["", "#", "#/at/docks", "#/at/room/3", "#/at/docks/x", "#/at/docks/3/node/", "#/path/0.1"]) {
    assert.equal(spotOf(hash, tapes), null, hash);
  }
});

test("an address leads to its line and selection, at rest; one that is given later does as well", async () => {
  const { viewer, address, mood } = fakeViewer(tape(requests, 10));
  mood.calm = false;
  address.hash = "#/at/test/12/node/2";
  await viewer.begin();
  assert.deepEqual([viewer.scene?.line, viewer.selected, viewer.playing], [12, { node: 2 }, false]);
  assert.equal(viewer.link, "#/at/test/12/node/2");
  address.hash = "#/at/test/20/link/0-1";
  viewer.addressChanged();
  await settled();
  assert.deepEqual([viewer.scene?.line, viewer.selected], [20, { link: [0, 1] }]);
});

test("the address of the page follows what is shown, and says nothing while time goes by", async () => {
  const { viewer, address, later, pass } = fakeViewer(tape(requests, 10));
  const told = () => {
    for (const callback of later.splice(0)) callback();
    return address.hash;
  };
  await viewer.begin();
  await viewer.seek(9);
  viewer.select({ node: 1 });
  assert.equal(told(), "#/at/test/9/node/1");
  viewer.play();
  await pass(1);
  assert.equal(told(), "");
  viewer.pause();
  assert.match(told(), /^#\/at\/test\/\d+\/node\/1$/);
});

test("a recording plays at once, from the first request on; before a broken rule if there is one", async () => {
  const records = requests.map(timed);
  const at = { request: { line: 6, at: 5e9 }, violation: { line: 24, at: 23e9 } };
  /** @param {boolean} broken @param {boolean} calm */
  async function shown(broken, calm) {
    const next = async (/** @type {number} */ _tape, /** @type {{ kind: string }} */ { kind }) =>
      kind === "request" || (kind === "violation" && broken) ? at[kind] : { line: null, at: null };
    const { viewer, mood } = fakeViewer(tape(records, 10), {}, { next });
    mood.calm = calm;
    await viewer.begin();
    return [viewer.scene?.line, viewer.playing];
  }
  assert.deepEqual(await shown(false, false), [5, true]);
  assert.deepEqual(await shown(false, true), [5, false], "who wants no motion gets none");
  assert.deepEqual(await shown(true, false), [20, true], "eight seconds before it, at half the speed of life");
});

test("a page with everything in itself answers as the server does", async () => {
  const { summary, chunks } = tape(requests, 10);
  const figures = /** @type {any} */ ({ last: 25 });
  const about = /** @type {any} */ ({ title: "t", tapes: [{ name: "t" }] });
  const server = exported({ about, tapes: [{ summary, chunks, figures }] });
  assert.equal(await server.about(), about);
  assert.equal((await server.chunk(0, 2)).line, 22);
  assert.deepEqual(await server.next(0, { line: 10, kind: "request", back: false }), { line: 11, at: 10 });
  assert.deepEqual(await server.next(0, { line: 10, kind: "grant", back: false }), { line: null, at: null });
  const { found, more } = await server.find(0, { line: 1, count: 3, node: 1 });
  assert.deepEqual([found.map(({ line }) => line), more], [[3, 6, 9], 11]);
  await assert.rejects(server.act({ do: "play" }), /copy of a recording/);
});
