// The report of one run.

function runPage(given) {
  const findings = rowsOf(given.findings);
  const cells = rowsOf(given.cells);
  const link = ({ model, requirement }, ...children) => testsLink({ model, requirement }, ...children);
  const sections = {
    board: () => leaderboard(findings, link),
    grid: () => grid(cells),
    beside: () => dimensions(cells, rowsOf(given.languages)),
    contrasts: () => later("communities", contrasts),
    refusals: () => later("communities", refusals),
    trend: () => later("trend", (content) => trends(rowsOf(content.trend), link, given.run.run_id)),
    agreement: () => later("agreement", (content) => agreement(content, given.run)),
    costs: () => costs(rowsOf(given.costs)),
    covered: () => covered(given, findings, cells),
    requirements: () => requirementList(given.run, findings),
  };
  if (given.alone) delete sections.trend;
  const main = () => Object.entries(sections).map(([id, build]) => section(id, build));
  return {
    title: t("title.run", { name: flat(given.run.name) }),
    lead: [given.ways && waysOf(given.ways), unfinished(given.run), facts(given, findings)],
    contents: [...Object.keys(sections).map((id) => [`#${id}`, t(id)]), ["#/tests", t("tests")]],
    main: location.hash.startsWith("#/tests") ? testsView(given, cells) : main(),
  };
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
    [t("models"), whole(distinct(findings.map((row) => row.model)).length)],
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
