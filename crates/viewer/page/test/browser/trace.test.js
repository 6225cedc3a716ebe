// Trace files in a real browser: a counterexample step by step, a simulation, something that is no trace.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ask, open, picture, until } from "./support/browser.js";
import { file, folder, run, serve } from "./support/meshlock.js";

/** What the page says in the row of this name. @param {import("playwright-core").Page} page @param {string} name */
function fact(page, name) {
  return page.locator("dl.facts dt", { hasText: name }).locator("xpath=following-sibling::dd[1]");
}

/** Who has the token after each line of a trace, by the views in it. @param {string} text */
function holders(text) {
  const [header, ...records] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const names = new Map(header.nodes.map((/** @type {any} */ node) => [node.id, node.name]));
  const has = new Map(header.nodes.map((/** @type {any} */ node) => [node.id, Boolean(node.view?.token)]));
  return records.map((record) => {
    if (record.view) has.set(record.node, Boolean(record.view.token));
    return [...has].filter(([, is]) => is).map(([id]) => names.get(id));
  });
}

test("a counterexample: after every step the token is where the trace says", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "check", "reverse-link/p1", "--quiet", "--trace", "p1.trace.jsonl");
  const text = await readFile(join(cwd, "p1.trace.jsonl"), "utf8");
  const expected = holders(text);
  const { address } = await serve(test, cwd, "view", "p1.trace.jsonl", "--listen", "127.0.0.1:0");
  const page = await open(test, address);
  await page.keyboard.press("Home");
  let seen = 0;
  for (;;) {
    const line = Number(await ask(page, "viewer.scene.line"));
    if (line > 1) {
      const names = /** @type {string[]} */ (
        await ask(page, "viewer.scene.nodes.filter((node) => node.view?.token).map((node) => node.name)")
      );
      assert.deepEqual(names, expected[line - 2], `after line ${line}`);
      if (names.length > 0) {
        await fact(page, "Token").getByText(names[0]).waitFor();
      }
      seen += 1;
    }
    if (line === expected.length + 1) break;
    await page.keyboard.press("ArrowRight");
    await until(page, `viewer.scene.line > ${line}`);
  }
  assert.ok(seen >= 20, `only ${seen} steps`);
  await page.getByText("is broken").first().waitFor();
  await picture(page, "counterexample");
  await page.keyboard.press("ArrowLeft");
  await until(page, `viewer.scene.line < ${expected.length + 1}`);
});

test("a simulation: play, pause, jump, select, search, charts; on a phone too", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "sim", file("scenarios/charging-docks.toml"), "--quiet", "--views", "--trace", "docks.trace.jsonl");
  const { address } = await serve(test, cwd, "view", "docks.trace.jsonl", "--listen", "127.0.0.1:0");
  const page = await open(test, address);
  // It plays at once; a jump ends that. A jump before would be undone by it.
  await until(page, "viewer.playing");
  await page.keyboard.press("g");
  await until(
    page,
    "!viewer.playing && viewer.scene.nodes.some(({ open }) => open.some((one) => one.granted !== null))",
  );
  const granted = Number(await ask(page, "viewer.scene.line"));
  await fact(page, "Inside")
    .getByText(/^n\d+$/)
    .first()
    .waitFor();
  await picture(page, "simulation");
  await page.keyboard.press(" ");
  await until(page, `viewer.playing && viewer.scene.line > ${granted}`);
  await page.keyboard.press(" ");
  await until(page, "!viewer.playing");
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("searchbox").fill("granted");
  await page.getByRole("listbox", { name: "Records" }).getByText("granted").first().waitFor();
  await page.getByRole("tab", { name: "Charts" }).click();
  await page.getByRole("img", { name: /^Units in use/ }).waitFor();
  await picture(page, "charts");

  const phone = await open(test, address, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.keyboard.press("g");
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} pixels wide on a phone of 390`);
  await picture(phone, "phone");
});

test("a trace that is damaged is shown up to the damage, with words", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "check", "reverse-link/p1", "--quiet", "--trace", "p1.trace.jsonl");
  const text = await readFile(join(cwd, "p1.trace.jsonl"), "utf8");
  const damaged = text.split("\n").slice(0, 8).join("\n");
  await writeFile(join(cwd, "damaged.trace.jsonl"), `${damaged}\n{"step":nonsense}\n`);
  const { address } = await serve(test, cwd, "view", "damaged.trace.jsonl", "--listen", "127.0.0.1:0");
  const page = await open(test, address);
  await page.getByText("line 9").first().waitFor();
  assert.equal(await ask(page, "viewer.summary.lines"), 8);
});

test("what is no trace is refused with words", async (test) => {
  const cwd = await folder(test);
  await writeFile(join(cwd, "note.txt"), "hello\n");
  await assert.rejects(run(cwd, "view", "note.txt"), /ended with 2: error: note.txt: this is no trace of meshlock/);
  await assert.rejects(run(cwd, "view", "missing.txt"), /cannot read it/);
  await run(cwd, "check", "reverse-link/p1", "--quiet", "--trace", "p1.trace.jsonl");
  await assert.rejects(run(cwd, "view", "p1.trace.jsonl", "--listen", "0.0.0.0:0"), /needs a token/);
});

test("with a token the page shows nothing without it", async (test) => {
  const cwd = await folder(test);
  await run(cwd, "check", "reverse-link/p1", "--quiet", "--trace", "p1.trace.jsonl");
  await writeFile(join(cwd, "token"), "secret-word\n");
  const words = ["view", "p1.trace.jsonl", "--listen", "127.0.0.1:0", "--token-file", "token"];
  const { address } = await serve(test, cwd, ...words);
  assert.match(address, /#token=secret-word$/);
  assert.equal((await fetch(new URL("/api/about", address))).status, 401);
  const page = await open(test, address);
  assert.equal(await page.evaluate(() => location.hash.includes("secret")), false, "the token stays in the address");
  await page.reload();
  await until(page, "viewer?.scene");
});
