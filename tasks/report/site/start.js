// The frame of every page: title, controls, contents; rendered again when language or URL changes.

const PAGES = { run: runPage, lake: lakePage, compare: comparisonPage };
const THEMES = ["auto", "light", "dark"];

function begin(first) {
  let shown = null;
  const draw = (given) => {
    document.documentElement.lang = spoken.slice(0, 2);
    watchers.clear();
    queue.length = 0;
    const page = PAGES[first](given);
    document.title = page.title;
    document.body.replaceChildren(...frame(page, () => draw(given)));
  };
  const moved = (given) => {
    const now = viewOf();
    if (now || now !== shown) draw(given);
    shown = now;
    arrive(now);
  };
  document.addEventListener("click", keepFilter);
  themed(memory.read("theme") ?? "auto");
  chunk(first)
    .then((given) => {
      window.addEventListener("hashchange", () => moved(given));
      moved(given);
    })
    .catch((error) => document.body.replaceChildren(missing(error)));
}

// A link within the page moves there, and leaves what is asked for in the URL.
function keepFilter(event) {
  const link = event.target.closest('a[href^="#"]');
  if (!link || link.hash.startsWith("#/") || !Object.keys(askedFor()).length || viewOf()) return;
  event.preventDefault();
  remember({ at: link.hash.slice(1) });
  arrive("");
}

// Scrolls to the target of the URL: a view, or a part of the report, which is opened.
function arrive(view) {
  const target = document.getElementById(view || askedFor().at || location.hash.slice(1));
  if (!target) return;
  if (target.localName === "details") target.open = true;
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

function frame(page, again) {
  const contents = page.contents.map(([href, text]) => el("li", {}, el("a", { href }, text)));
  return [
    el("a", { class: "skip", href: "#main", click: skip }, t("skip")),
    el("header", {}, el("div", { class: "bar" }, el("h1", {}, page.title), controls(again)), page.lead),
    el("nav", { "aria-label": t("contents"), class: "no-print" }, el("ul", {}, contents)),
    el("main", { id: "main", tabindex: "-1" }, page.main),
    el("footer", {}, el("p", {}, t("footer"))),
  ];
}

// The URL must not change: it records what is shown.
function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function controls(again) {
  const speak = (language) => {
    spoken = language;
    memory.keep("language", language);
    again();
    document.querySelector(".controls select").focus();
  };
  const theme = (chosen) => {
    themed(chosen);
    memory.keep("theme", chosen);
  };
  const speaks = (language) => WORDS[language]["language.name"];
  return el(
    "div",
    { class: "controls choices no-print" },
    select(t("speaks"), Object.keys(WORDS), spoken, speak, { word: speaks }),
    select(t("theme"), THEMES, document.documentElement.dataset.theme, theme, { word: (one) => t(`theme.${one}`) }),
  );
}

const themed = (chosen) => (document.documentElement.dataset.theme = chosen);

begin(document.body.dataset.first);
