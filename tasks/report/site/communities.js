// Differences between communities, and refusals by community.

function contrasts(content) {
  const rows = rowsOf(content.contrasts).map((row) => ({ ...row, seen: seenIn(row) }));
  if (!rows.length) return el("p", {}, t("contrasts.none"));
  const signs = rows.filter((row) => row.seen === "shown" || row.seen === "leaning");
  const chosen = { only: "signs", model: "", concern: "" };
  const fits = (row) => ["model", "concern"].every((key) => !chosen[key] || row[key] === chosen[key]);
  const values = (key) => distinct(rows.map((row) => row[key])).sort();
  const count = (seen) => whole(rows.filter((row) => row.seen === seen).length);
  const controls = (change) => {
    const one = (label, options, key, word) =>
      select(t(label), options, chosen[key], change(key), { all: t("all"), word });
    return [
      one("contrasts.which", ["signs"], "only", () => t("contrasts.signs")),
      one("model", values("model"), "model"),
      one("concern", values("concern"), "concern", concern),
    ];
  };
  const counts = { shown: count("shown"), leaning: count("leaning"), untested: count("not estimable"), all: whole(rows.length) };
  return [
    el("p", {}, t("contrasts.read", counts)),
    ...chooser(chosen, () => contrastTable((chosen.only ? signs : rows).filter(fits)), controls),
  ];
}

// What a difference is worth: by the test of the whole family, by its own interval alone, or nothing.
function seenIn(row) {
  if (row.finding === "lower" || row.finding === "higher") return "shown";
  if (row.finding === "not tested" || row.difference_low === null) return "not estimable";
  return row.difference_low > 0 || row.difference_high < 0 ? "leaning" : "no sign";
}

const directionOf = (row) =>
  row.seen === "shown" || row.seen === "leaning" ? (row.difference < 0 ? "lower" : "higher") : row.finding;

const contrastTable = (rows) =>
  table(
    t("contrasts.caption"),
    [
      { ...column("community"), cell: (row) => testsLink(pick(row, BEHIND), name(row.community)) },
      { ...amount("difference"), cell: differenceOf, sort: (row) => Math.abs(row.difference) },
      { ...column("seen", valueWord), cell: (row) => el("span", { class: "unbroken" }, symbol(directionOf(row)), valueWord(row.seen)) },
      column("measure", valueWord),
      column("model", modelName),
      column("requirement"),
      column("language"),
      amount("level", share),
      amount("level_of_others", share, "others"),
      amount("q_value", small, "q"),
      amount("templates"),
    ],
    rows,
  );

const BEHIND = ["model", "requirement", "language", "community"];

const differenceOf = (row) => [
  around(row),
  ` ${signed(row.difference)}`,
  row.difference_low !== null &&
    faint(` (${t("contrasts.range", { low: signed(row.difference_low), high: signed(row.difference_high) })})`),
];

// A dot and its interval to either side of the others' mean; hollow where it cannot be estimated.
function around({ difference, difference_low: low, difference_high: high, seen }) {
  const x = (value) => 50 + 48 * Math.max(-1, Math.min(1, value));
  const kind = seen === "not estimable" ? "hollow" : "dot";
  return scale(
    "around",
    svg("line", { class: "middle", x1: 50, x2: 50, y1: 0, y2: 10 }),
    low !== null && svg("rect", { class: "range", x: x(low), y: 3.5, width: Math.max(x(high) - x(low), 0.6), height: 3 }),
    svg("rect", { class: kind, x: x(difference) - 1.2, y: 1.5, width: 2.4, height: 7 }),
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
