// Real nodes: `meshlock up` in the browser.

import { test } from "node:test";
import { ask, open, picture, placeOf, until } from "./support/browser.js";
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
