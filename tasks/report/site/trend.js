// Rates over runs, and statistically significant changes.

// `link(row, …children)`: a link to the tests behind a rate.
function trends(rows, link, run = null) {
  const series = [...grouped(rows, (row) => `${row.requirement}\t${row.model}`).values()];
  const changed = rows.filter((row) => row.change === "worse" || row.change === "better");
  const longest = Math.max(0, ...series.map((own) => own.length));
  if (longest < 2) return el("p", {}, t("trend.none"));
  return [
    el("p", {}, t("trend.read")),
    changed.length ? changes(changed) : el("p", {}, t("trend.unchanged")),
    trendTable(series, link, run),
  ];
}

function trendTable(series, link, run) {
  const last = (own) => own[own.length - 1];
  const rate = (own) => link(last(own), share(last(own).rate));
  const columns = [
    { label: t("model"), cell: (own) => modelName(own[0].model), sort: (own) => own[0].model },
    { label: t("requirement"), cell: (own) => name(own[0].requirement), sort: (own) => own[0].requirement },
    { label: t("trend.line"), cell: (own) => line(own, run) },
    { label: t("rate"), cell: rate, sort: (own) => last(own).rate, number: true },
    { label: t("trend.last"), cell: (own) => badge(last(own).change), sort: (own) => last(own).change },
    amount("length", whole, "runs"),
  ];
  return table(t("trend.caption"), columns, series);
}

function changes(rows) {
  const columns = [
    column("started_at", moment, "started"),
    column("change", badge),
    column("model", modelName),
    column("requirement"),
    amount("difference", signed),
    amount("q_value", small, "q"),
    { label: t("run"), cell: (row) => code(row.run_id) },
    { label: t("earlier"), cell: (row) => code(row.earlier_run_id ?? "–") },
  ];
  const newest = [...rows].sort((one, other) => other.started_at.localeCompare(one.started_at));
  return table(t("trend.changes"), columns, newest);
}

// The scale is fixed from 0 to 1, so that a flat line means little change.
function line(own, run) {
  const width = 220;
  const x = (at) => 6 + (own.length < 2 ? 0 : (at * (width - 12)) / (own.length - 1));
  const y = (rate) => 44 - rate * 38;
  const rated = own.filter((row) => row.rate !== null);
  const point = ([row, at]) => `${x(at).toFixed(1)},${y(row.rate).toFixed(1)}`;
  const label = t("trend.label", {
    n: whole(rated.length),
    first: share(rated[0]?.rate ?? null),
    last: share(rated.at(-1)?.rate ?? null),
  });
  return svg(
    "svg",
    { class: "trend", viewBox: `0 0 ${width} 50`, role: "img", "aria-label": label },
    svg("line", { class: "axis", x1: 0, x2: width, y1: y(own[0].tolerance), y2: y(own[0].tolerance) }),
    unbroken(own).map((part) => svg("polyline", { class: "line", points: part.map(point).join(" ") })),
    own.map((row, at) => row.rate !== null && mark(row, x(at), y(row.rate), run)),
  );
}

// Rows with their places, in parts of the same templates and conditions.
function unbroken(own) {
  const parts = [[]];
  own.forEach((row, at) => {
    if (row.breaks_line) parts.push([]);
    if (row.rate !== null) parts.at(-1).push([row, at]);
  });
  return parts;
}

function mark(row, x, y, run) {
  const title = svg("title", {}, `${moment(row.started_at)}: ${share(row.rate)} · ${valueWord(row.change)}`);
  const triangle = { worse: `M${x - 5},${y - 3}h10l-5,8z`, better: `M${x - 5},${y + 3}h10l-5,-8z` }[row.change];
  if (triangle) return svg("path", { class: row.change, d: triangle }, title);
  const kind = row.is_complete ? "dot" : "dot hollow";
  const r = row.run_id === run ? 3.5 : 2;
  return svg("circle", { class: kind, cx: x.toFixed(1), cy: y.toFixed(1), r }, title);
}
