// How fast the page is: frames per second with many nodes, and how soon a large trace can be seen. Not a test: figures
// depend on the machine, and are printed with it.

import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { args, executablePath } from "./browser/support/browser.js";
import { file, run, serve } from "./browser/support/meshlock.js";

/** @type {(() => unknown)[]} */
const left = [];
/** What starts here ends with this, as with a test. */
const about = /** @type {any} */ ({ after: (/** @type {() => unknown} */ what) => left.push(what) });
const cwd = await mkdtemp(join(tmpdir(), "meshlock-measure-"));
left.push(() => rm(cwd, { recursive: true, force: true }));

/** @param {string} name @param {string[]} settings */
async function trace(name, ...settings) {
  const set = settings.flatMap((setting) => ["--set", setting]);
  await run(cwd, "sim", file("scenarios/reference.toml"), ...set, "--views", "--quiet", "--trace", name);
  return Math.round(statSync(join(cwd, name)).size / 1e6);
}

/** @param {string} name */
async function look(name) {
  const { address, end } = await serve(about, cwd, "view", name, "--listen", "127.0.0.1:0");
  const browser = await chromium.launch({ executablePath, args });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const began = Date.now();
  await page.goto(address);
  await page.waitForFunction(() => /** @type {any} */ (window).viewer?.scene);
  const first = Date.now() - began;
  await page.waitForFunction(() => !(/** @type {any} */ (window).viewer.summary.grows));
  const close = async () => {
    await browser.close();
    await end();
  };
  return { page, first, indexed: Date.now() - began, close };
}

/** Frames per second over some seconds, and the time that drawing took. @param {import("playwright-core").Page} page */
const frames = (page) =>
  page.evaluate(async () => {
    const stage = /** @type {any} */ (document.querySelector("#stage"));
    const viewer = /** @type {any} */ (window).viewer;
    viewer.play();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const before = stage.drawStats().frames;
    const began = performance.now();
    const times = [];
    while (performance.now() - began < 5000) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      times.push(stage.drawStats().ms);
    }
    const seconds = (performance.now() - began) / 1000;
    viewer.pause();
    times.sort((a, b) => a - b);
    return { fps: (stage.drawStats().frames - before) / seconds, ms: times[Math.floor(times.length / 2)] };
  });

console.log(`${cpus().length} x ${cpus()[0]?.model}`);
for (const nodes of [5, 100, 1000]) {
  const name = `${nodes}.trace.jsonl`;
  await trace(name, `nodes=${nodes}`, "duration=8s", "warmup=0s", ...(nodes > 100 ? ["area.degree=10"] : []));
  const { page, close } = await look(name);
  const { fps, ms } = await frames(page);
  const links = await page.evaluate(() => /** @type {any} */ (window).viewer.scene.links.length);
  console.log(`${nodes} nodes, ${links} links: ${fps.toFixed(0)} frames per second, ${ms.toFixed(1)} ms to draw one`);
  await close();
}
const size = await trace("large.trace.jsonl", "duration=200s");
const { page, first, indexed, close } = await look("large.trace.jsonl");
const jump = await page.evaluate(async () => {
  const viewer = /** @type {any} */ (window).viewer;
  const began = performance.now();
  for (const part of [0.5, 0.9, 0.1, 0.7]) await viewer.seekTo(viewer.summary.last * part);
  return (performance.now() - began) / 4;
});
const memory = await page.evaluate(() => /** @type {any} */ (performance).memory?.usedJSHeapSize / 1e6);
console.log(
  `trace of ${size} MB: seen after ${first} ms, indexed after ${indexed} ms, a jump takes ${jump.toFixed(0)} ms, ` +
    `the page uses ${memory.toFixed(0)} MB`,
);
await close();
for (const one of left.reverse()) await one();
