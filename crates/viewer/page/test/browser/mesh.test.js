// Real nodes: `meshlock up` in the browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, drawn, eventually, open, picture, placeOf, until } from "./support/browser.js";
import { folder, serve } from "./support/meshlock.js";

test("a request by click at a real node is granted, and given back", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "up", "--nodes", "4", "--view", "127.0.0.1:0");
  const page = await open(test, address);
  const docks = /** @type {number} */ (await ask(page, 'viewer.about.tapes.findIndex(({ name }) => name === "docks")'));
  await ask(page, `viewer.showTape(${docks})`);
  await until(page, `viewer.tape === ${docks} && viewer.scene?.nodes.length === 4 && viewer.scene.links.length === 4`);
  const node = /** @type {number} */ (await ask(page, "viewer.scene.nodes[2].id"));
  const open_ = `viewer.scene.nodes.find(({ id }) => id === ${node}).open`;
  await page.mouse.click(...(await placeOf(page, node)));
  await until(page, `viewer.selected?.node === ${node}`);
  const form = page.getByRole("form", { name: "Request" });
  await form.getByLabel("Units").fill("2");
  await form.getByLabel("Priority").fill("7");
  await form.getByRole("button", { name: "Request" }).click();
  await until(page, `${open_}.some((one) => one.granted !== null && one.units === 2)`);
  await picture(page, "mesh");
  await page.getByRole("button", { name: "Release" }).first().click();
  await until(page, `${open_}.length === 0`);

  // A link is cut, and a node comes.
  const link = JSON.stringify(await ask(page, "viewer.scene.links[0]"));
  await ask(page, `viewer.act({ do: "link", between: ${link}, up: false })`);
  await until(page, "viewer.scene.links.length === 3");
  await ask(page, 'viewer.act({ do: "add", at: null })');
  await until(page, "viewer.scene.nodes.length === 5 && viewer.scene.links.length > 3");
});

/** Shows the tape of a resource. @param {import("playwright-core").Page} page @param {string} name */
async function show(page, name) {
  await until(page, `viewer.about.tapes.some((tape) => tape.name === "${name}")`);
  const tape = await ask(page, `viewer.about.tapes.findIndex((tape) => tape.name === "${name}")`);
  await ask(page, `viewer.showTape(${tape})`);
  await until(page, `viewer.tape === ${tape} && viewer.following`);
}

/** How often one sees the token: at nodes, and on its way. */
const tokens = `viewer.scene.nodes.filter(({ view }) => view?.token).length +
  viewer.flights().filter(({ token, lost }) => token && !lost).length`;
const badge = 'document.getElementById("badge").textContent';

test("a page that stays open while the program is started again shows the new run only, and the truth meanwhile", async (test) => {
  const cwd = await folder(test);
  const up = ["up", "--nodes", "4", "--view"];
  const first = await serve(test, cwd, ...up, "127.0.0.1:0");
  const page = await open(test, first.address, { excuse: /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/ });
  await until(page, "viewer.scene?.links.length === 4");
  await until(page, `${badge} === "live mesh"`);
  assert.equal(await ask(page, tokens), 1);
  await ask(page, 'viewer.act({ do: "remove", node: viewer.scene.nodes[3].id })');
  await until(page, "viewer.scene.nodes.some(({ gone }) => gone) || viewer.scene.links.length < 4");

  await first.end();
  await until(page, `/not connected/.test(${badge}) && document.body.classList.contains("gone")`);
  await picture(page, "not-connected");

  const again = await folder(test);
  await serve(test, again, ...up, new URL(first.address).host);
  await eventually(page, `viewer.scene.links.length === 4 && ${badge} === "live mesh"`);
  await eventually(page, "viewer.scene.nodes.length === 4 && viewer.scene.nodes.every(({ gone }) => !gone)");
  assert.equal(await ask(page, tokens), 1);
  assert.equal(await ask(page, 'document.body.classList.contains("gone")'), false);
});

/** Counts, frame by frame, what must not be. @param {import("playwright-core").Page} page */
function watchFrames(page) {
  return page.evaluate(() => {
    const viewer = /** @type {any} */ (window).viewer;
    const seen = { flying: 0, early: 0, twice: 0 };
    Object.assign(window, { seen });
    viewer.on("moment", () => {
      const flying = viewer.flights().filter((/** @type {any} */ one) => one.token && !one.lost);
      const at = viewer.scene.nodes.filter((/** @type {any} */ node) => node.view?.token).length;
      if (at + flying.length > 1) seen.twice++;
      for (const { to } of flying) {
        seen.flying++;
        const target = viewer.scene.nodes.find((/** @type {any} */ node) => node.id === to);
        if (target.open.some((/** @type {any} */ one) => one.granted !== null)) seen.early++;
      }
    });
  });
}

/** Selects everything in an element; what is selected then. @param {import("playwright-core").Page} page @param {string} where */
async function selectAll(page, where) {
  await page.evaluate((one) => {
    getSelection()?.selectAllChildren(/** @type {Node} */ (document.querySelector(one)));
  }, where);
  return /** @type {string} */ (await ask(page, "String(getSelection())"));
}

test("a busy mesh: no node is inside while the token is still on its way to it, and the selection stays", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "up", "--nodes", "5", "--demo", "--view", "127.0.0.1:0");
  const page = await open(test, address);
  await show(page, "gate");
  await watchFrames(page);
  await until(
    page,
    '/How to read the picture/.test(document.querySelector("#tab-node-panel .stack")?.textContent ?? "")',
  );
  const words = await selectAll(page, "#tab-node-panel .stack");
  assert.match(words, /What happens here[\s\S]*How to read the picture/);
  await until(page, "window.seen.flying > 20");
  await picture(page, "busy");
  // Facts changed meanwhile; the words around them are still selected.
  const kept = /** @type {string} */ (await ask(page, "String(getSelection())"));
  assert.match(kept, /^Token[\s\S]*What happens here[\s\S]*How to read the picture/);
  const seen = /** @type {any} */ (await ask(page, "window.seen"));
  assert.deepEqual([seen.early, seen.twice], [0, 0], JSON.stringify(seen));

  // Being inside has one colour, in the picture and in the diagram.
  await page.getByRole("button", { name: "Messages over time" }).click();
  await until(page, 'document.querySelector("#diagram .held") !== null');
  const colours = await page.evaluate(() => {
    const probe = document.createElement("p");
    probe.style.color = "var(--accent)";
    document.body.append(probe);
    const held = /** @type {Element} */ (document.querySelector("#diagram .held"));
    const both = [getComputedStyle(held).stroke, getComputedStyle(probe).color];
    probe.remove();
    return both;
  });
  assert.equal(colours[0], colours[1]);

  // A selection stays with a node as well.
  await ask(page, "viewer.select({ node: viewer.scene.nodes[0].id })");
  await until(page, 'document.querySelector("#tab-node-panel h2")?.textContent === viewer.scene.nodes[0].name');
  const name = await selectAll(page, "#tab-node-panel h2");
  const line = await ask(page, "viewer.scene.line");
  await until(page, `viewer.scene.line > ${line} + 3`);
  assert.equal(await ask(page, "String(getSelection())"), name);
});

test("a node is killed: it is crossed out, the others make its token anew, and it comes back", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "up", "--view", "127.0.0.1:0");
  const page = await open(test, address, { viewport: { width: 1280, height: 800 } });
  // The voters of a mesh are found within its first seconds; then any one of them may be missing.
  await until(page, "viewer.scene?.links.length === 5 && viewer.following && viewer.now > 6e9");
  const [, , killed, other] = /** @type {number[]} */ (await ask(page, "viewer.scene.nodes.map(({ id }) => id)"));
  const node = (/** @type {number} */ id) => `viewer.scene.nodes.find((one) => one.id === ${id})`;
  const request = (/** @type {number} */ id) =>
    `viewer.act({ do: "request", tape: viewer.tape, node: ${id}, units: 1, priority: 0, session: null })`;
  await ask(page, request(killed));
  await until(page, `${node(killed)}.view?.token && ${node(killed)}.open.some(({ granted }) => granted !== null)`);
  await ask(page, `viewer.select({ node: ${killed} })`);
  await page.getByRole("button", { name: "Kill node" }).click();
  await until(page, `${node(killed)}.crashed && ${drawn}.byId.get(${killed}).node.gone`);
  await page.locator("#tab-node-panel .badge", { hasText: "crashed" }).waitFor();
  await picture(page, "killed");

  // The heir decides, and the new token grants.
  await until(page, "viewer.scene.nodes.some(({ remade }) => remade !== null)");
  const living = "viewer.scene.nodes.filter(({ gone }) => !gone)";
  const heir = Number(await ask(page, "viewer.scene.nodes.find(({ remade }) => remade !== null).id"));
  assert.notEqual(heir, killed);
  await until(page, `${living}.length === 4 && ${living}.filter(({ view }) => view?.token).length === 1`);
  await ask(page, `viewer.select({ node: ${heir} })`);
  await page.locator("#tab-node-panel .badge", { hasText: "made the token anew" }).waitFor();
  await picture(page, "repaired");
  await ask(page, request(other));
  await until(page, `${node(other)}.open.some(({ granted }) => granted !== null)`);

  // It comes back as its next incarnation, in the same place, and takes part.
  const place = await placeOf(page, killed);
  await ask(page, `viewer.select({ node: ${killed} })`);
  await page.getByRole("button", { name: "Start again" }).click();
  const again = killed + 65_536;
  await until(page, `${living}.length === 5 && ${drawn}.byId.has(${again})`);
  assert.deepEqual(await placeOf(page, again), place);
  await until(page, `viewer.condition.suspended.length === 0 && viewer.condition.repair === null`);
  await ask(page, request(again));
  await until(page, `${node(again)}.open.some(({ granted }) => granted !== null)`);
});

test("nodes that cannot hear the voters are shown as suspended, with the reason", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "up", "--nodes", "4", "--view", "127.0.0.1:0");
  const page = await open(test, address);
  await until(page, "viewer.scene?.links.length === 4 && viewer.condition.suspended.length === 0");
  const [cut, ...others] = /** @type {number[]} */ (
    await ask(page, "viewer.scene.nodes.map(({ id }) => id).reverse()")
  );
  await ask(page, `viewer.select({ node: ${cut} })`);
  for (const other of [others[0], others[2]]) {
    await ask(page, `viewer.act({ do: "link", between: [${cut}, ${other}], up: false })`);
  }
  await until(page, `${drawn}.suspended.has(${cut})`);
  assert.equal(await ask(page, `${drawn}.suspended.size`), 1);
  await page.locator("#tab-node-panel .badge", { hasText: "suspended" }).waitFor();
  await page.locator("#tab-node-panel .note.alarm").waitFor();
  await picture(page, "suspended");
});
