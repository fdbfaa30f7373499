// Comparison of the values of one dimension: languages, constrained and verbose, observational and utopian.

const DIMENSIONS = ["language", "input", "reflection"];

function dimensions(cells, languages) {
  const requirements = distinct(cells.map((row) => row.requirement));
  const chosen = { by: "language", requirement: requirements[0] };
  const controls = (change) => [
    select(t("beside.by"), DIMENSIONS, chosen.by, change("by"), { word: (key) => t(key) }),
    select(t("requirement"), requirements, chosen.requirement, change("requirement")),
  ];
  return [el("p", {}, t("beside.read")), ...chooser(chosen, () => strips(cells, languages, chosen), controls)];
}

function strips(cells, languages, { by, requirement }) {
  const rows = (by === "language" ? languages : cells).filter((row) => row.requirement === requirement);
  const values = distinct(rows.map((row) => row[by])).sort();
  const rest = DIMENSIONS.filter((key) => key !== by && by !== "language");
  const lines = [...grouped(rows, (row) => [row.model, ...rest.map((key) => row[key])].join("\t")).values()];
  const heads = [t("model"), ...values.map(valueWord)];
  const caption = t("beside.caption", { requirement: flat(requirement) });
  const made = plainTable("strips", caption, heads, lines.map((own) => stripLine(own, by, values, rest)));
  const note = by === "language" ? t("beside.language") : t("beside.cells");
  return [region(t("table", { name: t("beside") }), made), el("p", { class: "faint" }, note)];
}

function stripLine(own, by, values, rest) {
  const within = rest.map((key) => valueWord(own[0][key])).join(" · ");
  const strips = values.map((value) => el("td", {}, strip(own.find((row) => row[by] === value))));
  return el("tr", {}, rowHead(modelName(own[0].model), within && faintLine(within)), strips);
}

function strip(row) {
  if (!row) return faint("·", unseen(t("grid.absent")));
  return [
    testsLink(pick(row, CELL), badge(row.decision)),
    " ",
    el("b", {}, share(row.rate)),
    row.interval_low !== null && faint(` (${span(row.interval_low, row.interval_high)})`),
    row.rate !== null && interval(row.rate, row.interval_low, row.interval_high, row.tolerance),
    needed(row) && faint(needed(row)),
  ];
}
