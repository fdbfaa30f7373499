// The report of all runs.

function lakePage(given) {
  const findings = rowsOf(given.findings);
  const pages = new Map(given.runs.map((run) => [run.run_id, run.page]));
  const link = ({ run_id, model, requirement }, ...children) =>
    pages.get(run_id)
      ? el("a", { href: `${pages.get(run_id)}${testsAddress({ model, requirement })}` }, ...children)
      : children;
  const sections = {
    board: () => boards(given.boards, findings, link),
    runs: () => runList(given.runs),
    trend: () => trends(rowsOf(given.trend), link),
  };
  return {
    title: t("title.lake"),
    lead: el("p", {}, t("lake.lead", { runs: counted(given.runs.length, "runs.counted") })),
    contents: Object.keys(sections).map((id) => [`#${id}`, t(id)]),
    main: Object.entries(sections).map(([id, build]) => section(id, build)),
  };
}

// Only models that were held to the same stand in one table.
function boards(given, findings, link) {
  if (!given.length) return el("p", {}, t("board.none"));
  const of = (models) => findings.filter((row) => models.some((one) => one.model === row.model));
  return [
    el("p", {}, t("board.newest")),
    given.length > 1 && el("p", { class: "notice doubt" }, t("board.apart.why", { n: whole(given.length) })),
    given.map((models) => board(models, of(models), link)),
  ];
}

function runList(runs) {
  const address = (run) => (run.page ? el("a", { href: run.page }, code(run.run_id)) : code(run.run_id));
  const worse = (count) =>
    count ? el("span", { class: "badge bad" }, symbol("worse"), ` ${whole(count)}`) : "–";
  const columns = [
    { ...column("run_id", code, "run"), cell: address },
    column("name", name, "scenario"),
    { ...column("kind", (kind) => valueWord(kind ?? "benchmark")), sort: (run) => run.kind ?? "" },
    { ...column("state", (state) => valueWord(state ?? "–")), sort: (run) => run.state ?? "" },
    column("started_at", moment, "started"),
    { label: t("findings"), cell: decided },
    { ...amount("worse", worse, "regressions"), sort: (run) => run.worse ?? 0 },
  ];
  return table(t("runs.caption"), columns, runs);
}

const decided = (run) =>
  RANKS
    .map((decision) => [decision, run[decision.replace(" ", "_")]])
    .filter(([, count]) => count)
    .map(([decision, count]) => {
      const kind = { class: `tally ${tone(decision)}` };
      return el("span", kind, symbol(decision), `${whole(count)} ${valueWord(decision)} `);
    });
