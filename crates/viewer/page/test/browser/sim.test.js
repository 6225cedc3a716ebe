// A simulation that runs: one takes part, and what was done runs again exactly.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ask, open, picture, placeOf, until } from "./support/browser.js";
import { file, folder, run, serve } from "./support/meshlock.js";

/** Two linked nodes, and how many links there are. @param {import("playwright-core").Page} page */
async function linked(page) {
  await until(page, "viewer.scene.links.length > 0");
  return /** @type {{ pair: [number, number], links: number }} */ (
    await ask(page, "({ pair: viewer.scene.links[0], links: viewer.scene.links.length })")
  );
}

const isLinked = (/** @type {number} */ a, /** @type {number} */ b) =>
  `viewer.scene.links.some(([a, b]) => a === ${Math.min(a, b)} && b === ${Math.max(a, b)})`;

test("dragging a node away cuts its links, and the run can be run again", async (test) => {
  const cwd = await folder(test);
  const live = ["sim", file("scenarios/charging-docks.toml"), "--set", "duration=1h", "--seed", "5"];
  const { address, end, said } = await serve(test, cwd, ...live, "--view=127.0.0.1:0", "--trace", "live.trace.jsonl");
  const page = await open(test, address);
  await until(page, "viewer.following && viewer.now > 0");
  const simulation = page.getByRole("group", { name: "The simulation" });
  await page.locator("details.settings > summary").click();
  await simulation.getByRole("button", { name: "Pause" }).click();
  await until(page, "viewer.live?.paused");
  // Nodes stand still, so that only what is done here changes links.
  await ask(page, 'viewer.act({ do: "pace", factor: 0 })');
  await ask(page, 'viewer.act({ do: "range", metres: 15 })');
  await until(page, "viewer.live.range === 15");

  // To the corner that is farthest from all others.
  const { pair } = await linked(page);
  const [node, other] = pair;
  const corner = /** @type {[number, number]} */ (
    await ask(
      page,
      `[[0.5, 0.5], [59.5, 0.5], [0.5, 39.5], [59.5, 39.5]].map((corner) => ({ corner, near: Math.min(...viewer.scene.nodes
         .filter(({ id }) => id !== ${node}).map(({ position: [x, y] }) => Math.hypot(x - corner[0], y - corner[1]))) }))
         .sort((a, b) => b.near - a.near)[0].corner`,
    )
  );
  const from = await placeOf(page, node);
  const scale = /** @type {[number, number, number, number]} */ (
    await ask(
      page,
      `viewer.scene.nodes.filter(({ id }) => id !== ${node}).slice(0, 1)
      .flatMap((one) => [...one.position, one.id, 0])`,
    )
  );
  const anchor = await placeOf(page, scale[2]);
  const own = /** @type {[number, number]} */ (
    await ask(page, `viewer.scene.nodes.find(({ id }) => id === ${node}).position`)
  );
  const pixels =
    Math.hypot(from[0] - anchor[0], from[1] - anchor[1]) / Math.hypot(own[0] - scale[0], own[1] - scale[1]);
  await page.mouse.move(...from);
  await page.mouse.down();
  const to = /** @type {[number, number]} */ ([
    from[0] + (corner[0] - own[0]) * pixels,
    from[1] + (corner[1] - own[1]) * pixels,
  ]);
  await page.mouse.move((from[0] + to[0]) / 2, (from[1] + to[1]) / 2, { steps: 5 });
  await page.mouse.move(...to, { steps: 5 });
  await page.mouse.up();
  await until(page, `!(${isLinked(node, other)})`);
  await picture(page, "dragged");

  // A link that is cut and restored; all are in reach again.
  await ask(page, 'viewer.act({ do: "range", metres: 100 })');
  await until(page, "viewer.live.range === 100");
  const { pair: cut } = await linked(page);
  await ask(page, `viewer.act({ do: "link", between: ${JSON.stringify(cut)}, up: false })`);
  await until(page, `!(${isLinked(...cut)})`);
  await ask(page, `viewer.act({ do: "link", between: ${JSON.stringify(cut)}, up: true })`);
  await until(page, isLinked(...cut));

  // A request by hand, at a node that is chosen by a click.
  const asked = cut[0];
  await page.mouse.click(...(await placeOf(page, asked)));
  await until(page, `viewer.selected?.node === ${asked}`);
  const form = page.getByRole("form", { name: "Request" });
  await form.getByLabel("Priority").fill("99");
  const before = Number(await ask(page, `viewer.scene.nodes.find(({ id }) => id === ${asked}).open.length`));
  await form.getByRole("button", { name: "Request" }).click();
  await until(page, `viewer.scene.nodes.find(({ id }) => id === ${asked}).open.length > ${before}`);
  await page.locator("details.settings > summary").click();
  await simulation.getByRole("button", { name: "Run" }).click();
  await until(page, "!viewer.live.paused");
  await until(
    page,
    `viewer.scene.nodes.find(({ id }) => id === ${asked}).open
       .some((one) => one.granted !== null && one.urgency.priority === 99)`,
  );
  await picture(page, "live-simulation");
  await page.close();
  assert.equal(await end(), 0, said());

  // The command that was told at the end runs it again: the same lines but for the header.
  const command = /run it again: meshlock (.*)/.exec(said())?.[1] ?? "";
  assert.match(command, /--edits/);
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
  const place = words.indexOf("--trace") + 1;
  words[place] = "again.trace.jsonl";
  await run(cwd, ...words, "--quiet");
  const lines = async (/** @type {string} */ name) => {
    const text = await readFile(join(cwd, name), "utf8");
    return text.split("\n").slice(1).join("\n");
  };
  assert.equal(await lines("again.trace.jsonl"), await lines("live.trace.jsonl"));
});

test("nodes come and go in a simulation, and what cannot be is refused with words", async (test) => {
  const cwd = await folder(test);
  const words = ["sim", file("scenarios/charging-docks.toml"), "--set", "duration=1h", "--view=127.0.0.1:0"];
  const { address } = await serve(test, cwd, ...words);
  const page = await open(test, address);
  await until(page, "viewer.scene.nodes.length === 12");
  await ask(page, 'viewer.act({ do: "add", at: [30, 20] })');
  await until(page, "viewer.scene.nodes.length === 13");
  await ask(page, 'viewer.act({ do: "remove", node: 12 })');
  await until(page, "viewer.scene.nodes.find(({ id }) => id === 12).gone");
  const refused = await fetch(new URL("/api/act", address), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ do: "move", node: 99, to: [0, 0] }),
  });
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).message, /99/);
});

test("Home on a slider of the world only moves the slider; Enter sets it", async (test) => {
  const cwd = await folder(test);
  const words = ["sim", file("scenarios/charging-docks.toml"), "--set", "duration=1h", "--view=127.0.0.1:0"];
  const { address } = await serve(test, cwd, ...words);
  const page = await open(test, address);
  await until(page, "viewer.live?.range > 1 && viewer.following");
  const before = await ask(page, "viewer.live.range");
  await page.locator("details.settings > summary").click();
  const range = page.getByRole("slider", { name: "Radio range" });
  await range.focus();
  await page.keyboard.press("Home");
  assert.equal(await range.inputValue(), "1");
  // The world goes on, and its news does not take the slider back.
  const now = await ask(page, "viewer.now");
  await until(page, `viewer.now > ${now} + 0.5e9`);
  assert.deepEqual(await ask(page, "[viewer.live.range, viewer.following]"), [before, true]);
  assert.equal(await range.inputValue(), "1");
  await page.keyboard.press("Enter");
  await until(page, "viewer.live.range === 1");
});

test("a large simulation: what the page fetches and keeps is bounded, and it says so", async (test) => {
  const cwd = await folder(test);
  const large = ["sim", "--set", "nodes=400", "--set", "duration=1h", "--view=127.0.0.1:0"];
  const { address, said } = await serve(test, cwd, ...large);
  assert.match(said(), /400 nodes do more than a page can show/);
  const page = await open(test, address);
  const network = await page.context().newCDPSession(page);
  let bytes = 0;
  network.on("Network.dataReceived", ({ dataLength }) => {
    bytes += dataLength;
  });
  await network.send("Network.enable");
  await until(page, "viewer.live?.speed < 0.1");
  await ask(page, 'viewer.act({ do: "speed", factor: 1 })');
  await page.getByText("400 nodes do more than a page can show").first().waitFor();
  const [before, began] = [bytes, Date.now()];
  const chunks = "viewer.summary.chunks.at(-1).chunk";
  const first = Number(await ask(page, chunks));
  await until(page, `${chunks} > ${first} + 4`);
  const seconds = (Date.now() - began) / 1000;
  // Two MiB a second of records, and a little for what else is told.
  const most = (seconds + 4) * 3e6;
  assert.ok(bytes - before < most, `${((bytes - before) / 1e6).toFixed(1)} MB in ${seconds.toFixed(1)} s`);
  const heap = Number(await ask(page, "performance.memory.usedJSHeapSize"));
  assert.ok(heap < 400e6, `${(heap / 1e6).toFixed(0)} MB`);
  await picture(page, "large-simulation");
});
