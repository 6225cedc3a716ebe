// Runs before the first paint, so that the page does not flash in the other theme. Everything else is in modules.
try {
  const theme = localStorage.getItem("meshlock-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the reader's setting counts.
}
