// Holds what cargo resolved against deny.toml, as `cargo deny check licenses bans sources` would; and the toolchain against
// the Rust version that the manifest promises. Needs nothing but cargo and Node.js.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const rules = readFileSync("deny.toml", "utf8").replace(/#.*/g, "");
/** The strings of a list of deny.toml: entries of their own, or under the key `crate`. @param {string} key */
const list = (key) => {
  const found = rules.match(new RegExp(`^${key} = \\[([^\\]]*)\\]`, "m"));
  if (!found) throw new Error(`deny.toml has no list ${key}`);
  return [...found[1].matchAll(/(?:crate = |^\s*)"([^"]+)"/gm)].map(([, text]) => text);
};
const [target] = list("targets");
const words = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
const metadata = JSON.parse(execFileSync("cargo", words, { encoding: "utf8", maxBuffer: 1 << 28 }));

// All that is built in: what our packages need, not for their tests, and what that needs.
const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
const reached = new Set();
const next = [...metadata.workspace_members];
for (let id = next.pop(); id !== undefined; id = next.pop()) {
  if (reached.has(id)) continue;
  reached.add(id);
  const needs = (dep) => dep.dep_kinds.some(({ kind }) => kind !== "dev");
  next.push(...nodes.get(id).deps.filter(needs).map(({ pkg }) => pkg));
}
const packages = metadata.packages.filter(({ id }) => reached.has(id));

const wrong = [];

// `MIT OR Apache-2.0`, `(MIT OR Apache-2.0) AND Unicode-3.0`: one of each alternative must be allowed.
const allowed = new Set(list("allow"));
const fits = (license) =>
  license
    .replaceAll("/", " OR ")
    .split(" AND ")
    .every((part) => part.replace(/[()]/g, "").split(" OR ").some((name) => allowed.has(name.trim())));
for (const { name, version, license } of packages)
  if (!license || !fits(license)) wrong.push(`${name} ${version}: its licence is ${license ?? "not stated"}`);

const banned = new Set(list("deny"));
for (const { name } of packages) if (banned.has(name)) wrong.push(`${name}: is banned by deny.toml`);

const skipped = list("skip");
const isMeant = (skip, { name, version }) => `${name}@${version}.`.startsWith(`${skip}.`);
const counted = packages.filter((one) => !skipped.some((skip) => isMeant(skip, one)));
for (const name of new Set(counted.map(({ name }) => name))) {
  const versions = counted.filter((one) => one.name === name).map(({ version }) => version);
  if (versions.length > 1) wrong.push(`${name}: there are ${versions.join(" and ")}; see \`cargo tree -d\``);
}
for (const skip of skipped)
  if (!packages.some((one) => isMeant(skip, one))) console.warn(`${skip}: deny.toml skips it, but it is not there`);

// One registry for all, the one that Cargo.lock was made with.
const registries = new Set(packages.filter(({ source }) => source !== null).map(({ source }) => source));
for (const source of registries)
  if (registries.size > 1 || !source.startsWith("registry+")) wrong.push(`packages come from ${source}`);

// The manifest promises a Rust version; what is tested is this toolchain.
const promised = packages.find(({ name }) => name === "meshlock-cli").rust_version;
const [, used] = execFileSync("rustc", ["--version"], { encoding: "utf8" }).match(/rustc (\d+\.\d+)/);
const [older, newer] = [promised, used].map((version) => Number(version.split(".")[1]));
if (newer < older) wrong.push(`Cargo.toml names Rust ${promised}, and this is ${used}`);
if (newer > older) console.warn(`Cargo.toml names Rust ${promised}, but ${used} is tested: name it, or test with ${promised} too`);

for (const line of wrong) console.error(line);
if (wrong.length > 0) process.exit(1);
console.log(`${packages.length} packages: licences, versions and sources are those of deny.toml; Rust ${used}, promised ${promised}`);
