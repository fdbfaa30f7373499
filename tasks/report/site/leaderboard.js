// Models by concern: decisions, their certainty, and what prevents a decision.

const ORDER = { met: 0, undecided: 1, "not evaluated": 2, "not met": 3 };

// `link(row, …children)`: a link to the tests behind a finding.
function leaderboard(findings, link) {
  const concerns = distinct(findings.map((row) => row.concern));
  const models = [...grouped(findings, (row) => row.model)].sort(([, one], [, other]) => rank(one) - rank(other));
  const heads = concerns.map((id) => el("th", { scope: "col" }, concern(id)));
  const line = ([model, own]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, modelName(model), el("span", { class: "tally" }, tally(own))),
      concerns.map((id) =>
        el(
          "td",
          {},
          own.filter((row) => row.concern === id).map((row) => finding(row, own, link)),
        ),
      ),
    );
  const made = el(
    "table",
    { class: "board" },
    el("caption", {}, el("span", {}, t("board.caption"))),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("model")), heads)),
    el("tbody", {}, models.map(line)),
  );
  return [
    legend("met", "not met", "undecided", "not evaluated"),
    region(t("table", { name: t("board") }), made),
    el("p", { class: "faint" }, t("board.read")),
  ];
}

// Fewest not met first, then most met, then the highest mean rate.
function rank(own) {
  const many = (decision) => own.filter((row) => row.decision === decision).length / own.length;
  const rates = own.map((row) => row.macro_rate).filter((rate) => rate !== null);
  const mean = rates.length ? rates.reduce((sum, rate) => sum + rate, 0) / rates.length : 0;
  return many("not met") * 1e4 + many("not evaluated") * 1e3 - many("met") * 100 - mean;
}

const tally = (own) =>
  Object.keys(ORDER)
    .map((decision) => [decision, own.filter((row) => row.decision === decision).length])
    .filter(([, count]) => count)
    .map(([decision, count]) =>
      el(
        "span",
        { class: CLASSES[decision] ?? "none" },
        symbol(decision),
        `${count} `,
        el("span", { class: "unseen" }, told(decision), " "),
      ),
    );

function finding(row, own, link) {
  const several = own.filter((one) => one.concern === row.concern).length > 1;
  return el(
    "div",
    {
      class: "finding",
      "data-model": row.model,
      "data-requirement": row.requirement,
      "data-decision": row.decision,
    },
    several && el("p", { class: "faint" }, name(row.requirement)),
    link(row, badge(row.decision), row.macro_rate !== null && rate(row)),
    row.macro_rate !== null && interval(row.macro_rate, row.interval_low, row.interval_high, row.tolerance),
    behind(row).map((part) => el("p", { class: "faint" }, part)),
  );
}

const rate = (row) =>
  el(
    "span",
    { class: "rate line" },
    el("b", {}, share(row.macro_rate)),
    row.interval_low !== null && [
      " ",
      el("span", { class: "unbroken" }, `(${span(row.interval_low, row.interval_high)})`),
    ],
    el("span", { class: "faint" }, ` ${row.worst_language ?? ""}`),
  );

function behind(row) {
  return [
    row.counted_tests > 0 &&
      t("point.rule", {
        passed: whole(row.counted_passed),
        tests: whole(row.counted_tests),
        sign: SYMBOLS[row.point_finding],
      }),
    needed(row),
    row.refusal_rate >= 0.05 && t("refused.share", { share: share(row.refusal_rate) }),
    !row.is_complete && t("incomplete", { share: share(row.coverage) }),
  ].filter(Boolean);
}
