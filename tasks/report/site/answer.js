// The first view: the answer in words, the next commands, counters that filter, and the worst examples.

function answerView({ answer, run }) {
  const [first, ...rest] = answer.sentences[spoken];
  return el(
    "section",
    { class: "answer", "aria-labelledby": "answer" },
    el("h2", { id: "answer", tabindex: "-1" }, t("answer")),
    el("div", { class: "words" }, el("p", { class: "first" }, plain(first)), rest.map((one) => el("p", {}, plain(one)))),
    unfinished(run),
    el("div", { class: "next no-print" }, el("h3", {}, t("next")), el("ul", {}, answer.steps.map(command))),
    counters(answer.counts),
  );
}

const command = (text) => el("li", {}, code(text), " ", copyButton(text));

function copyButton(text, label = t("copy")) {
  const click = async () => {
    await copyText(text, button);
    button.textContent = t("copied");
  };
  const button = el("button", { type: "button", class: "copy", click }, label);
  return button;
}

// Each counts findings of a verdict; pressed, everything below shows those alone.
function counters(counts) {
  const buttons = Object.entries(counts).map(([state, count]) => {
    const click = () => remember({ state: askedFor().state === state ? null : state });
    const given = { type: "button", class: `counter ${tone(state)}`, "data-state": state, disabled: !count, click };
    return el("button", given, symbol(state), el("b", {}, whole(count)), ` ${valueWord(state)}`);
  });
  const show = ({ state }) =>
    buttons.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.state === state)));
  watch(show);
  show(askedFor());
  return el("div", { class: "counters", role: "group", "aria-label": t("counters") }, buttons);
}

function examples({ answer }) {
  const made = answer.examples.map((one) => [one, exampleOf(one)]);
  const none = el("p", { class: "faint" }, t(made.length ? "rows.none" : "examples.none"));
  const show = ({ state, find }) => {
    made.forEach(([one, node]) => {
      const fits = !find || one.model.toLowerCase().includes(find.toLowerCase());
      node.hidden = !fits || Boolean(state && state !== "not met");
    });
    none.hidden = made.some(([, node]) => !node.hidden);
  };
  watch(show);
  show(askedFor());
  return [made.map(([, node]) => node), none];
}

function exampleOf(one) {
  const asked = { model: one.model, requirement: one.check, text: one.template, outcome: "failed" };
  const [begin, own, others, end] = one.parts;
  const marked = [plain(begin ?? ""), el("mark", {}, plain(own ?? "")), " / ", el("mark", {}, plain(others ?? "")), plain(end ?? "")];
  const prompt = one.parts.length ? marked : plain(one.sides[0]?.prompt || one.question);
  return el(
    "article",
    { class: "example", "data-address": testsAddress(asked) },
    el("h3", {}, modelName(one.model), " · ", name(one.check), " · ", testsLink(asked, name(one.template))),
    el("div", { class: "quote", dir: "auto" }, prompt),
    el("div", { class: "sides" }, one.sides.map(sideOf)),
    (!one.sides.length || one.sides[0].outcome === "number") && one.answers.map((text) => el("p", {}, plain(text))),
    el("p", { class: "no-print" }, copyButton(`${location.href.split("#")[0]}${testsAddress(asked)}`, t("copy.link"))),
  );
}

const sideOf = (side) =>
  el(
    "div",
    {},
    el("p", { class: "who" }, side.about ? name(side.about) : t("nobody"), " ", badge(side.outcome)),
    el("div", { class: "quote answer", dir: "auto" }, plain(side.text)),
    side.reason && el("p", { class: "faint" }, plain(side.reason)),
  );
