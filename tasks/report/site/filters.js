// Stores the reader's filters in the URL, so that it can be saved, shared and navigated.

const OUTCOMES = ["passed", "failed", "refused", "unreadable", "error", "incomparable"];
const REPLIES = ["passed", "failed", "refused", "unreadable", "error", "number"];

const askedFor = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));

function filters(cells, communities, asked) {
  const go = (key) => (value) => (location.hash = testsAddress({ ...asked, [key]: value }));
  const values = (key) => distinct(cells.map((row) => row[key])).sort();
  const one = (key, word) => select(t(key), values(key), asked[key] ?? "", go(key), { all: t("all"), word });
  const search = el("input", {
    type: "search",
    value: asked.text ?? "",
    minlength: "3",
    "aria-describedby": "search-hint",
  });
  const sent = (event) => {
    event.preventDefault();
    go("text")(search.value.trim());
  };
  return el(
    "form",
    { class: "choices no-print", role: "search", submit: sent },
    el("label", { class: "wide" }, el("span", {}, t("search")), search),
    el("button", { type: "submit" }, t("search.go")),
    one("model"),
    one("concern", concern),
    one("requirement"),
    one("language"),
    one("input", told),
    one("reflection", told),
    select(t("outcome.test"), OUTCOMES, asked.outcome ?? "", go("outcome"), { all: t("all"), word: told }),
    select(t("outcome.reply"), REPLIES, asked.reply ?? "", go("reply"), { all: t("all"), word: told }),
    select(t("community"), communities, asked.community ?? "", go("community"), { all: t("all") }),
    el("a", { href: "#/tests", class: "button" }, t("search.clear")),
    el("p", { id: "search-hint", class: "faint" }, t("search.hint")),
  );
}
