// Tables with pages and sortable headers, in a frame that scrolls on narrow screens.

const PAGE = 25;

const region = (label, table) =>
  el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);

const rowHead = (...children) => el("th", { scope: "row" }, ...children);

// A table that neither sorts nor grows.
const plainTable = (kind, caption, heads, lines) =>
  el(
    "table",
    { class: kind },
    el("caption", {}, el("span", {}, caption)),
    el("thead", {}, el("tr", {}, heads.map((one) => (one.localName === "th" ? one : el("th", { scope: "col" }, one))))),
    lines.localName === "tbody" ? lines : el("tbody", {}, lines),
  );

// Columns of `table`, by a row's key and their label's: texts, and amounts.
const column = (key, show = name, label = key) => ({
  label: t(label),
  cell: (row) => show(row[key]),
  sort: (row) => row[key],
});

const amount = (key, show = whole, label = key) => ({ ...column(key, show, label), number: true });

// `columns`: {label, cell(row) → node or text, sort(row) → value, number}.
function table(caption, columns, rows) {
  const shown = { rows, count: PAGE, by: null, down: false };
  const body = el("tbody");
  const more = el("p", { class: "more no-print" });
  const heads = columns.map((column, at) => head(column, at, shown, () => draw()));
  const drawRow = (row) => el("tr", {}, columns.map((column, at) => cell(column, row, at)));
  function draw() {
    heads.forEach((one, at) => {
      const order = at !== shown.by ? "none" : shown.down ? "descending" : "ascending";
      if (columns[at].sort) one.setAttribute("aria-sort", order);
    });
    const none = el("tr", {}, el("td", { colspan: columns.length, class: "faint" }, t("rows.none")));
    body.replaceChildren(...(rows.length ? shown.rows.slice(0, shown.count).map(drawRow) : [none]));
    more.replaceChildren(...pager(shown, draw));
  }
  draw();
  return el("div", {}, region(caption, plainTable(null, caption, heads, body)), more);
}

function head(column, at, shown, draw) {
  const kind = column.number ? "number" : null;
  if (!column.sort) return el("th", { scope: "col", class: kind }, column.label);
  const click = () => {
    shown.down = shown.by === at ? !shown.down : Boolean(column.number);
    shown.by = at;
    shown.rows = [...shown.rows].sort((one, other) => compared(column.sort(one), column.sort(other), shown.down));
    draw();
  };
  const button = el("button", { type: "button", class: "sort", click }, column.label);
  return el("th", { scope: "col", class: kind }, button);
}

// Missing values come last in both sort orders.
function compared(one, other, down) {
  if (one === null || other === null) return (one === null) - (other === null);
  const order = typeof one === "string" ? one.localeCompare(other) : one - other;
  return down ? -order : order;
}

function cell(column, row, at) {
  const kind = column.number ? "number" : null;
  return at ? el("td", { class: kind }, column.cell(row)) : el("th", { scope: "row", class: kind }, column.cell(row));
}

function pager(shown, draw) {
  if (shown.count >= shown.rows.length) return [];
  const rest = Math.min(PAGE * 4, shown.rows.length - shown.count);
  const click = () => {
    shown.count += rest;
    draw();
  };
  const counts = t("rows.shown", { n: whole(shown.count), all: whole(shown.rows.length) });
  return [`${counts} `, el("button", { type: "button", click }, t("rows.more", { n: whole(rest) }))];
}

function select(label, values, chosen, change, { all = null, word = flat } = {}) {
  const options = (all ? [["", all]] : []).concat(values.map((value) => [value, word(value)]));
  const shown = options.map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  const chooses = { change: (event) => change(event.target.value) };
  return el("label", {}, el("span", {}, label), el("select", chooses, shown));
}

// What `draw` makes of what is `chosen`, below the selects that `controls(change)` builds.
function chooser(chosen, draw, controls) {
  const place = el("div");
  const show = () => place.replaceChildren(...[draw(chosen)].flat());
  const change = (key) => (value) => {
    chosen[key] = value;
    show();
  };
  show();
  return [el("div", { class: "choices no-print" }, controls(change)), place];
}

// Arrow keys move between the links of a table; only one of them is in the tab order.
function roving(made) {
  const lines = [...made.tBodies].flatMap((body) => [...body.rows]).map((row) => [...row.querySelectorAll("a")]);
  const links = lines.flat();
  links.forEach((link, at) => (link.tabIndex = at ? -1 : 0));
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  made.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    const row = lines.findIndex((line) => line.includes(document.activeElement));
    if (!step || row < 0) return;
    const next = lines[row + step[0]]?.[lines[row].indexOf(document.activeElement) + step[1]];
    event.preventDefault();
    if (!next) return;
    links.forEach((link) => (link.tabIndex = link === next ? 0 : -1));
    next.focus();
  });
  return made;
}
