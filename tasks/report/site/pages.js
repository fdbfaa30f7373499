// Pages that are whole without a script: filters by text and verdict, and copies. Both stay in the URL.

const FILTERED = "main tbody tr, main .example, main details:not(main details details)";

const askedFor = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));

function remember(changes) {
  const now = Object.entries({ ...askedFor(), ...changes }).filter(([, value]) => value);
  history.replaceState(null, "", now.length ? `#/?${new URLSearchParams(now)}` : "#");
  filterRows();
}

function filterRows() {
  const { find = "", state = "" } = askedFor();
  document.querySelectorAll(FILTERED).forEach((one) => {
    const isOther = state && one.dataset.state && one.dataset.state !== state;
    one.hidden = Boolean(isOther) || !one.textContent.toLowerCase().includes(find.toLowerCase());
  });
  document.querySelectorAll(".counter").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.state === state)));
  const field = document.getElementById("find");
  if (document.activeElement !== field) field.value = find;
}

// Opens what holds the target of the URL.
function arrive(id = askedFor().at ?? decodeURIComponent(location.hash.slice(1))) {
  const target = document.getElementById(id);
  if (!target) return;
  for (let one = target; one; one = one.parentElement.closest("details")) if (one.localName === "details") one.open = true;
  target.scrollIntoView();
}

document.addEventListener("click", (event) => {
  const { target } = event;
  const counter = target.closest(".counter");
  if (counter) remember({ state: askedFor().state === counter.dataset.state ? null : counter.dataset.state });
  const copy = target.closest("[data-copy]");
  if (copy) copyText(copy.dataset.copy, copy).then(() => (copy.textContent = copy.dataset.copied));
  const link = target.closest('a[href^="#"]');
  if (!link || !(askedFor().find || askedFor().state)) return;
  event.preventDefault();
  remember({ at: decodeURIComponent(link.hash.slice(1)) });
  arrive();
});

document.getElementById("find").addEventListener("input", ({ target }) => remember({ find: target.value.trim() }));
document.querySelectorAll(".scripted").forEach((one) => one.removeAttribute("hidden"));
window.addEventListener("hashchange", () => (filterRows(), arrive()));
filterRows();
arrive();
