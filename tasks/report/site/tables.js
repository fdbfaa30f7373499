// Tables with pages and sortable headers, in a frame that scrolls on narrow screens.

const PAGE = 25;
let numbered = 0;

const region = (label, table) =>
  el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);

// `columns`: {label, cell(row) → node or text, sort(row) → value, number}.
function table(caption, columns, rows, { page = PAGE } = {}) {
  const shown = { rows, count: page, by: null, down: false };
  const body = el("tbody");
  const more = el("p", { class: "more no-print" });
  const id = `table-${(numbered += 1)}`;
  const heads = columns.map((column, at) => head(column, at, shown, () => draw()));
  const drawRow = (row) =>
    el(
      "tr",
      {},
      columns.map((column, at) => cell(column, row, at)),
    );
  function draw() {
    heads.forEach((one, at) =>
      one.setAttribute("aria-sort", at !== shown.by ? "none" : shown.down ? "descending" : "ascending"),
    );
    heads.forEach((one, at) => columns[at].sort || one.removeAttribute("aria-sort"));
    const none = el("tr", {}, el("td", { colspan: columns.length, class: "faint" }, t("rows.none")));
    body.replaceChildren(...(rows.length ? shown.rows.slice(0, shown.count).map(drawRow) : [none]));
    more.replaceChildren(...pager(shown, page, draw));
  }
  draw();
  const made = el(
    "table",
    { id },
    el("caption", {}, el("span", {}, caption)),
    el("thead", {}, el("tr", {}, heads)),
    body,
  );
  return el("div", {}, region(caption, made), more);
}

function head(column, at, shown, draw) {
  const kind = column.number ? "number" : null;
  if (!column.sort) return el("th", { scope: "col", class: kind }, column.label);
  const sorted = () => {
    shown.down = shown.by === at ? !shown.down : Boolean(column.number);
    shown.by = at;
    shown.rows = [...shown.rows].sort((one, other) => compared(column.sort(one), column.sort(other), shown.down));
    draw();
  };
  return el(
    "th",
    { scope: "col", class: kind },
    el("button", { type: "button", class: "sort", click: sorted }, column.label),
  );
}

// Missing values come last in both sort orders.
function compared(one, other, down) {
  if (one === null || other === null) return (one === null) - (other === null);
  const order = typeof one === "string" ? one.localeCompare(other) : one - other;
  return down ? -order : order;
}

function cell(column, row, at) {
  const kind = column.number ? "number" : null;
  return at === 0
    ? el("th", { scope: "row", class: kind }, column.cell(row))
    : el("td", { class: kind }, column.cell(row));
}

function pager(shown, page, draw) {
  if (shown.count >= shown.rows.length) return [];
  const rest = Math.min(page * 4, shown.rows.length - shown.count);
  const grow = () => {
    shown.count += rest;
    draw();
  };
  const told = t("rows.shown", { n: whole(shown.count), all: whole(shown.rows.length) });
  return [`${told} `, el("button", { type: "button", click: grow }, t("rows.more", { n: whole(rest) }))];
}

function select(label, values, chosen, change, { all = null, word = flat } = {}) {
  const options = (all ? [["", all]] : []).concat(values.map((value) => [value, word(value)]));
  return el(
    "label",
    {},
    el("span", {}, label),
    el(
      "select",
      { change: (event) => change(event.target.value) },
      options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
    ),
  );
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
