// The report of all runs.

function lakePage(given) {
  const findings = rowsOf(given.findings);
  const pages = new Map(given.runs.map((run) => [run.run_id, run.page]));
  const link = ({ run_id, model, requirement }, ...children) =>
    pages.get(run_id)
      ? el("a", { href: `${pages.get(run_id)}${testsAddress({ model, requirement })}` }, ...children)
      : children;
  const sections = {
    board: () => [
      el("p", {}, t("board.newest")),
      findings.length ? leaderboard(findings, link) : el("p", {}, t("board.none")),
    ],
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

const runList = (runs) =>
  table(
    t("runs.caption"),
    [
      {
        label: t("run"),
        cell: (run) => (run.page ? el("a", { href: run.page }, code(run.run_id)) : code(run.run_id)),
        sort: (run) => run.run_id,
      },
      { label: t("scenario"), cell: (run) => name(run.name), sort: (run) => run.name },
      { label: t("kind"), cell: (run) => told(run.kind ?? "benchmark"), sort: (run) => run.kind ?? "" },
      { label: t("state"), cell: (run) => told(run.state ?? "–"), sort: (run) => run.state ?? "" },
      { label: t("started"), cell: (run) => moment(run.started_at), sort: (run) => run.started_at },
      { label: t("findings"), cell: decided },
      {
        label: t("regressions"),
        cell: (run) =>
          run.worse ? el("span", { class: "badge not-met" }, symbol("worse"), ` ${whole(run.worse)}`) : "–",
        sort: (run) => run.worse ?? 0,
        number: true,
      },
    ],
    runs,
  );

const decided = (run) =>
  ["met", "not met", "undecided", "not evaluated"]
    .map((decision) => [decision, run[decision.replace(" ", "_")]])
    .filter(([, count]) => count)
    .map(([decision, count]) =>
      el(
        "span",
        { class: `tally ${CLASSES[decision] ?? "none"}` },
        symbol(decision),
        `${whole(count)} ${told(decision)} `,
      ),
    );
