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
