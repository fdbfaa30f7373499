// Differences between communities, and refusals by community.

function contrasts(content) {
  const rows = rowsOf(content.contrasts);
  if (!rows.length) return el("p", {}, t("contrasts.none"));
  const shown = rows.filter((row) => row.finding === "lower" || row.finding === "higher");
  const untested = rows.filter((row) => row.finding === "not tested");
  const chosen = { only: "shown", model: "", concern: "" };
  const fits = (row) => ["model", "concern"].every((key) => !chosen[key] || row[key] === chosen[key]);
  const values = (key) => distinct(rows.map((row) => row[key])).sort();
  const controls = (change) => {
    const one = (label, options, key, word) =>
      select(t(label), options, chosen[key], change(key), { all: t("all"), word });
    return [
      one("contrasts.which", ["shown"], "only", () => t("contrasts.shown")),
      one("model", values("model"), "model"),
      one("concern", values("concern"), "concern", concern),
    ];
  };
  return [
    el("p", {}, t("contrasts.read", { shown: whole(shown.length), all: whole(rows.length), untested: whole(untested.length) })),
    ...chooser(chosen, () => contrastTable((chosen.only ? shown : rows).filter(fits)), controls),
  ];
}

const contrastTable = (rows) =>
  table(
    t("contrasts.caption"),
    [
      { ...column("community"), cell: (row) => testsLink(pick(row, BEHIND), name(row.community)) },
      column("model", modelName),
      column("requirement"),
      column("language"),
      column("measure", valueWord),
      amount("level", share),
      amount("level_of_others", share, "others"),
      { ...amount("difference"), cell: differenceOf, sort: (row) => Math.abs(row.difference) },
      amount("q_value", small, "q"),
      column("finding", badge),
      amount("templates"),
    ],
    rows,
  );

const BEHIND = ["model", "requirement", "language", "community"];

const differenceOf = (row) => [
  gap(row),
  ` ${signed(row.difference)}`,
  row.difference_low !== null &&
    faint(` (${t("contrasts.range", { low: signed(row.difference_low), high: signed(row.difference_high) })})`),
];

// A bar to either side of zero; the number is shown next to it.
function gap({ difference }) {
  const width = Math.min(Math.abs(difference), 1) * 50;
  const [kind, x] = difference < 0 ? ["below", 50 - width] : ["above", 50];
  return scale(
    "gap",
    svg("rect", { class: kind, x, y: 2, width, height: 6 }),
    svg("line", { class: "middle", x1: 50, x2: 50, y1: 0, y2: 10 }),
  );
}

function refusals(content) {
  const rows = rowsOf(content.refusals);
  const refused = rows.filter((row) => row.refused > 0);
  if (!refused.length)
    return el("p", {}, t("refusals.none", { n: whole(rows.reduce((sum, row) => sum + row.replies, 0)) }));
  const community = (row) => (row.community ? name(row.community) : t("nobody"));
  const behind = (row) => ({ ...pick(row, ["model", "concern", "community"]), reply: "refused" });
  const columns = [
    { ...column("community"), cell: (row) => testsLink(behind(row), community(row)) },
    column("concern", concern),
    column("model", modelName),
    amount("replies"),
    amount("refused"),
    amount("refusal_rate", (rate) => [interval(rate, 0, rate, null), share(rate)], "rate"),
  ];
  const ordered = [...refused].sort(
    (one, other) => other.refusal_rate - one.refusal_rate || other.refused - one.refused,
  );
  return [el("p", {}, t("refusals.read")), table(t("refusals.caption"), columns, ordered)];
}
