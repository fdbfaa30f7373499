// Two models of a run, or two runs: each requirement with its paired interval, then question by question.

const PAIRED = 20;
const REPLIES_OF_PAIR = 6;
const LONGEST_DIFF = 1e6;

const compareAddress = (asked) => `#/compare?${new URLSearchParams(Object.entries(asked).filter(([, value]) => value))}`;

function compareView(given, findings) {
  const models = given.answer.models.map((one) => one.model);
  const examined = given.answer.models.filter((one) => one.is_examined).map((one) => one.model);
  const asked = { a: examined[0] ?? models[0], b: examined[1] ?? models[1], only: "different", ...askedFor() };
  const go = (key) => (value) => (location.hash = compareAddress({ ...asked, [key]: value }));
  const requirements = distinct(findings.map((row) => row.requirement));
  return el(
    "section",
    { class: "compare" },
    el("h2", { id: "compare", tabindex: "-1" }, t("compare.title", { a: flat(asked.a), b: flat(asked.b) })),
    el("p", {}, el("a", { href: "#board" }, t("tests.back"))),
    el(
      "div",
      { class: "choices no-print" },
      select(t("compare.a"), models, asked.a, go("a")),
      select(t("compare.b"), models, asked.b, go("b")),
      select(t("compare.only"), ["different", "all"], asked.only, go("only"), { word: (one) => t(`compare.only.${one}`) }),
      select(t("requirement"), requirements, asked.requirement ?? "", go("requirement"), { all: t("all") }),
    ),
    later("pairs", ({ pairs }) => pairsOfModels(given, findings, pairsOf(rowsOf(pairs), asked), asked)),
    el("h3", {}, t("compare.questions")),
    withCells((cells) => {
      const fits = (row) => [asked.a, asked.b].includes(row.model) && (!asked.requirement || row.requirement === asked.requirement);
      const sideOf = (row) => (row.model === asked.a ? "a" : "b");
      return questions(given.chunks, cells, { asked, fits, sideOf, link: testsLink, about: () => "" });
    }),
  );
}

// The page of two runs. What is asked for is in the URL, as everywhere.
function comparisonPage(given) {
  const { sides, chunks } = given;
  const asked = { only: "different", ...askedFor() };
  const go = (key) => (value) => (location.hash = compareAddress({ ...asked, [key]: value }));
  const all = rowsOf(given.requirements);
  const fits = (row) => ["model", "requirement"].every((key) => !asked[key] || row[key] === asked[key]);
  const rows = all.filter((row) => fits(row) && row.a_rate !== null && row.b_rate !== null);
  const choice = (key) => select(t(key), distinct(all.map((row) => row[key])), asked[key] ?? "", go(key), { all: t("all") });
  const several = distinct(all.map((row) => row.model)).length > 1;
  const sideOf = (row) => row.side;
  const link = (_, ...children) => el("b", {}, ...children);
  const about = several ? (row) => row.model : () => "";
  return {
    title: t("compare.title", { a: sideTitle(sides.a, sides), b: sideTitle(sides.b, sides) }),
    lead: [sideLine("●", sides.a), sideLine("◆", sides.b)],
    contents: ["compare", "compare.differs", "compare.questions"].map((id) => [`#${id}`, t(id)]),
    main: [
      section("compare", () => [
        comparisonAnswer(given.changes, sideTitle(sides.b, sides)),
        el(
          "div",
          { class: "choices no-print" },
          several && choice("model"),
          choice("requirement"),
          select(t("compare.only"), ["different", "all"], asked.only, go("only"), { word: (one) => t(`compare.only.${one}`) }),
        ),
        dumbbells(rows, ["●", "◆"], several),
      ]),
      fold("compare.differs", () => differing(rowsOf(given.circumstances))),
      section("compare.questions", () => questions(chunks, rowsOf(given.cells), { asked, fits, sideOf, link, about })),
    ],
  };
}

// The model, where two of one run are compared; else the scenario, and the moment where both have the same.
const sideTitle = (side, { a, b }) =>
  flat(side.model ?? (a.name === b.name ? `${side.name}, ${moment(side.started_at)}` : side.name));

const sideLine = (sign, { model, name: scenario, run_id, started_at }) =>
  el("p", { class: "faint" }, `${sign} `, model && [modelName(model), " · "], name(scenario), ` · ${moment(started_at)} · `, code(run_id));

function comparisonAnswer(changes, b) {
  const shown = ["worse", "better", "no difference shown", "not compared"].filter((change) => changes[change]);
  const all = whole(shown.reduce((sum, change) => sum + changes[change], 0));
  const sentences = shown.map((change) => t(`compare.is.${change}`, { b, n: whole(changes[change]), all }));
  return el("div", { class: "answer" }, sentences.map((one, at) => el("p", { class: at ? null : "first" }, one)));
}

function differing(rows) {
  if (!rows.length) return el("p", {}, t("compare.same"));
  const columns = [
    { label: t("compare.what"), cell: (row) => [faint(valueWord(row.what)), " ", name(row.name)] },
    column("earlier", name, "compare.first"),
    column("later", name, "compare.second"),
  ];
  return table(t("compare.differs"), columns, rows);
}

// The rows of a pair with `a` first, whichever way they were computed.
const pairsOf = (rows, { a, b }) =>
  rows.flatMap((row) => {
    if (row.a === a && row.b === b) return [row];
    if (row.a !== b || row.b !== a) return [];
    const back = (value) => (value === null ? null : -value);
    const change = { better: "worse", worse: "better" }[row.change] ?? row.change;
    const ends = { a_rate: row.b_rate, b_rate: row.a_rate, low: back(row.high), high: back(row.low) };
    return [{ ...row, ...ends, a, b, difference: back(row.difference), change }];
  });

function pairsOfModels({ run }, findings, rows, { a, b }) {
  if (!rows.length) {
    const text = `biasgrid compare ${run.run_id} --models ${a} ${b}`;
    return el("p", {}, t("compare.elsewhere"), " ", code(text), " ", copyButton(text));
  }
  const found = new Map(findings.map((row) => [`${row.model}\t${row.requirement}`, row]));
  const of = (model, row) => found.get(`${model}\t${row.requirement}`);
  const verdicts = (row) => ({ a_decision: of(a, row)?.decision, b_decision: of(b, row)?.decision });
  const judged = rows.map((row) => ({ ...row, ...verdicts(row), tolerance: of(a, row)?.tolerance ?? null }));
  return dumbbells(judged, [["● ", modelName(a)], ["◆ ", modelName(b)]]);
}

function dumbbells(rows, [first, second], several = false) {
  const rate = (side, label) => ({
    label,
    cell: (row) => [share(row[`${side}_rate`]), " ", badge(row[`${side}_decision`])],
    sort: (row) => row[`${side}_rate`],
    number: true,
  });
  const columns = [
    column("requirement"),
    ...(several ? [column("model", modelName)] : []),
    { label: t("compare.rates"), cell: (row) => dumbbell(row, row.tolerance) },
    rate("a", first),
    rate("b", second),
    { ...amount("difference"), cell: pairedDifference },
    { ...column("change"), cell: (row) => badge(row.change) },
    amount("templates"),
  ];
  return [el("p", { class: "faint" }, t("compare.read")), table(t("compare.caption"), columns, rows)];
}

const pairedDifference = (row) => [
  signed(row.difference),
  row.low !== null && faint(` (${t("contrasts.range", { low: signed(row.low), high: signed(row.high) })})`),
];

function dumbbell(row, tolerance) {
  const x = (rate) => (4 + rate * 192).toFixed(1);
  const diamond = `M${x(row.b_rate)},2l5,5l-5,5l-5,-5z`;
  return svg(
    "svg",
    { class: "dumbbell", viewBox: "0 0 200 14", "aria-hidden": "true", focusable: "false" },
    svg("line", { class: "base", x1: 4, x2: 196, y1: 7, y2: 7 }),
    tolerance !== null && svg("line", { class: "axis", x1: x(tolerance), x2: x(tolerance), y1: 0, y2: 14 }),
    svg("line", { class: "between", x1: x(row.a_rate), x2: x(row.b_rate), y1: 7, y2: 7 }),
    svg("circle", { class: "point", cx: x(row.a_rate), cy: 7, r: 4.5 }),
    svg("path", { class: "point", d: diamond }),
  );
}

// `how`: {asked, fits(cell), sideOf(cell) → a or b, about(cell) → what both sides share besides the cell,
// link(filters, …children)}.
function questions(chunks, cells, how) {
  const fit = new Set(cells.flatMap((row, at) => (how.fits(row) ? [at] : [])));
  const left = chunks.flatMap((one, at) => (one.cells.some((place) => fit.has(place)) ? [at] : []));
  const list = el("div", { class: "pairs" });
  const state = el("p", { role: "status" });
  const more = el("p", { class: "more no-print" });
  const found = { fit, left, all: left.length, waiting: new Map(), rest: [], shown: 0 };
  const fail = (error) => list.append(missing(error));
  const step = () => nextPairs({ cells, how, found, list, state, more, step }).catch(fail);
  step();
  return [state, list, more];
}

async function nextPairs({ cells, how, found, list, state, more, step }) {
  more.replaceChildren();
  while (found.rest.length < PAIRED && found.left.length) {
    state.replaceChildren(t("tests.searching", { n: whole(found.all - found.left.length), all: whole(found.all) }));
    const content = await chunk(`tests-${found.left.shift()}`);
    found.rest.push(...pairedTests(content, cells, how, found));
  }
  const own = found.rest.splice(0, PAIRED);
  found.shown += own.length;
  list.append(...own.map(([a, b]) => pairOf(a, b, cells[a.place], how)));
  const done = !found.left.length && !found.rest.length;
  state.replaceChildren(t(done ? "compare.all" : "compare.far", { n: whole(found.shown) }));
  if (!done) more.replaceChildren(el("button", { type: "button", click: step }, t("tests.more", { n: PAIRED })));
}

// Tests of this part of the data whose counterpart has been read as well.
function pairedTests(content, cells, { asked, sideOf, about }, { fit, waiting }) {
  return matching(content, fit, {}).flatMap((one) => {
    const value = textAt(content.tests, content.texts, one.at);
    const row = cells[one.place];
    const key = [about(row), row.requirement, cellKey(row), value("template"), value("question"), content.tests.sample[one.at]].join("\n");
    const other = waiting.get(key);
    if (!other) {
      waiting.set(key, one);
      return [];
    }
    waiting.delete(key);
    const pair = sideOf(row) === "a" ? [one, other] : [other, one];
    const [a, b] = pair.map((each) => textAt(each.content.tests, each.content.texts, each.at)("outcome"));
    return asked.only === "different" && a === b ? [] : [pair];
  });
}

function pairOf(a, b, row, { link, about }) {
  const value = textAt(a.content.tests, a.content.texts, a.at);
  const others = new Map(b.own.map((at) => [communitiesAt(b, at), at]));
  const both = a.own.filter((at) => others.has(communitiesAt(a, at))).map((at) => [at, others.get(communitiesAt(a, at))]);
  const differ = both.filter(([one, other]) => a.content.replies.outcome[one] !== b.content.replies.outcome[other]);
  const numbers = both.filter(([one, other]) => a.content.replies.number[one] !== b.content.replies.number[other]);
  const shown = (differ.length ? differ : numbers.length ? numbers : both).slice(0, REPLIES_OF_PAIR);
  const outcomes = [a, b].map((each) => outcomeBadge(textAt(each.content.tests, each.content.texts, each.at)("outcome")));
  return el(
    "article",
    { class: "example" },
    el(
      "h4",
      {},
      link({ requirement: row.requirement, text: value("template") }, name(value("template"))),
      faint(` · ${[about(row), row.requirement].filter(Boolean).map(flat).join(" · ")} · ${placeOf(row)} `),
      outcomes[0],
      " ↔ ",
      outcomes[1],
    ),
    value("question") && el("div", { class: "quote", dir: "auto" }, plain(value("question"))),
    shown.map(([one, other]) => pairOfReplies(a.content, one, b.content, other)),
    both.length > shown.length && el("p", { class: "faint" }, t("compare.more", { n: whole(both.length - shown.length) })),
  );
}

const communitiesAt = (one, at) => textAt(one.content.replies, one.content.texts, at)("communities");

function pairOfReplies(content, at, others, place) {
  const one = textAt(content.replies, content.texts, at);
  const other = textAt(others.replies, others.texts, place);
  const [own, theirs] = [one("text") ?? "", other("text") ?? ""];
  const side = (replies, where, parts, value) =>
    el(
      "div",
      {},
      el("p", { class: "who" }, outcomeBadge(outcomeAt(replies, where))),
      el("div", { class: "quote answer", dir: "auto" }, parts.map(([text, isOwn]) => (isOwn ? el("mark", {}, plain(text)) : plain(text)))),
      value("reason") && el("p", { class: "faint" }, plain(value("reason"))),
    );
  return [
    el("p", { class: "who" }, one("communities") ? name(one("communities")) : t("nobody")),
    el("div", { class: "sides" }, side(content.replies, at, ownWords(own, theirs), one), side(others.replies, place, ownWords(theirs, own), other)),
  ];
}

// The parts of a text, each with whether the other text lacks it: words outside their longest common subsequence.
function ownWords(text, other) {
  const [one, two] = [text, other].map((each) => each.split(/(?<=\s)/));
  if (one.length * two.length > LONGEST_DIFF) return [[text, text !== other]];
  const common = Array.from({ length: one.length + 1 }, () => new Uint16Array(two.length + 1));
  for (let i = one.length - 1; i >= 0; i -= 1)
    for (let j = two.length - 1; j >= 0; j -= 1)
      common[i][j] = one[i] === two[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const parts = [];
  for (let i = 0, j = 0; i < one.length; i += 1) {
    while (j < two.length && one[i] !== two[j] && common[i][j + 1] === common[i][j]) j += 1;
    const isOwn = one[i] !== two[j];
    if (!isOwn) j += 1;
    if (parts.at(-1)?.[1] === isOwn) parts.at(-1)[0] += one[i];
    else parts.push([one[i], isOwn]);
  }
  return parts;
}
