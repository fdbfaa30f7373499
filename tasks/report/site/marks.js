// Marks of decisions: always a symbol and a word in addition to the colour.

// SIGNS and TONES are those of the terminal.
const tone = (value) => TONES[value] || "faint";

const symbol = (value) => el("span", { class: "symbol", "aria-hidden": "true" }, SIGNS[value] ?? "–");

const badge = (value) => el("span", { class: `badge ${tone(value)}` }, symbol(value), valueWord(value));

// A drawing of 100 × 10 units next to the number that it shows.
const scale = (kind, ...children) => {
  const frame = { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" };
  return svg("svg", { class: kind, ...frame }, ...children);
};

// An interval on the scale from 0 to 1, its centre, and the tolerance as a dashed line.
function interval(middle, low, high, tolerance) {
  const at = (value) => (100 * Math.min(Math.max(value, 0), 1)).toFixed(2);
  const line = (kind, x1, x2, y1, y2) => svg("line", { class: kind, x1, x2, y1, y2 });
  const bar = (kind, x, y, width, height) => svg("rect", { class: kind, x, y, width, height });
  return scale(
    "interval",
    line("base", 0, 100, 5, 5),
    low !== null && bar("range", at(low), 2.5, Math.max(at(high) - at(low), 0.6), 5),
    tolerance !== null && line("axis", at(tolerance), at(tolerance), 0, 10),
    middle !== null && bar("point", Math.min(Math.max(at(middle) - 0.6, 0), 98.8), 0.5, 1.2, 9),
  );
}

const testsAddress = (asked) => {
  const given = Object.entries(asked).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `#/tests?${new URLSearchParams(given)}`;
};

const testsLink = (asked, ...children) => el("a", { href: testsAddress(asked) }, ...children);

// Why there is no decision yet, if more templates would allow one.
const MOST_TEMPLATES = 1000;
const needed = (row) =>
  row.decision === "undecided" && row.templates_needed !== null
  && (row.templates_needed > MOST_TEMPLATES ? t("needs.none") : t("needs", { n: whole(row.templates_needed) }));
