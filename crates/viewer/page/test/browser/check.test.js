// A model, state by state: `meshlock check MODEL --view`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, open, picture, until } from "./support/browser.js";
import { folder, serve } from "./support/meshlock.js";

test("one steps through a model, back, and to a counterexample; every path has an address", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "check", "reverse-link/p1", "--view=127.0.0.1:0");
  const page = await open(test, address);
  await until(page, "viewer.place?.path.length === 0 && viewer.place.next.length > 0");
  await page.keyboard.press("1");
  // The page glides to the new state.
  await until(page, "viewer.place.path.length === 1 && viewer.scene.line === viewer.summary.lines");
  const first = await ask(page, "JSON.stringify(viewer.scene.nodes)");
  assert.match(page.url(), /#\/path\/0$/);
  await page.keyboard.press("1");
  await until(page, "viewer.place.path.length === 2");
  await page.goBack();
  await until(page, "viewer.place.path.length === 1 && viewer.scene.line === viewer.summary.lines");
  assert.equal(await ask(page, "JSON.stringify(viewer.scene.nodes)"), first);

  // The search finds the broken rule, and the page goes there.
  await until(page, "viewer.overview?.search.done");
  const broken = /** @type {{ name: string, path: number[] }} */ (
    await ask(page, 'viewer.overview.properties.find(({ state }) => state === "broken")')
  );
  assert.ok(broken.path.length > 5);
  await page
    .getByRole("button", { name: /counterexample/i })
    .first()
    .click();
  await until(page, `viewer.place.path.length === ${broken.path.length}`);
  assert.equal(await ask(page, "viewer.place.broken.rule"), broken.name);
  await page.getByText(broken.name).first().waitFor();
  await picture(page, "check");

  // The address alone leads there.
  const again = await open(test, page.url());
  await until(again, `viewer.place?.path.length === ${broken.path.length}`);
  assert.deepEqual(await ask(again, "viewer.place.path"), broken.path);
  // An example of something that can happen.
  await again
    .getByRole("button", { name: /example/i })
    .last()
    .click();
  await until(again, "viewer.place.broken === null");
});

test("a path that cannot be is answered with words", async (test) => {
  const cwd = await folder(test);
  const { address } = await serve(test, cwd, "check", "reverse-link/p1", "--view=127.0.0.1:0");
  const refused = await fetch(new URL("/api/check/at/0.99", address));
  assert.equal(refused.status, 404);
  assert.match((await refused.json()).message, /step 2/);
});
