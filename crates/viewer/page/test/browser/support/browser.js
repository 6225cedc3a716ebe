// A real browser without a window.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { after } from "./meshlock.js";

const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const executablePath = process.env.CHROMIUM ?? usual.find((path) => existsSync(path));
if (!executablePath) throw new Error("there is no Chromium: install it (`apt-get install chromium`), or set CHROMIUM");

// It talks to our server only.
export const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Opens a page, and lets the test fail if anything in it goes wrong: an error, a warning of the browser, a file that is
 * missing, something that the security policy forbids.
 *
 * @param {import("node:test").TestContext} test
 * @param {string} address
 * @param {import("playwright-core").BrowserContextOptions & { excuse?: RegExp }} [options] `excuse`: what may go wrong
 */
export async function open(test, address, { excuse, ...options } = {}) {
  const browser = await chromium.launch({ executablePath, args });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
  /** @type {string[]} */
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("console", (said) => {
    if ((said.type() === "error" || said.type() === "warning") && !excuse?.test(said.text())) {
      wrong.push(`${said.type()}: ${said.text()}`);
    }
  });
  const own = address.startsWith("file:") ? address.split("#")[0] : new URL(address).origin;
  page.on("request", (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith("data:")) {
      wrong.push(`asked elsewhere: ${request.url()}`);
    }
  });
  after(test, async () => {
    await browser.close();
    if (wrong.length > 0) throw new Error(`the page complained:\n${wrong.join("\n")}`);
  });
  page.setDefaultTimeout(60_000);
  await page.goto(address);
  await page.waitForFunction(() => /** @type {any} */ (window).viewer?.scene);
  return page;
}

/** Something the viewer knows. @param {import("playwright-core").Page} page @param {string} what */
export function ask(page, what) {
  return page.evaluate(`(() => { const viewer = window.viewer; return ${what}; })()`);
}

/** Waits until something is so. @param {import("playwright-core").Page} page @param {string} what */
export async function until(page, what) {
  // The policy of the page forbids the browser's own way of waiting for words of a program.
  for (let looks = 0; !(await ask(page, what)); looks += 1) {
    if (looks > 3_000) throw new Error(`it does not come to this: ${what}`);
    await page.waitForTimeout(20);
  }
}

/** The same while the page may be loaded anew. @param {import("playwright-core").Page} page @param {string} what */
export async function eventually(page, what) {
  const so = () => ask(page, `Boolean(viewer?.scene) && (${what})`).catch(() => false);
  for (let looks = 0; !(await so()); looks += 1) {
    if (looks > 3_000) throw new Error(`it does not come to this: ${what}`);
    await page.waitForTimeout(20);
  }
}

/** A picture for people, if they want one: set SCREENSHOTS to a folder. */
export async function picture(/** @type {import("playwright-core").Page} */ page, /** @type {string} */ name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` });
}

/** What the stage has drawn last, for words of a program. */
export const drawn = 'document.querySelector("#stage").drawn()';

/** Where a node is in the window. @param {import("playwright-core").Page} page @param {number} node */
export async function placeOf(page, node) {
  const at = `((dot, box) => dot && [box.left + dot.x, box.top + dot.y])
    (${drawn}.byId.get(${node}), document.querySelector("#stage canvas").getBoundingClientRect())`;
  return /** @type {[number, number]} */ (await ask(page, at));
}
