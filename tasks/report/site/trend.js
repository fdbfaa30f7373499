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
    table(
      t("trend.caption"),
      [
        { label: t("model"), cell: (own) => modelName(own[0].model), sort: (own) => own[0].model },
        { label: t("requirement"), cell: (own) => name(own[0].requirement), sort: (own) => own[0].requirement },
        { label: t("trend.line"), cell: (own) => line(own, run) },
        {
          label: t("rate"),
          cell: (own) => link(last(own), share(last(own).point_rate)),
          sort: (own) => last(own).point_rate,
          number: true,
        },
        { label: t("trend.last"), cell: (own) => badge(last(own).change), sort: (own) => last(own).change },
        { label: t("runs"), cell: (own) => whole(own.length), sort: (own) => own.length, number: true },
      ],
      series,
    ),
  ];
}

const last = (own) => own[own.length - 1];

const changes = (rows) =>
  table(
    t("trend.changes"),
    [
      { label: t("started"), cell: (row) => moment(row.started_at), sort: (row) => row.started_at },
      { label: t("change"), cell: (row) => badge(row.change), sort: (row) => row.change },
      { label: t("model"), cell: (row) => modelName(row.model), sort: (row) => row.model },
      { label: t("requirement"), cell: (row) => name(row.requirement), sort: (row) => row.requirement },
      {
        label: t("difference"),
        cell: (row) => signed(row.difference),
        sort: (row) => row.difference,
        number: true,
      },
      { label: t("q"), cell: (row) => small(row.q_value), sort: (row) => row.q_value, number: true },
      { label: t("run"), cell: (row) => code(row.run_id) },
      { label: t("earlier"), cell: (row) => code(row.earlier_run_id ?? "–") },
    ],
    [...rows].sort((one, other) => other.started_at.localeCompare(one.started_at)),
  );

// The scale is fixed from 0 to 1, so that a flat line means little change.
function line(own, run) {
  const width = 220;
  const x = (at) => 6 + (own.length < 2 ? 0 : (at * (width - 12)) / (own.length - 1));
  const y = (rate) => 44 - rate * 38;
  const told = own.filter((row) => row.point_rate !== null);
  const points = own.flatMap((row, at) =>
    row.point_rate === null ? [] : [`${x(at).toFixed(1)},${y(row.point_rate).toFixed(1)}`],
  );
  const label = t("trend.label", {
    n: whole(told.length),
    first: share(told[0]?.point_rate ?? null),
    last: share(told.at(-1)?.point_rate ?? null),
  });
  return svg(
    "svg",
    { class: "trend", viewBox: `0 0 ${width} 50`, role: "img", "aria-label": label },
    svg("line", { class: "axis", x1: 0, x2: width, y1: y(own[0].tolerance), y2: y(own[0].tolerance) }),
    svg("polyline", { class: "line", points: points.join(" ") }),
    own.map((row, at) => row.point_rate !== null && mark(row, x(at), y(row.point_rate), run)),
  );
}

function mark(row, x, y, run) {
  const title = svg("title", {}, `${moment(row.started_at)}: ${share(row.point_rate)} · ${told(row.change)}`);
  const triangle = { worse: `M${x - 5},${y - 3}h10l-5,8z`, better: `M${x - 5},${y + 3}h10l-5,-8z` }[row.change];
  if (triangle) return svg("path", { class: row.change, d: triangle }, title);
  const kind = row.is_complete ? "dot" : "dot hollow";
  return svg(
    "circle",
    { class: kind, cx: x.toFixed(1), cy: y.toFixed(1), r: row.run_id === run ? 3.5 : 2 },
    title,
  );
}
