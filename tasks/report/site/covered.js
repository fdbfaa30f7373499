// Costs, and what was not evaluated.

const costs = (rows) =>
  table(
    t("costs.caption"),
    [
      column("model", modelName),
      amount("requests"),
      amount("reused"),
      amount("failed", whole, "failures"),
      amount("input_tokens", whole, "tokens.in"),
      amount("output_tokens", whole, "tokens.out"),
      { ...amount("cost_usd", whole, "usd"), cell: dollars },
      amount("mean_latency_ms", (value) => whole(value && Math.round(value)), "latency"),
    ],
    rows,
  );

const dollars = (row) => [
  row.cost_usd === null ? t("unknown") : number(row.cost_usd, 4),
  row.requests_without_price > 0 && faintLine(t("unpriced", { n: whole(row.requests_without_price) })),
];

function covered(given, findings, cells) {
  const planned = findings.reduce((sum, row) => sum + row.planned_cases, 0);
  const judged = findings.reduce((sum, row) => sum + (row.judged_cases ?? 0), 0);
  const rate = share(planned ? judged / planned : null);
  const open = cells.filter((row) => row.decision === "not evaluated" || row.errors || row.unreadable || row.unjudged);
  return [
    el("p", {}, t("covered.read", { judged: whole(judged), planned: whole(planned), share: rate })),
    open.length ? openCells(open) : el("p", {}, t("covered.all")),
    failures(rowsOf(given.errors)),
    notPlanned(given.not_planned),
    el("p", { class: "faint" }, t("covered.beyond")),
  ];
}

const openCells = (rows) =>
  table(
    t("covered.caption"),
    [
      column("model", modelName),
      column("requirement"),
      { label: t("cell"), cell: placeOf, sort: cellKey },
      { ...column("decision"), cell: (row) => testsLink(pick(row, CELL), badge(row.decision)) },
      { label: t("why"), cell: why },
      {
        label: t("judged"),
        cell: (row) => `${whole(row.judged_cases)} / ${whole(row.planned_cases)}`,
        sort: (row) => row.judged_cases / row.planned_cases,
        number: true,
      },
    ],
    rows,
  );

function why(row) {
  const reasons = [
    row.decision === "not evaluated" &&
      row.refusal_rate > row.max_refusals &&
      t("why.refusals", { share: share(row.refusal_rate), most: share(row.max_refusals) }),
    row.unreadable && counted(row.unreadable, "tests.unreadable"),
    row.errors && counted(row.errors, "tests.errors"),
    row.unjudged && counted(row.unjudged, "tests.unjudged"),
  ].filter(Boolean);
  return reasons.join(" · ") || t("why.nothing");
}

const failures = (rows) =>
  rows.length > 0 &&
  table(
    t("failures.caption"),
    [column("model", modelName), column("error_class", code, "failures.kind"), amount("failures")],
    rows,
  );

const notPlanned = (rows) =>
  rows.length > 0 && [
    el("h3", {}, t("not.planned")),
    el("ul", {}, rows.map((row) => el("li", {}, name(row.requirement), `: ${placeOf(row)}`))),
  ];
