// Differences between communities, and refusals by community.

function contrasts(content) {
  const rows = rowsOf(content.contrasts);
  const shown = rows.filter((row) => row.finding === "lower" || row.finding === "higher");
  if (!rows.length) return el("p", {}, t("contrasts.none"));
  const place = el("div");
  const chosen = { only: "shown", model: "", concern: "" };
  const draw = () =>
    place.replaceChildren(contrastTable((chosen.only ? shown : rows).filter((row) => fits(row, chosen))));
  const change = (key) => (value) => {
    chosen[key] = value;
    draw();
  };
  draw();
  return [
    el("p", {}, t("contrasts.read", { shown: whole(shown.length), all: whole(rows.length) })),
    el(
      "div",
      { class: "choices no-print" },
      select(t("contrasts.which"), ["shown"], chosen.only, change("only"), {
        all: t("all"),
        word: () => t("contrasts.shown"),
      }),
      select(t("model"), distinct(rows.map((row) => row.model)).sort(), "", change("model"), { all: t("all") }),
      select(t("concern"), distinct(rows.map((row) => row.concern)).sort(), "", change("concern"), {
        all: t("all"),
        word: concern,
      }),
    ),
    place,
  ];
}

const fits = (row, chosen) =>
  (!chosen.model || row.model === chosen.model) && (!chosen.concern || row.concern === chosen.concern);

const contrastTable = (rows) =>
  table(
    t("contrasts.caption"),
    [
      {
        label: t("community"),
        cell: (row) => testsLink(behindContrast(row), name(row.community)),
        sort: (row) => row.community,
      },
      { label: t("model"), cell: (row) => modelName(row.model), sort: (row) => row.model },
      { label: t("requirement"), cell: (row) => name(row.requirement), sort: (row) => row.requirement },
      { label: t("language"), cell: (row) => name(row.language), sort: (row) => row.language },
      { label: t("measure"), cell: (row) => told(row.measure), sort: (row) => row.measure },
      { label: t("level"), cell: (row) => share(row.level), sort: (row) => row.level, number: true },
      {
        label: t("others"),
        cell: (row) => share(row.level_of_others),
        sort: (row) => row.level_of_others,
        number: true,
      },
      {
        label: t("difference"),
        cell: (row) => [
          gap(row),
          ` ${signed(row.difference)}`,
          row.difference_low !== null &&
            el("span", { class: "faint" }, ` (${apart(row)})`),
        ],
        sort: (row) => Math.abs(row.difference),
        number: true,
      },
      { label: t("q"), cell: (row) => small(row.q_value), sort: (row) => row.q_value, number: true },
      { label: t("finding"), cell: (row) => badge(row.finding), sort: (row) => row.finding },
      { label: t("templates"), cell: (row) => whole(row.templates), sort: (row) => row.templates, number: true },
    ],
    rows,
  );

const apart = (row) =>
  t("contrasts.range", { low: signed(row.difference_low), high: signed(row.difference_high) });

const behindContrast = ({ model, requirement, language, community }) => ({
  model,
  requirement,
  language,
  community,
});

// A bar to either side of zero; the number is shown next to it.
function gap(row) {
  const width = Math.min(Math.abs(row.difference), 1) * 50;
  return svg(
    "svg",
    {
      class: "gap",
      viewBox: "0 0 100 10",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      focusable: "false",
    },
    svg("rect", {
      class: row.difference < 0 ? "below" : "above",
      x: row.difference < 0 ? 50 - width : 50,
      y: 2,
      width,
      height: 6,
    }),
    svg("line", { class: "middle", x1: 50, x2: 50, y1: 0, y2: 10 }),
  );
}

function refusals(content) {
  const rows = rowsOf(content.refusals);
  const refused = rows.filter((row) => row.refused > 0);
  if (!refused.length)
    return el("p", {}, t("refusals.none", { n: whole(rows.reduce((sum, row) => sum + row.replies, 0)) }));
  const columns = [
    {
      label: t("community"),
      cell: (row) => testsLink(behindRefusal(row), row.community ? name(row.community) : t("nobody")),
      sort: (row) => row.community,
    },
    { label: t("concern"), cell: (row) => concern(row.concern), sort: (row) => row.concern },
    { label: t("model"), cell: (row) => modelName(row.model), sort: (row) => row.model },
    { label: t("replies"), cell: (row) => whole(row.replies), sort: (row) => row.replies, number: true },
    { label: t("refused"), cell: (row) => whole(row.refused), sort: (row) => row.refused, number: true },
    {
      label: t("rate"),
      cell: (row) => [interval(row.refusal_rate, 0, row.refusal_rate, null), share(row.refusal_rate)],
      sort: (row) => row.refusal_rate,
      number: true,
    },
  ];
  const ordered = [...refused].sort(
    (one, other) => other.refusal_rate - one.refusal_rate || other.refused - one.refused,
  );
  return [el("p", {}, t("refusals.read")), table(t("refusals.caption"), columns, ordered)];
}

const behindRefusal = ({ model, concern, community }) => ({ model, concern, community, reply: "refused" });
