// Something that is done at once when it is wanted, but not too often.

/**
 * @param {() => void} run
 * @param {(callback: () => void) => unknown} pause calls back when it may be done again
 * @returns {() => void} says that it is wanted
 */
export function throttle(run, pause) {
  let wanted = false;
  let resting = false;
  function attempt() {
    if (!wanted || resting) return;
    wanted = false;
    resting = true;
    pause(() => {
      resting = false;
      attempt();
    });
    run();
  }
  return () => {
    wanted = true;
    attempt();
  };
}
