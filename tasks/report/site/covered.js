// Costs, and what was not evaluated.

function costs(rows) {
  return table(
    t("costs.caption"),
    [
      { label: t("model"), cell: (row) => modelName(row.model), sort: (row) => row.model },
      { label: t("requests"), cell: (row) => whole(row.requests), sort: (row) => row.requests, number: true },
      { label: t("reused"), cell: (row) => whole(row.reused), sort: (row) => row.reused, number: true },
      { label: t("failures"), cell: (row) => whole(row.failed), sort: (row) => row.failed, number: true },
      {
        label: t("tokens.in"),
        cell: (row) => whole(row.input_tokens),
        sort: (row) => row.input_tokens,
        number: true,
      },
      {
        label: t("tokens.out"),
        cell: (row) => whole(row.output_tokens),
        sort: (row) => row.output_tokens,
        number: true,
      },
      { label: t("usd"), cell: (row) => dollars(row), sort: (row) => row.cost_usd, number: true },
      {
        label: t("latency"),
        cell: (row) => whole(row.mean_latency_ms && Math.round(row.mean_latency_ms)),
        sort: (row) => row.mean_latency_ms,
        number: true,
      },
    ],
    rows,
  );
}

const dollars = (row) => [
  row.cost_usd === null ? t("unknown") : number(row.cost_usd, 4),
  row.requests_without_price > 0 &&
    el("span", { class: "line faint" }, t("unpriced", { n: whole(row.requests_without_price) })),
];

function covered(given, findings, cells) {
  const planned = findings.reduce((sum, row) => sum + row.planned_cases, 0);
  const judged = findings.reduce((sum, row) => sum + (row.judged_cases ?? 0), 0);
  const open = cells.filter(
    (row) => row.decision === "not evaluated" || row.errors || row.unreadable || row.unjudged,
  );
  return [
    el(
      "p",
      {},
      t("covered.read", {
        judged: whole(judged),
        planned: whole(planned),
        share: share(planned ? judged / planned : null),
      }),
    ),
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
      { label: t("model"), cell: (row) => modelName(row.model), sort: (row) => row.model },
      { label: t("requirement"), cell: (row) => name(row.requirement), sort: (row) => row.requirement },
      {
        label: t("cell"),
        cell: (row) => [row.language, told(row.input), told(row.reflection)].join(" · "),
        sort: column,
      },
      {
        label: t("decision"),
        cell: (row) => testsLink(inCell(row), badge(row.decision)),
        sort: (row) => row.decision,
      },
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

const inCell = ({ model, requirement, language, input, reflection }) => ({
  model,
  requirement,
  language,
  input,
  reflection,
});

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
    [
      { label: t("model"), cell: (row) => modelName(row.model), sort: (row) => row.model },
      { label: t("failures.kind"), cell: (row) => code(row.error_class), sort: (row) => row.error_class },
      { label: t("failures"), cell: (row) => whole(row.failures), sort: (row) => row.failures, number: true },
    ],
    rows,
  );

const notPlanned = (rows) =>
  rows.length > 0 && [
    el("h3", {}, t("not.planned")),
    el(
      "ul",
      {},
      rows.map((row) =>
        el(
          "li",
          {},
          name(row.requirement),
          `: ${[row.language, told(row.input), told(row.reflection)].join(" · ")}`,
        ),
      ),
    ),
  ];
