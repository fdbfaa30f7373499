// Stores the reader's filters in the URL, so that it can be saved, shared and navigated.

const OUTCOMES = ["passed", "failed", "refused", "unreadable", "error", "incomparable"];
const REPLIES = ["passed", "failed", "refused", "unreadable", "error", "number"];

const VIEW = /^#\/(tests|compare)/;

const viewOf = () => VIEW.exec(location.hash)?.[1] ?? "";

// What shows the reader's choices of the first view, and is called when they change.
const watchers = new Set();
const watch = (show) => watchers.add(show);

function remember(changes) {
  const now = Object.entries({ ...askedFor(), ...changes }).filter(([, value]) => value);
  history.replaceState(null, "", now.length ? `#/?${new URLSearchParams(now)}` : "#");
  watchers.forEach((show) => show(askedFor()));
}

const askedFor = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));

function filters(cells, communities, asked) {
  const go = (key) => (value) => (location.hash = testsAddress({ ...asked, [key]: value }));
  const one = (key, values, word, label = key) =>
    select(t(label), values, asked[key] ?? "", go(key), { all: t("all"), word });
  const ofCells = (key, word) => one(key, distinct(cells.map((row) => row[key])).sort(), word);
  const hint = { type: "search", value: asked.text ?? "", minlength: "3", "aria-describedby": "search-hint" };
  const search = el("input", hint);
  const submit = (event) => {
    event.preventDefault();
    go("text")(search.value.trim());
  };
  return el(
    "form",
    { class: "choices no-print", role: "search", submit },
    el("label", { class: "wide" }, el("span", {}, t("search")), search),
    el("button", { type: "submit" }, t("search.go")),
    ofCells("model"),
    ofCells("concern", concern),
    ofCells("requirement"),
    ofCells("language"),
    ofCells("input", valueWord),
    ofCells("reflection", valueWord),
    one("outcome", OUTCOMES, valueWord, "outcome.test"),
    one("reply", REPLIES, valueWord, "outcome.reply"),
    one("community", communities),
    select(t("tests.as"), ["list", "table"], asked.as ?? "list", go("as"), { word: (as) => t(`tests.as.${as}`) }),
    el("a", { href: "#/tests", class: "button" }, t("search.clear")),
    el("p", { id: "search-hint", class: "faint" }, t("search.hint")),
  );
}
