// Comparison of the values of one dimension: languages, constrained and verbose, observational and utopian.

function beside(given, cells, languages) {
  const requirements = distinct(cells.map((row) => row.requirement));
  const chosen = { by: "language", requirement: requirements[0] };
  const place = el("div");
  const draw = () => place.replaceChildren(...strips(cells, languages, chosen));
  const change = (key) => (value) => {
    chosen[key] = value;
    draw();
  };
  draw();
  return [
    el("p", {}, t("beside.read")),
    el(
      "div",
      { class: "choices no-print" },
      select(t("beside.by"), ["language", "input", "reflection"], chosen.by, change("by"), {
        word: (key) => t(key),
      }),
      select(t("requirement"), requirements, chosen.requirement, change("requirement")),
    ),
    place,
  ];
}

function strips(cells, languages, { by, requirement }) {
  const rows = (by === "language" ? languages : cells).filter((row) => row.requirement === requirement);
  const values = distinct(rows.map((row) => row[by])).sort();
  const rest = ["language", "input", "reflection"].filter((key) => key !== by && by !== "language");
  const lines = [...grouped(rows, (row) => [row.model, ...rest.map((key) => row[key])].join("\t")).values()];
  const heads = values.map((value) => el("th", { scope: "col" }, told(value)));
  const made = el(
    "table",
    { class: "strips" },
    el("caption", {}, el("span", {}, t("beside.caption", { requirement: flat(requirement) }))),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("model")), heads)),
    el(
      "tbody",
      {},
      lines.map((own) => stripLine(own, by, values, rest)),
    ),
  );
  const note = by === "language" ? t("beside.language") : t("beside.cells");
  return [region(t("table", { name: t("beside") }), made), el("p", { class: "faint" }, note)];
}

function stripLine(own, by, values, rest) {
  const within = rest.map((key) => told(own[0][key])).join(" · ");
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, modelName(own[0].model), within && el("span", { class: "line faint" }, within)),
    values.map((value) => el("td", {}, strip(own.find((row) => row[by] === value)))),
  );
}

function strip(row) {
  if (!row) return el("span", { class: "faint" }, "·", el("span", { class: "unseen" }, t("grid.absent")));
  const { model, requirement, language, input, reflection } = row;
  return [
    testsLink({ model, requirement, language, input, reflection }, badge(row.decision)),
    " ",
    el("b", {}, share(row.macro_rate)),
    row.interval_low !== null && el("span", { class: "faint" }, ` (${span(row.interval_low, row.interval_high)})`),
    row.macro_rate !== null && interval(row.macro_rate, row.interval_low, row.interval_high, row.tolerance),
    needed(row) && el("span", { class: "faint" }, needed(row)),
  ];
}
