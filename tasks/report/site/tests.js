// The tests behind the numbers: each with its prompts, replies, verdicts and assessments.

const TESTS = 50;

const testsView = (given) =>
  el(
    "section",
    {},
    el("h2", { id: "tests", tabindex: "-1" }, t("tests")),
    el("p", {}, el("a", { href: "#board" }, t("tests.back"))),
    withCells((cells) => testsFound(given, cells)),
  );

function testsFound(given, cells) {
  const asked = askedFor();
  const rows = el("tbody");
  const list = asked.as === "table" ? replyTable(rows) : el("div", { class: "tests" });
  const state = el("p", { role: "status" });
  const more = el("p", { class: "more no-print" });
  const found = { fit: fitting(cells, asked), left: [], rest: [], shown: 0, loaded: 0, all: 0 };
  const fail = (error) => list.append(missing(error));
  const step = () => nextPage({ cells, asked, found, list, rows, state, more, step }).catch(fail);
  const start = (near) => {
    found.left = near;
    found.all = near.length;
    return step();
  };
  candidates(given, found.fit, asked).then(start, fail);
  return [later("communities", (content) => filters(cells, named(content), asked)), state, list, more];
}

const named = (content) =>
  distinct([...content.refusals.community, ...content.contrasts.community]).filter(Boolean).sort();

// Loads until a page is full; stops when the reader has opened other tests.
async function nextPage({ cells, asked, found, list, rows, state, more, step }) {
  more.replaceChildren();
  const until = found.shown + TESTS;
  while (found.shown + found.rest.length < until && found.left.length) {
    state.replaceChildren(t("tests.searching", { n: whole(found.loaded), all: whole(found.all) }));
    const content = await chunk(`tests-${found.left.shift()}`);
    if (!list.isConnected) return;
    found.loaded += 1;
    found.rest.push(...matching(content, found.fit, asked));
  }
  const own = found.rest.splice(0, until - found.shown);
  found.shown += own.length;
  if (asked.as === "table") rows.append(...own.flatMap((one) => replyRows(one, cells[one.place], asked)));
  else list.append(...own.map((one) => test(one, cells[one.place], asked)));
  const done = !found.left.length && !found.rest.length;
  state.replaceChildren(testsShown(found, expected(cells, found.fit, asked), done));
  if (!done) more.replaceChildren(el("button", { type: "button", click: step }, t("tests.more", { n: TESTS })));
}

const replyTable = (rows) => {
  const heads = ["verdict", "community", "reply", "prompt", "model", "cell"].map((key) => t(key));
  return region(t("table", { name: t("replies") }), plainTable("replies", t("replies.caption"), heads, rows));
};

function replyRows({ content, at, found }, row, asked) {
  const template = textAt(content.tests, content.texts, at)("template") ?? "–";
  const asksFor = (place) => outcomeAt(content.replies, place) === asked.outcome;
  const ordered = [...found].sort((one, other) => asksFor(other) - asksFor(one));
  return ordered.map((place) => {
    const value = textAt(content.replies, content.texts, place);
    const address = { text: content.replies.id[place] };
    const shown = (key, other) => el("td", { dir: "auto" }, snippet(value(key) ?? value(other) ?? "–", asked.text));
    return el(
      "tr",
      { "data-address": testsAddress(address) },
      el("td", {}, outcomeBadge(outcomeAt(content.replies, place))),
      el("th", { scope: "row" }, testsLink(address, value("communities") ? name(value("communities")) : t("nobody"))),
      shown("text", "error"),
      shown("prompt"),
      el("td", {}, modelName(row.model)),
      el("td", { class: "faint" }, name(template), faintLine(placeOf(row))),
    );
  });
}

const outcomeAt = (replies, at) => replies.outcome[at] ?? (replies.number[at] === null ? null : "number");

function testsShown(found, count, done) {
  if (count !== null) return t("tests.of", { n: whole(found.shown), all: whole(count) });
  if (done) return t("tests.all", { n: whole(found.shown) });
  return t("tests.far", { n: whole(found.shown), loaded: whole(found.loaded), all: whole(found.all) });
}

// A column of a chunk at one place: null, or its text.
const textAt = (columns, texts, at) => (key) => (columns[key][at] === null ? null : texts[columns[key][at]]);

const outcomeBadge = (outcome) => (outcome ? badge(outcome) : el("span", { class: "badge none" }, t("unjudged")));

function test(one, row, asked) {
  const { tests, texts } = one.content;
  const value = textAt(tests, texts, one.at);
  const body = el("div");
  const toggle = (event) => {
    if (!event.target.open || body.hasChildNodes()) return;
    body.append(...[testBody(one, value, asked.text)].flat(Infinity).filter(Boolean));
  };
  const fit = one.found.length < one.own.length ? ` · ${counted(one.found.length, "replies.fit")}` : "";
  const summary = el(
    "summary",
    {},
    outcomeBadge(value("outcome")),
    " ",
    el("b", {}, plain(value("template") ?? "–")),
    tests.sample[one.at] > 1 && ` · ${t("sample", { n: tests.sample[one.at] })}`,
    " · ",
    modelName(row.model),
    faint(` · ${placeOf(row)} · ${counted(one.own.length, "replies.counted")}${fit}`),
  );
  return el("details", { class: "test", toggle }, summary, body);
}

function testBody(one, value, wanted) {
  const { tests } = one.content;
  const place = el("div");
  const draw = (which) => place.replaceChildren(...which.map((at) => reply(one.content, at, wanted)));
  draw(one.found);
  const click = () => {
    draw(one.own);
    rest.remove();
  };
  const rest =
    one.found.length < one.own.length &&
    el("p", {}, el("button", { type: "button", click }, t("replies.all", { n: whole(one.own.length) })));
  const spread = { spread: number(tests.spread[one.at]), admissible: number(tests.admissible[one.at]) };
  return [
    value("question") && [el("p", { class: "who" }, t("template")), quote(value("question"), wanted)],
    el("p", {}, t("expects"), " ", code(value("operation") ?? "–"), " ", faint(plain(value("oracle") ?? ""))),
    tests.spread[one.at] !== null && el("p", {}, t("spread", spread), " ", spreadBetween(value)),
    place,
    rest,
  ];
}

const spreadBetween = (value) => value("at_min") && [name(value("at_min")), " ↔ ", name(value("at_max"))];

function reply(content, at, wanted) {
  const { replies, texts, opinions } = content;
  const value = textAt(replies, texts, at);
  const outcome = outcomeAt(replies, at);
  const community = value("communities") ? name(value("communities")) : t("nobody");
  return el(
    "article",
    { class: "reply-of", "data-address": testsAddress({ text: replies.id[at] }) },
    el("h3", {}, community, " ", outcomeBadge(outcome)),
    el("p", { class: "who" }, t("prompt")),
    quote(value("prompt") ?? "–", wanted),
    el("p", { class: "who" }, t("reply")),
    replies.text[at] === null
      ? el("p", { class: "doubt" }, t("no.reply"), " ", name(value("error") || "–"))
      : quote(value("text"), wanted, "answer", replies.left_out[at]),
    el("p", { class: "verdict" }, verdict(replies, at, value)),
    (opinions[at] ?? []).map(opinion),
    el(
      "p",
      { class: "faint no-print" },
      code(`biasgrid trace ${replies.id[at]}`),
      " ",
      copyButton(`${location.href.split("#")[0]}${testsAddress({ text: replies.id[at] })}`, t("copy.link")),
    ),
  );
}

function verdict(replies, at, value) {
  const read = replies.number[at];
  const by = t(`by.${replies.assessor_kind[at] ?? "oracle"}`);
  return [
    read !== null && [t("read.number"), " ", el("b", {}, number(read, 2)), ". "],
    value("read_as") && [t("read.as"), " ", el("b", {}, name(value("read_as"))), ". "],
    value("reason") && [name(value("reason")), ". "],
    value("assessor") && faint(by, " ", name(value("assessor")), replies.replaces[at] && ` · ${t("replaces")}`),
  ];
}

const opinion = (one) =>
  el(
    "p",
    { class: "opinion" },
    t(one.purpose === "decision" ? "opinion.decision" : "opinion"),
    " ",
    name(one.assessor),
    ": ",
    one.outcome ? badge(one.outcome) : valueWord(one.state),
    one.reason && [" ", name(one.reason)],
  );

const quote = (text, wanted, kind = "", leftOut = 0) => [
  el("div", { class: `quote ${kind}`, dir: "auto" }, marked(text, wanted)),
  leftOut > 0 && el("p", { class: "faint" }, t("left.out", { n: whole(leftOut) })),
];
