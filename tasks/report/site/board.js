// Models in lines of one height, requirements in columns. What is behind a cell shows on hover and focus.

// Lines that are drawn at first, and whenever the reader gets near the last one: a hundred at once take too long.
const LINES = 40;

// `models`: {model, state, verdict, is_examined, refused, tests}, best supported first; `link(row, …children)`: a link
// to the tests behind a finding; `tools(chosen)`: what stands next to the filter.
function board(models, findings, link, { usd = null, choose = null } = {}) {
  const columns = [...grouped(findings, (row) => row.requirement).values()].map(([first]) => first);
  const single = distinct(columns.map((row) => row.concern)).length === columns.length;
  const own = grouped(findings, (row) => row.model);
  const behindCells = new Map();
  const lines = models.map((one, at) => {
    const rows = new Map((own.get(one.model) ?? []).map((row) => [row.requirement, row]));
    const cost = usd?.get(one.model) ?? null;
    const draw = () => {
      const cells = columns.map((column) => boardCell(rows.get(column.requirement), link, behindCells));
      return boardLine(one, cells, cost, usd, choose);
    };
    return { ...one, at, rows, cost, draw };
  });
  const sorts = {
    model: (line) => line.model,
    verdict: (line) => line.at,
    refused: (line) => line.refused,
    tests: (line) => line.tests,
    cost: (line) => line.cost,
  };
  columns.forEach(({ requirement }) => (sorts[`at ${requirement}`] = (line) => line.rows.get(requirement)?.rate ?? null));
  const headOf = (key, label, kind = "number") => ({ key, kind, label });
  const heads = [
    headOf("model", t("model"), null),
    headOf("verdict", t("verdict"), "verdict"),
    ...columns.map((row) => headOf(`at ${row.requirement}`, columnLabel(row, single))),
    headOf("refused", t("refused")),
    headOf("tests", t("tests.count")),
    ...(usd ? [headOf("cost", t("usd.short"))] : []),
  ];
  return boardTable({ lines, heads, sorts, behindCells, choose });
}

const columnLabel = (row, single) => [
  single ? concern(row.concern) : name(row.requirement),
  faintLine(`≥ ${number(row.tolerance * 100, 0)}%`),
];

function boardTable({ lines, heads, sorts, behindCells, choose }) {
  const bodies = [el("tbody"), el("tbody")];
  const divide = el("tr", { class: "divide" }, el("th", { colspan: heads.length, scope: "rowgroup" }, t("board.apart")));
  const card = el("div", { class: "card", hidden: true, "aria-hidden": "true" });
  const none = el("p", { class: "faint", hidden: true }, t("rows.none"));
  const count = el("span", { class: "faint", role: "status" });
  const ths = heads.map((one) => {
    const click = () => {
      const asked = askedFor();
      const down = asked.by === one.key ? !asked.down : one.kind === "number";
      remember({ by: one.key, down: down ? "1" : null });
    };
    return el("th", { scope: "col", class: one.kind }, el("button", { type: "button", class: "sort", click }, one.label));
  });
  const input = (event) => remember({ find: event.target.value.trim() });
  const find = el("input", { type: "search", value: askedFor().find ?? "", input });
  const shown = { lines: [], count: LINES };
  const place = () => {
    const now = shown.lines.slice(0, shown.count);
    now.forEach((line) => (line.tr ??= line.draw()));
    const apart = now.filter((line) => !line.is_examined).map((line) => line.tr);
    bodies[0].replaceChildren(...now.filter((line) => line.is_examined).map((line) => line.tr));
    bodies[1].replaceChildren(...(apart.length ? [divide, ...apart] : []));
    const { state } = askedFor();
    behindCells.forEach((row, td) => td.classList.toggle("off", Boolean(state) && row.decision !== state));
  };
  const grow = (count) => {
    if (shown.count >= shown.lines.length) return;
    shown.count = count;
    place();
  };
  const show = (asked) => {
    const by = sorts[asked.by] ? asked.by : "verdict";
    const down = sorts[asked.by] && Boolean(asked.down);
    const order = (one, other) => compared(sorts[by](one), sorts[by](other), down) || one.at - other.at;
    const sorted = lines.filter((line) => lineFits(line, asked)).sort(order);
    shown.lines = [...sorted.filter((line) => line.is_examined), ...sorted.filter((line) => !line.is_examined)];
    shown.count = LINES;
    heads.forEach(({ key }, at) =>
      ths[at].setAttribute("aria-sort", key !== by ? "none" : down ? "descending" : "ascending"),
    );
    none.hidden = sorted.length > 0;
    count.textContent = sorted.length < lines.length ? t("board.shown", { n: whole(sorted.length), all: whole(lines.length) }) : "";
    place();
  };
  watch(show);
  show(askedFor());
  const made = el(
    "table",
    { class: "board" },
    el("caption", { class: "unseen" }, t("board.caption")),
    el("thead", {}, el("tr", {}, ths)),
    bodies,
  );
  const frame = region(t("table", { name: t("board") }), made);
  frame.classList.add("tall");
  frame.addEventListener("scroll", () => {
    if (frame.scrollTop + 2 * frame.clientHeight > frame.scrollHeight) grow(shown.count + LINES);
  });
  window.addEventListener("beforeprint", () => grow(lines.length));
  hover(frame, card, behindCells);
  const tools = [lines.length > 8 && el("label", {}, el("span", {}, t("board.find")), find), choose?.link, count];
  return [el("div", { class: "choices no-print" }, tools), frame, none, card];
}

const lineFits = (line, asked) =>
  (!asked.find || line.model.toLowerCase().includes(asked.find.toLowerCase()))
  && (!asked.state || [...line.rows.values()].some((row) => row.decision === asked.state));

function boardLine(one, cells, cost, usd, choose) {
  const sign = el("span", { class: `symbol ${tone(one.state)}`, "aria-hidden": "true" }, SIGNS[one.state]);
  return el(
    "tr",
    { "data-model": one.model, "data-state": one.state },
    el("th", { scope: "row", title: flat(one.model) }, choose?.box(one), sign, modelName(one.model)),
    el("td", { class: `verdict ${tone(one.state)}` }, one.verdict[spoken]),
    cells,
    el("td", { class: "number" }, share(one.refused)),
    el("td", { class: "number" }, whole(one.tests)),
    usd && el("td", { class: "number" }, cost === null ? "–" : number(cost, 2)),
  );
}

function boardCell(row, link, behindCells) {
  if (!row) return el("td", { class: "cell faint" }, "·");
  const rate = row.rate !== null && number(row.rate * 100);
  const sign = el("span", { class: "symbol" }, SIGNS[row.decision]);
  const { model, requirement, decision } = row;
  const given = { class: `cell ${tone(decision)}`, "data-model": model, "data-requirement": requirement };
  const content = link(row, rate, sign);
  const word = valueWord(decision);
  if (content.localName === "a") content.setAttribute("aria-label", [rate, word].filter(Boolean).join(" "));
  const td = el("td", { ...given, "data-decision": decision }, content, content.localName !== "a" && unseen(` ${word}`));
  behindCells.set(td, row);
  return td;
}

// The card of a cell stands below it, within the window.
function hover(frame, card, behindCells) {
  const hide = () => (card.hidden = true);
  const open = (event) => {
    const td = event.target.closest("td");
    const row = behindCells.get(td);
    if (!row) return hide();
    card.replaceChildren(...[cardOf(row)].flat(Infinity).filter(Boolean));
    card.hidden = false;
    const at = td.getBoundingClientRect();
    card.style.left = `${Math.max(8, Math.min(at.left, innerWidth - card.offsetWidth - 8))}px`;
    const below = at.bottom + 4;
    card.style.top = `${below + card.offsetHeight > innerHeight ? at.top - card.offsetHeight - 4 : below}px`;
  };
  frame.addEventListener("mouseover", open);
  frame.addEventListener("focusin", open);
  frame.addEventListener("mouseleave", hide);
  frame.addEventListener("focusout", hide);
  frame.addEventListener("scroll", hide);
}

const cardOf = (row) => [
  el("p", {}, el("b", {}, name(row.requirement)), " ", badge(row.decision)),
  row.rate !== null && [
    interval(row.rate, row.interval_low, row.interval_high, row.tolerance),
    el("p", { class: "axis-labels" }, el("span", {}, "0%"), el("span", {}, "50%"), el("span", {}, "100%")),
    el("p", {}, el("b", {}, share(row.rate)), ` (${span(row.interval_low, row.interval_high)}) ${row.worst_language ?? ""}`),
  ],
  behind(row).map((part) => el("p", {}, part)),
];

function behind(row) {
  const counts = { passed: whole(row.measured_passed ?? null), measured: whole(row.measured ?? null) };
  return [
    row.measured > 0 && t(`measured.${row.measure}`, counts),
    row.not_evaluated_because,
    row.judge_overturned > 0 &&
      t("judge.overturned", { overturned: whole(row.judge_overturned), decided: whole(row.judge_decided) }),
    needed(row),
    row.refusal_rate >= 0.05 && t("refused.share", { share: share(row.refusal_rate) }),
    !row.is_complete && t("incomplete", { share: share(row.coverage) }),
  ].filter(Boolean);
}

// Two models to compare, by a box in the line of each.
function twoModels(models) {
  const chosen = [];
  const boxes = new Map();
  const link = el("a", { class: "button" }, t("compare.two"));
  const examined = models.filter((one) => one.is_examined).map((one) => one.model);
  const aim = () => {
    const [a, b] = chosen.length === 2 ? chosen : examined;
    link.setAttribute("href", compareAddress({ a, b }));
  };
  const change = (model) => (event) => {
    if (event.target.checked) chosen.push(model);
    else chosen.splice(chosen.indexOf(model), 1);
    if (chosen.length > 2) boxes.get(chosen.shift()).checked = false;
    aim();
  };
  aim();
  const box = ({ model }) => {
    const label = t("compare.choose", { model: flat(model) });
    const made = el("input", { type: "checkbox", class: "no-print", "aria-label": label, change: change(model) });
    boxes.set(model, made);
    return made;
  };
  return examined.length > 1 ? { link, box } : null;
}
