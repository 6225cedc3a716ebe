// Starts the program under test, and ends it.

import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../../../../", import.meta.url));

/** The program: built by `cargo build`, or named by MESHLOCK. */
export const program = process.env.MESHLOCK ?? join(root, "target/debug/meshlock");
if (!existsSync(program)) {
  throw new Error(`${program} is not there: run \`cargo build\` first, or set MESHLOCK to the program`);
}

/** A file of the repository. @param {string} path */
export const file = (path) => join(root, path);

/** A folder that goes with the test. @param {import("node:test").TestContext} test */
export async function folder(test) {
  const path = await mkdtemp(join(tmpdir(), "meshlock-page-"));
  after(test, () => rm(path, { recursive: true, force: true }));
  return path;
}

/** Runs a command to its end. @param {string} cwd @param {string[]} words @returns {Promise<string>} its output */
export async function run(cwd, ...words) {
  try {
    return (await promisify(execFile)(program, words, { cwd, maxBuffer: 1 << 28 })).stdout;
  } catch (problem) {
    // A broken rule is an exit code of 1, and here mostly what is wanted.
    const ended = /** @type {{ code?: number, stdout?: string, stderr?: string }} */ (problem);
    if (ended.code === 1) return ended.stdout ?? "";
    throw new Error(`meshlock ${words.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
  }
}

/**
 * Starts a command that serves the page, until the test is over.
 *
 * @param {import("node:test").TestContext} test
 * @param {string} cwd
 * @param {string[]} words
 * @returns {Promise<{ address: string, said: () => string, end: () => Promise<number | null> }>}
 */
export async function serve(test, cwd, ...words) {
  const child = spawn(program, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const end = async () => {
    child.kill("SIGTERM");
    return await ended;
  };
  after(test, end);
  const address = await new Promise((resolve, reject) => {
    const listen = (/** @type {Buffer} */ part) => {
      said += part;
      const found = /http:\/\/[\w.:[\]]+\/\S*/.exec(said);
      if (found && said.slice(found.index).includes("\n")) resolve(found[0]);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("exit", (code) => reject(new Error(`meshlock ${words.join(" ")} ended with ${code}: ${said}`)));
  });
  return { address, said: () => said, end };
}

// What has to be done after a test, the last thing first: the browser closes before its server ends.

/** @type {WeakMap<import("node:test").TestContext, (() => unknown)[]>} */
const left = new WeakMap();

/** @param {import("node:test").TestContext} test @param {() => unknown} what */
export function after(test, what) {
  const all = left.get(test);
  if (all) {
    all.push(what);
    return;
  }
  const these = [what];
  left.set(test, these);
  test.after(async () => {
    const problems = [];
    for (const one of these.reverse()) {
      try {
        await one();
      } catch (problem) {
        problems.push(problem);
      }
    }
    if (problems.length > 0) throw problems[0];
  });
}
