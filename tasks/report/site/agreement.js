// Agreement of oracles, judge models and people on the same replies.

const SCOPES = ["all", "concern", "language", "model", "concern × language × model"];

function agreement(content, run) {
  const rows = rowsOf(content.agreement);
  if (!rows.length) return el("p", {}, `${t("agreement.none")} `, code(`biasgrid review ${run.run_id}`));
  const inScope = (scope) => rows.filter((row) => row.scope === scope);
  const finer = SCOPES.slice(1).filter((scope) => inScope(scope).length > inScope("all").length);
  const [choices, place] = chooser(
    { scope: "all" },
    ({ scope }) => agreementTable(inScope(scope), scope),
    (change) => select(t("agreement.by"), ["all", ...finer], "all", change("scope"), { word: scopeWord }),
  );
  return [
    el("p", {}, t("agreement.read")),
    finer.length > 0 && choices,
    el("div", { class: "agreement" }, place),
    el("dl", { class: "requirements" }, agreementTerms()),
  ];
}

const scopeWord = (scope) =>
  scope === "all" ? t("agreement.all") : scope.split(" × ").map((part) => t(part)).join(" × ");

const agreementTerms = () =>
  [
    [t("sensitivity"), t("sensitivity.means")],
    [t("specificity"), t("specificity.means")],
    [t("kappa.and.ac1"), t("kappa.means")],
    [t("corrected"), t("corrected.means")],
  ].map(([term, means]) => [el("dt", {}, term), el("dd", {}, el("p", {}, means))]);

function agreementTable(rows, scope) {
  const about = {
    label: t("agreement.about"),
    cell: (row) => aboutOf(row, scope),
    sort: (row) => [row.concern, row.language, row.model].join(" "),
  };
  const who = {
    label: t("agreement.who"),
    cell: (row) => [
      assessor(row.assessor_kind, row.assessor),
      faintLine(`${t("agreement.measured")} `, assessor(row.reference_kind, row.reference)),
    ],
    sort: (row) => `${row.assessor} ${row.reference}`,
  };
  const columns = [
    who,
    ...(scope === "all" ? [] : [about]),
    { ...amount("n", whole, "agreement.replies"), cell: repliesJudged },
    measured("agreement.agree", "observed_agreement", share),
    measured("sensitivity", "sensitivity", share),
    measured("specificity", "specificity", share),
    measured("kappa", "cohens_kappa", coefficient),
    measured("ac1", "gwets_ac1", coefficient),
    measured("agreement.passes", "raw_pass_rate", share),
    measured("corrected", "corrected_rate", share),
  ];
  return table(t("agreement.caption"), columns, rows);
}

const ASSESSORS = {
  oracle: () => t("agreement.oracle"),
  model: (one) => [`${t("agreement.judge")} `, modelName(one)],
};

const assessor = (kind, one) => (ASSESSORS[kind] ?? name)(one);

const aboutOf = (row, scope) =>
  scope
    .split(" × ")
    .map((part) => el("span", { class: "line" }, part === "concern" ? concern(row[part]) : name(row[part])));

// A numeric column, with its interval if it has one.
const measured = (label, key, show) => ({
  ...amount(key, show, label),
  cell: (row) => [show(row[key]), between(row[`${key}_low`] ?? null, row[`${key}_high`] ?? null, show)],
});

const between = (low, high, show) =>
  low !== null && faintLine(t("agreement.range", { low: show(low), high: show(high) }));

const coefficient = (value) => (value === null ? "–" : number(value, 2).replace("-", "−"));

function repliesJudged(row) {
  const silent = [
    ["skipped", row.assessor_skipped],
    ["refused", row.assessor_refused],
    ["unreadable", row.assessor_unreadable],
    ["failed", row.assessor_failed],
    ["reference", row.reference_silent],
  ].filter(([, count]) => count);
  const lines = silent.map(([why, count]) => t(`silent.${why}`, { n: whole(count) }));
  const asked = row.n < row.asked && t("agreement.of", { n: whole(row.asked) });
  return [whole(row.n), [asked, ...lines].filter(Boolean).map((text) => faintLine(text))];
}
