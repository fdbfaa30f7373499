// Models by concern: decisions, their certainty, and what prevents a decision.

const ORDER = ["met", "undecided", "not evaluated", "not met"];

// `link(row, …children)`: a link to the tests behind a finding.
function leaderboard(findings, link) {
  const concerns = distinct(findings.map((row) => row.concern));
  const models = [...grouped(findings, (row) => row.model)].sort(([, one], [, other]) => rank(one) - rank(other));
  const cell = (own, id) =>
    el("td", {}, own.filter((row) => row.concern === id).map((row) => finding(row, own, link)));
  const line = ([model, own]) => {
    const head = rowHead(modelName(model), el("span", { class: "tally" }, tally(own)));
    return el("tr", {}, head, concerns.map((id) => cell(own, id)));
  };
  const heads = [t("model"), ...concerns.map(concern)];
  return [
    legend("met", "not met", "undecided", "not evaluated"),
    region(t("table", { name: t("board") }), plainTable("board", t("board.caption"), heads, models.map(line))),
    el("p", { class: "faint" }, t("board.read")),
  ];
}

// Fewest not met first, then most met, then the highest mean rate.
function rank(own) {
  const many = (decision) => own.filter((row) => row.decision === decision).length / own.length;
  const rates = own.map((row) => row.rate).filter((rate) => rate !== null);
  const mean = rates.length ? rates.reduce((sum, rate) => sum + rate, 0) / rates.length : 0;
  return many("not met") * 1e4 + many("not evaluated") * 1e3 - many("met") * 100 - mean;
}

const tally = (own) =>
  ORDER.map((decision) => [decision, own.filter((row) => row.decision === decision).length])
    .filter(([, count]) => count)
    .map(([decision, count]) => {
      const kind = { class: CLASSES[decision] ?? "none" };
      return el("span", kind, symbol(decision), `${count} `, unseen(valueWord(decision), " "));
    });

function finding(row, own, link) {
  const several = own.filter((one) => one.concern === row.concern).length > 1;
  const { model, requirement, decision } = row;
  return el(
    "div",
    { class: "finding", "data-model": model, "data-requirement": requirement, "data-decision": decision },
    several && el("p", { class: "faint" }, name(requirement)),
    link(row, badge(decision), row.rate !== null && rate(row)),
    row.rate !== null && interval(row.rate, row.interval_low, row.interval_high, row.tolerance),
    behind(row).map((part) => el("p", { class: "faint" }, part)),
  );
}

const rate = (row) =>
  el(
    "span",
    { class: "rate line" },
    el("b", {}, share(row.rate)),
    row.interval_low !== null && [
      " ",
      el("span", { class: "unbroken" }, `(${span(row.interval_low, row.interval_high)})`),
    ],
    faint(` ${row.worst_language ?? ""}`),
  );

function behind(row) {
  const counts = { passed: whole(row.measured_passed), measured: whole(row.measured) };
  return [
    row.measured > 0 && t(`point.rule.${row.measure}`, { ...counts, sign: SYMBOLS[row.point_finding] }),
    row.not_evaluated_because,
    row.judge_overturned > 0 &&
      t("judge.overturned", { overturned: whole(row.judge_overturned), decided: whole(row.judge_decided) }),
    needed(row),
    row.refusal_rate >= 0.05 && t("refused.share", { share: share(row.refusal_rate) }),
    !row.is_complete && t("incomplete", { share: share(row.coverage) }),
  ].filter(Boolean);
}
