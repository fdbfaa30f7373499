// The grid: model × requirement × language × input × reflection, by distance of the rate from the tolerance.

const FEW = 40;

function grid(given, cells) {
  const requirements = distinct(cells.map((row) => row.requirement));
  const many = distinct(cells.map((row) => `${row.requirement} ${row.model}`)).length > FEW;
  const place = el("div");
  const draw = (chosen) =>
    place.replaceChildren(heat(cells.filter((row) => !chosen || row.requirement === chosen)));
  const chosen = many ? requirements[0] : "";
  draw(chosen);
  return [
    el("p", {}, t("grid.read")),
    steps(),
    el(
      "div",
      { class: "choices no-print" },
      select(t("requirement"), requirements, chosen, draw, { all: t("all") }),
    ),
    place,
  ];
}

function heat(cells) {
  const several = distinct(cells.map((row) => row.requirement)).length > 1;
  const keys = distinct(cells.map(column)).sort();
  const heads = keys.map((key) =>
    el(
      "th",
      { scope: "col" },
      key.split("\t").map((part) => el("span", { class: "line" }, told(part))),
    ),
  );
  const lines = [...grouped(cells, (row) => `${row.requirement}\t${row.model}`)].map(([, own]) =>
    heatLine(own, keys, several),
  );
  const made = el(
    "table",
    { class: "heat" },
    el("caption", {}, el("span", {}, t("grid.caption"))),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, `${t("requirement")} · ${t("model")}`), heads)),
    el("tbody", {}, lines),
  );
  return region(t("table", { name: t("grid") }), roving(made));
}

const column = (row) => [row.language, row.input, row.reflection].join("\t");

function heatLine(own, keys, several) {
  const byKey = new Map(own.map((row) => [column(row), row]));
  const head = el(
    "th",
    { scope: "row" },
    modelName(own[0].model),
    several && el("span", { class: "line faint" }, name(own[0].requirement)),
  );
  return el(
    "tr",
    {},
    head,
    keys.map((key) => heatCell(byKey.get(key))),
  );
}

function heatCell(row) {
  if (!row) return el("td", { class: "absent" }, el("span", { class: "unseen" }, t("grid.absent")), "·");
  const { model, requirement, language, input, reflection } = row;
  const label = [
    told(row.decision),
    share(row.macro_rate),
    span(row.interval_low, row.interval_high),
    needed(row),
  ];
  const link = el(
    "a",
    {
      href: testsAddress({ model, requirement, language, input, reflection }),
      title: label.filter(Boolean).join(" · "),
    },
    symbol(row.decision),
    el("span", { class: "unseen" }, `${told(row.decision)} `),
    row.macro_rate === null ? "–" : number(row.macro_rate * 100),
  );
  return el("td", { class: `step${step(row)}` }, link);
}

// From 1, far below the tolerance, to 5, far above; 0 without a rate.
function step(row) {
  if (row.macro_rate === null) return 0;
  const above = row.macro_rate - row.tolerance;
  if (above < 0) return above < -0.2 ? 1 : above < -0.05 ? 2 : 3;
  return above < (1 - row.tolerance) / 2 ? 4 : 5;
}

const steps = () =>
  el(
    "p",
    { class: "legend" },
    [1, 2, 3, 4, 5, 0].map((at) => [el("span", { class: `swatch step${at}` }, t(`grid.step${at}`)), " "]),
  );
