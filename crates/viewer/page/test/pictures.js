// Makes the pictures of the documentation (docs/images) anew: `npm run pictures`.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, open, until } from "./browser/support/browser.js";
import { file, run, serve } from "./browser/support/meshlock.js";

/** @type {(() => unknown)[]} */
const left = [];
/** What starts here ends with this, as with a test. */
const about = /** @type {any} */ ({ after: (/** @type {() => unknown} */ what) => left.push(what) });
const cwd = await mkdtemp(join(tmpdir(), "meshlock-pictures-"));
left.push(() => rm(cwd, { recursive: true, force: true }));

/** @param {import("playwright-core").Page} page @param {string} name */
async function keep(page, name) {
  // What was just drawn has to be painted as well.
  await page.waitForTimeout(1000);
  await page.screenshot({ path: file(`docs/images/viewer-${name}.png`) });
}

// Twelve robots and three docks.
const docks = ["sim", file("scenarios/charging-docks.toml"), "--views", "--quiet", "--trace", "docks.trace.jsonl"];
await run(cwd, ...docks, "--seed", "1");
const recording = await serve(about, cwd, "view", "docks.trace.jsonl", "--listen", "127.0.0.1:0");
const robots = await open(about, recording.address);
await until(robots, "!viewer.summary.grows");
await ask(robots, "viewer.seek(519)");
await keep(robots, "simulation");

// A counterexample, at its end.
await run(cwd, "check", "reverse-link/p1", "--quiet", "--trace", "p1.trace.jsonl").catch(() => {});
const broken = await serve(about, cwd, "view", "p1.trace.jsonl", "--listen", "127.0.0.1:0");
const steps = await open(about, broken.address);
await until(steps, "!viewer.summary.grows");
await steps.getByRole("button", { name: "Messages over time" }).click();
await ask(steps, "viewer.seek(viewer.summary.lines)");
await keep(steps, "counterexample");

for (const one of left.reverse()) await one();
