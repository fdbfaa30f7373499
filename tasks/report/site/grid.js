// The grid: model × requirement × language × input × reflection, by distance of the rate from the tolerance.

const FEW = 40;

function grid(cells) {
  const requirements = distinct(cells.map((row) => row.requirement));
  const many = distinct(cells.map((row) => `${row.requirement} ${row.model}`)).length > FEW;
  const chosen = { requirement: many ? requirements[0] : "" };
  const draw = () => heat(cells.filter((row) => !chosen.requirement || row.requirement === chosen.requirement));
  const controls = (change) =>
    select(t("requirement"), requirements, chosen.requirement, change("requirement"), { all: t("all") });
  return [el("p", {}, t("grid.read")), steps(), ...chooser(chosen, draw, controls)];
}

function heat(cells) {
  const several = distinct(cells.map((row) => row.requirement)).length > 1;
  const keys = distinct(cells.map(cellKey)).sort();
  const parts = (key) => key.split("\t").map((part) => el("span", { class: "line" }, valueWord(part)));
  const lines = [...grouped(cells, (row) => `${row.requirement}\t${row.model}`).values()];
  const heads = [`${t("requirement")} · ${t("model")}`, ...keys.map(parts)];
  const made = plainTable("heat", t("grid.caption"), heads, lines.map((own) => heatLine(own, keys, several)));
  return region(t("table", { name: t("grid") }), roving(made));
}

const CELL = ["model", "requirement", "language", "input", "reflection"];

const cellKey = (row) => [row.language, row.input, row.reflection].join("\t");

const placeOf = (row) => [row.language, valueWord(row.input), valueWord(row.reflection)].join(" · ");

function heatLine(own, keys, several) {
  const byKey = new Map(own.map((row) => [cellKey(row), row]));
  const head = rowHead(modelName(own[0].model), several && faintLine(name(own[0].requirement)));
  return el("tr", {}, head, keys.map((key) => heatCell(byKey.get(key))));
}

function heatCell(row) {
  if (!row) return el("td", { class: "absent" }, unseen(t("grid.absent")), "·");
  const interval = span(row.interval_low, row.interval_high);
  const label = [valueWord(row.decision), share(row.rate), interval, needed(row)];
  const link = el(
    "a",
    { href: testsAddress(pick(row, CELL)), title: label.filter(Boolean).join(" · ") },
    symbol(row.decision),
    unseen(`${valueWord(row.decision)} `),
    row.rate === null ? "–" : number(row.rate * 100),
  );
  return el("td", { class: `step${step(row)}` }, link);
}

// From 1, far below the tolerance, to 5, far above; 0 without a rate.
function step(row) {
  if (row.rate === null) return 0;
  const above = row.rate - row.tolerance;
  if (above < 0) return above < -0.2 ? 1 : above < -0.05 ? 2 : 3;
  return above < (1 - row.tolerance) / 2 ? 4 : 5;
}

const steps = () =>
  el(
    "p",
    { class: "legend" },
    [1, 2, 3, 4, 5, 0].map((at) => [el("span", { class: `swatch step${at}` }, t(`grid.step${at}`)), " "]),
  );
