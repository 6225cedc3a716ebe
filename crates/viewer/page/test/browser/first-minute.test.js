// What a newcomer sees first: something happens at once, it can be read, and it can be shown to others.

import assert from "node:assert/strict";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ask, drawn, open, picture, until } from "./support/browser.js";
import { file, folder, run, serve } from "./support/meshlock.js";

/** @import { Page } from "playwright-core" */

/** Which part of the window the picture has. @param {Page} page */
function share(page) {
  return ask(
    page,
    '((box) => (box.width * box.height) / (innerWidth * innerHeight))(document.querySelector("#stage").getBoundingClientRect())',
  );
}

/** No node covers another, and none is cut off. @param {Page} page */
async function assertLegible(page) {
  const { radius, width, height, dots } =
    /** @type {{ radius: number, width: number, height: number, dots: [number, number][] }} */ (
      await ask(
        page,
        `(({ radius, camera, dots }) => ({ radius, width: camera.width, height: camera.height,
          dots: dots.map(({ x, y }) => [x, y]) }))(${drawn})`,
      )
    );
  for (const [i, [x, y]] of dots.entries()) {
    const inside = x > radius && y > radius && x < width - radius && y < height - radius;
    assert.ok(inside, `a node at ${x}, ${y} is cut off`);
    for (const [u, v] of dots.slice(i + 1)) assert.ok(Math.hypot(x - u, y - v) > 2 * radius, `two nodes at ${x}, ${y}`);
  }
}

const anyRequest = "viewer.scene.nodes.flatMap(({ open }) => open)";

test("a busy mesh: requests at once, contention on what is shown, and most of the window for the picture", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "up", "--demo", "--view", "127.0.0.1:0");
  const page = await open(test, address, { viewport: { width: 1440, height: 900 } });
  await until(page, `${anyRequest}.length > 0`);
  const first = Number(
    await ask(
      page,
      "viewer.records(2, 400).then((rows) => rows.find(({ record }) => record.event?.request)?.record.time_ns)",
    ),
  );
  // A second after the resource was made; a busy machine may take longer. It was eleven.
  assert.ok(first < 5e9, `the first request came after ${first / 1e9} s`);
  await until(
    page,
    `${anyRequest}.some((one) => one.granted === null) && ${anyRequest}.some((one) => one.granted !== null)`,
  );
  assert.ok(Number(await share(page)) > 0.5, `the picture has ${await share(page)} of the window`);
  assert.equal(await ask(page, 'document.querySelector("#drawer").hidden'), true);
  await until(page, "viewer.scene.links.length === 5");
  await assertLegible(page);
  await picture(page, "first-minute");
});

test("the clock of a quiet mesh runs, and a node that comes leaves the others where they are", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "up", "--view", "127.0.0.1:0");
  const page = await open(test, address, { viewport: { width: 1280, height: 800 } });
  await until(page, "viewer.scene.links.length === 5");
  const line = await ask(page, "viewer.scene.line");
  // A mesh is forming for five seconds.
  await until(page, "viewer.now > 6e9");
  assert.equal(await ask(page, "viewer.scene.line"), line, "something happened in a quiet mesh");
  const places = `${drawn}.dots.slice(0, 5).map(({ x, y }) => [Math.round(x), Math.round(y)])`;
  const before = await ask(page, places);
  await ask(page, 'viewer.act({ do: "add", at: null })');
  await until(page, "viewer.scene.nodes.length === 6 && viewer.scene.links.length === 7");
  await until(page, `${drawn}.dots.length === 6`);
  assert.deepEqual(await ask(page, places), before);
  await assertLegible(page);
});

test("a hundred nodes: slowed, only the token and requests, none over another; more by choice", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "sim", "--set", "duration=1h", "--view=127.0.0.1:0");
  const page = await open(test, address, { viewport: { width: 1280, height: 800 } });
  await until(page, "viewer.live?.speed === 0.02 && viewer.scene.nodes.length === 100");
  assert.ok(Number(await share(page)) > 0.45, `the picture has ${await share(page)} of the window`);
  assert.equal(await page.locator("details.settings").getAttribute("open"), null);
  await until(page, `${drawn}.flights.length > 0`);
  const others = `${drawn}.flights.filter(({ kind, token }) => !token && kind !== "ask" && kind !== "request").length`;
  assert.equal(await ask(page, others), 0);
  await assertLegible(page);
  await picture(page, "hundred");
  await page.getByLabel("all messages").check();
  await until(page, `${others} > 0`);
  // Of a few nodes everything is shown, at their own speed, and from the first request on.
  const few = await serve(test, cwd, "sim", file("scenarios/charging-docks.toml"), "--view=127.0.0.1:0");
  const docks = await open(test, few.address, { viewport: { width: 1280, height: 800 } });
  await until(docks, `viewer.live?.speed === 1 && ${anyRequest}.length > 0`);
  assert.ok(await docks.getByLabel("all messages").isHidden());
  await assertLegible(docks);
});

test("a recording plays at once; charts tell their values; a link leads to the same moment", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "sim", file("scenarios/charging-docks.toml"), "--quiet", "--views", "--trace", "docks.trace.jsonl");
  const { address } = await serve(test, cwd, "view", "docks.trace.jsonl", "--listen", "127.0.0.1:0");
  const page = await open(test, address);
  await until(page, `viewer.playing && ${anyRequest}.some((one) => one.granted !== null)`);
  assert.equal(await ask(page, "location.hash"), "");

  await page.getByRole("tab", { name: "Charts" }).click();
  const chart = page.getByRole("img", { name: /^Waiting time/ });
  await chart.hover();
  await chart.getByText(/^[\d:.]+ s: mean [\d.]+ m?s, longest [\d.]+ m?s$/).waitFor();

  await page.getByRole("button", { name: "Pause" }).click();
  await until(page, "!viewer.playing");
  await ask(page, "viewer.select({ node: 3 })");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.getByText("The link to this moment is copied.").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const line = await ask(page, "viewer.scene.line");
  assert.equal(link, `${address}#/at/docks.trace.jsonl/${line}/node/3`);
  await until(page, `location.href === "${link}"`);
  const colleague = await open(test, link);
  await until(colleague, `viewer.scene.line === ${line} && viewer.selected?.node === 3 && !viewer.playing`);
  await colleague.getByRole("heading", { name: "n3" }).waitFor();
});

test("a page to send to a colleague: one file that needs no server, and overwrites nothing", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "sim", file("scenarios/charging-docks.toml"), "--quiet", "--views", "--trace", "docks.trace.jsonl");
  await run(cwd, "check", "reverse-link/p1", "--quiet", "--trace", "p1.trace.jsonl");
  const words = ["view", "docks.trace.jsonl", "p1.trace.jsonl", "--export", "page.html"];
  assert.match(await run(cwd, ...words), /written: page.html \([\d.]+ MiB\)/);
  const page = await open(test, pathToFileURL(join(cwd, "page.html")).href);
  await until(page, `viewer.playing && ${anyRequest}.length > 0`);
  await page.keyboard.press("g");
  await until(page, `${anyRequest}.some((one) => one.granted !== null)`);
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("searchbox").fill("granted");
  await page.getByRole("listbox", { name: "Records" }).getByText("granted").first().waitFor();
  await page.getByRole("tab", { name: "Charts" }).click();
  await page.getByRole("img", { name: /^Units in use/ }).waitFor();
  await page.getByLabel("Resource").selectOption("p1.trace.jsonl");
  await until(page, 'viewer.tape === 1 && viewer.summary.clock === "step"');
  await ask(page, "viewer.seek(viewer.summary.lines)");
  await page.getByRole("tab", { name: "Node" }).click();
  await page.getByText("is broken").first().waitFor();
  await until(page, 'location.hash.startsWith("#/at/p1.trace.jsonl/")');
  await picture(page, "exported");

  await writeFile(join(cwd, "page.html"), "mine");
  await assert.rejects(run(cwd, ...words), /page.html is there already: --force overwrites it/);
  assert.equal(await readFile(join(cwd, "page.html"), "utf8"), "mine");
  await run(cwd, ...words, "--force");
  assert.match(await readFile(join(cwd, "page.html"), "utf8"), /^<!doctype html>/);
  await truncate(join(cwd, "docks.trace.jsonl"), 65 << 20);
  await assert.rejects(
    run(cwd, "view", "docks.trace.jsonl", "--export", "b.html"),
    /65 MiB, and a page holds up to 64/,
  );
});

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What is hard to use for somebody; in the dark only colours differ. @param {Page} page @param {string} where */
async function barriers(page, where) {
  const told = [];
  for (const [colorScheme, options] of /** @type {const} */ ([
    ["light", {}],
    ["dark", { runOnly: ["color-contrast"] }],
  ])) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(
      async (how) => (await /** @type {any} */ (window).axe.run(how)).violations,
      options,
    );
    for (const { id, nodes } of found) told.push(`${where}, ${colorScheme}: ${id}: ${nodes[0].html}`);
  }
  return told;
}

test("axe finds nothing, on every kind of page, in the light and in the dark", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "sim", file("scenarios/charging-docks.toml"), "--quiet", "--views", "--trace", "docks.trace.jsonl");
  await run(cwd, "view", "docks.trace.jsonl", "--export", "page.html");
  const docks = file("scenarios/charging-docks.toml");
  const kinds = {
    mesh: (await serve(test, cwd, "up", "--demo", "--view", "127.0.0.1:0")).address,
    sim: (await serve(test, cwd, "sim", docks, "--view=127.0.0.1:0")).address,
    check: (await serve(test, cwd, "check", "reverse-link/p1", "--view=127.0.0.1:0")).address,
    exported: pathToFileURL(join(cwd, "page.html")).href,
  };
  const found = [];
  for (const [kind, address] of Object.entries(kinds)) {
    const page = await open(test, address);
    await page.evaluate(axe);
    await until(page, "viewer.summary !== null");
    found.push(...(await barriers(page, kind)));
    await ask(page, "viewer.select({ node: viewer.scene.nodes[0].id })");
    if (kind === "sim") await page.locator("details.settings > summary").click();
    found.push(...(await barriers(page, `${kind}, a node`)));
    // These are the same everywhere.
    if (kind !== "mesh") continue;
    await page.getByRole("button", { name: "Messages over time" }).click();
    await page.locator("#drawer svg").first().waitFor();
    for (const tab of ["Events", "Charts"]) {
      await page.getByRole("tab", { name: tab }).click();
      found.push(...(await barriers(page, tab)));
    }
    await page.getByRole("button", { name: "Help" }).click();
    found.push(...(await barriers(page, "help")));
    await page.close();
  }
  assert.deepEqual(found, []);
});
