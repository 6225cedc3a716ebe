// Colours of the picture: those of the page, read from its custom properties.

/** Names of the custom properties with what is used where the page has none. */
const DEFAULTS = {
  ink: ["#1d2733", "#e6eaf0"],
  muted: ["#667585", "#93a1b0"],
  ground: ["#ffffff", "#14181d"],
  panel: ["#f4f6f8", "#1d232a"],
  line: ["#c3ccd6", "#3d4853"],
  accent: ["#0b62b0", "#63b0f5"],
  token: ["#d98e00", "#ffc34d"],
  // Where the token shines: brighter than the colour of its ring, which must be seen on white.
  glow: ["#f5a500", "#ffc34d"],
  alarm: ["#c22f2f", "#ff6b6b"],
  good: ["#0c7d5c", "#3dc79a"],
  // Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
  s0: ["#0072b2", "#56b4e9"],
  s1: ["#e69f00", "#e69f00"],
  s2: ["#009e73", "#2fc79b"],
  s3: ["#cc79a7", "#dd94bb"],
  s4: ["#56b4e9", "#8ccbf2"],
  s5: ["#d55e00", "#f08a3c"],
  s6: ["#b8a800", "#f0e442"],
  s7: ["#4d4d4d", "#bbbbbb"],
};

/** @typedef {Record<keyof DEFAULTS_, string> & { dark: boolean }} Theme */
/** @typedef {typeof DEFAULTS} DEFAULTS_ */

/**
 * @param {HTMLElement} element
 * @returns {Theme}
 */
export function readTheme(element) {
  const style = getComputedStyle(element);
  const dark =
    darkness(style.getPropertyValue("--ground").trim()) ?? matchMedia("(prefers-color-scheme: dark)").matches;
  /** @type {Record<string, string | boolean>} */
  const theme = { dark };
  for (const [name, [light, night]] of Object.entries(DEFAULTS)) {
    theme[name] = style.getPropertyValue(`--${name}`).trim() || (dark ? night : light);
  }
  return /** @type {Theme} */ (theme);
}

/**
 * Calls back when the theme of the page or of the system changes.
 * @param {() => void} changed
 */
export function watchTheme(changed) {
  document.addEventListener("themechange", changed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

/**
 * The colour of a session; requests without one have the colour of all that is usual.
 * @param {Theme} theme
 * @param {number | null} session
 */
export function sessionColour(theme, session) {
  return theme[sessionPaint(session)];
}

/**
 * The name of that colour, also of the custom property of the page. Being inside has this colour wherever it is shown.
 * @param {number | null} session
 * @returns {keyof DEFAULTS_}
 */
export function sessionPaint(session) {
  return session === null ? "accent" : /** @type {keyof DEFAULTS_} */ (`s${Math.floor(telling(session)) % 8}`);
}

/**
 * A session in a few signs.
 * @param {number} session
 */
export function sessionLabel(session) {
  return session > LARGE ? `S${telling(session).toString(16).slice(-3)}` : `S${session}`;
}

/** Sessions of nodes are hashes of 63 bits. The last of them are lost in JavaScript, so the first ones must tell. */
const LARGE = 2 ** 32;

/** @param {number} session */
function telling(session) {
  return session > LARGE ? Math.floor(session / LARGE) : Math.abs(session);
}

/**
 * What can be read on a colour: white or nearly black.
 * @param {string} colour
 */
export function inkOn(colour) {
  return (darkness(colour) ?? true) ? "#ffffff" : "#11161c";
}

/**
 * Whether a colour is dark; null if it is not written as #rgb or #rrggbb.
 * @param {string} colour
 */
function darkness(colour) {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(colour)?.[1];
  if (!hex) return null;
  const wide = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const [r, g, b] = [0, 2, 4].map((at) => Number.parseInt(wide.slice(at, at + 2), 16) / 255);
  return 0.299 * r + 0.587 * g + 0.114 * b < 0.6;
}
