// The report of one run.

// Parts of the first view: the board and the worst examples.
const FIRST = 2;

const withCells = (build) => later("cells", (content) => build(rowsOf(content.cells), rowsOf(content.languages)));

function runPage(given) {
  const findings = rowsOf(given.findings);
  const link = ({ model, requirement, failed }, ...children) =>
    testsLink({ model, requirement, outcome: failed > 0 ? "failed" : null }, ...children);
  const usd = new Map(rowsOf(given.costs).map((row) => [row.model, row.requests_without_price ? null : row.cost_usd]));
  const sections = {
    board: () => board(given.answer.models, findings, link, { usd, choose: twoModels(given.answer.models) }),
    examples: () => examples(given),
    contrasts: () => later("communities", contrasts),
    sure: () => sure(findings),
    agreement: () => later("agreement", (content) => agreement(content, given.run)),
    covered: () => withCells((cells) => covered(given, findings, cells)),
    refusals: () => later("communities", refusals),
    trend: () => later("trend", (content) => trends(rowsOf(content.trend), link, given.run.run_id)),
  };
  if (given.alone) delete sections.trend;
  const folds = {
    cells: () =>
      withCells((cells, languages) => [
        section("grid", () => grid(cells)),
        section("beside", () => dimensions(cells, languages)),
      ]),
    method: () => [
      section("costs", () => costs(rowsOf(given.costs))),
      section("requirements", () => requirementList(given.run, findings)),
      facts(given, findings),
    ],
  };
  const views = {
    tests: () => testsView(given),
    compare: () => compareView(given, findings),
    "": () => [
      answerView(given),
      Object.entries(sections).map(([id, build], at) => section(id, at < FIRST ? build : () => afterwards(build))),
      Object.entries(folds).map(([id, build]) => fold(id, build)),
    ],
  };
  return {
    title: flat(given.run.name),
    lead: [given.ways && waysOf(given.ways), el("p", { class: "faint" }, plain(given.answer.head[spoken]))],
    contents: [
      ...["answer", ...Object.keys(sections), ...Object.keys(folds)].map((id) => [`#${id}`, t(id)]),
      ["#/tests", t("tests")],
    ],
    main: views[viewOf()](),
  };
}

// A part that is closed at first, and built when it is opened.
function fold(id, build) {
  const place = el("div");
  const toggle = ({ target }) => target.open && !place.hasChildNodes() && place.append(...[build()].flat(Infinity));
  return el("details", { class: "fold", id, toggle }, el("summary", {}, t(id)), place);
}

// How far each rate may be off, on one scale.
function sure(findings) {
  const drawn = (row) =>
    row.rate !== null && interval(row.rate, row.interval_low, row.interval_high, row.tolerance);
  const columns = [
    column("requirement"),
    column("model", modelName),
    { ...column("decision"), cell: (row) => badge(row.decision), sort: (row) => RANKS.indexOf(row.decision) },
    amount("rate", share),
    { label: t("interval"), cell: (row) => [row.rate !== null && span(row.interval_low, row.interval_high), drawn(row)] },
    amount("counted_templates", whole, "templates"),
    { label: t("behind"), cell: (row) => behind(row).join("; ") },
  ];
  const urgent = [...findings].sort((one, other) => RANKS.indexOf(one.decision) - RANKS.indexOf(other.decision));
  return [el("p", {}, t("sure.read")), table(t("sure.caption"), columns, urgent)];
}

const waysOf = ({ home, older, newer }) =>
  el(
    "p",
    { class: "ways no-print" },
    el("a", { href: home }, t("home")),
    older && el("a", { href: older.href, rel: "prev" }, t("older"), " ", neighbour(older)),
    newer && el("a", { href: newer.href, rel: "next" }, t("newer"), " ", neighbour(newer)),
  );

const neighbour = (run) => [name(run.name), `, ${moment(run.started_at)}`];

const section = (id, build) =>
  el("section", { "aria-labelledby": id }, el("h2", { id, tabindex: "-1" }, t(id)), build());

const unfinished = (run) =>
  run.state !== "completed" && el("p", { class: "notice doubt" }, t("unfinished", { state: valueWord(run.state) }));

function facts(given, findings) {
  const { run } = given;
  const replies = given.chunks.reduce((sum, one) => sum + one.replies, 0);
  const pairs = [
    [t("run"), code(run.run_id)],
    [t("started"), moment(run.started_at)],
    [t("prompts"), whole(replies)],
    [t("seed"), run.seed === null ? "–" : String(run.seed)],
    ...Object.entries(run.versions).map(([what, version]) => [flat(what), name(version)]),
  ];
  return el(
    "dl",
    { class: "facts" },
    pairs.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value))),
  );
}

function requirementList(run, findings) {
  const own = [...grouped(findings, (row) => row.requirement).values()].map(([first]) => first);
  const asks = (row) =>
    t("asks", { tolerance: share(row.tolerance), refusals: t(`refusals.${row.refusals_rule ?? "separate"}`) });
  const describe = (row, rationale) => [
    el("dt", {}, name(row.requirement), " ", faint(concern(row.concern))),
    el("dd", {}, rationale && el("p", {}, plain(rationale)), el("p", { class: "faint" }, asks(row))),
  ];
  return el("dl", { class: "requirements" }, own.map((row) => describe(row, run.rationales[row.requirement])));
}
