// Creates elements from names, attributes and children. A text is always plain text: nothing here parses markup.

// The same characters as in catalogs/text_safety.py.
const HIDDEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  const shown = children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false);
  node.append(...shown.map((child) => (typeof child === "number" ? String(child) : child)));
  return node;
}

const el = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

const svg = (name, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Untrusted text: control and format characters, which can hide or reorder its contents, are shown by their code
// points.
function plain(text) {
  const parts = String(text)
    .replaceAll("\r\n", "\n")
    .split(new RegExp(`(${HIDDEN.source})`, "u"));
  return parts.map((part, at) => (at % 2 ? el("span", { class: "sign" }, codepoint(part)) : part));
}

// The same with what a reader looks for marked.
function marked(text, wanted = "") {
  const [lower, key] = [text.toLowerCase(), wanted.toLowerCase()];
  if (!key || lower.length !== text.length) return plain(text);
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(key); at >= 0; at = lower.indexOf(key, from)) {
    parts.push(plain(text.slice(from, at)), el("mark", {}, plain(text.slice(at, at + key.length))));
    from = at + key.length;
  }
  return [...parts, plain(text.slice(from))];
}

// So much of a text, in one line, that what is looked for is in it.
const SNIPPET = 160;
function snippet(text, wanted = "") {
  const line = text.replace(/\s+/g, " ");
  const from = Math.max(0, line.toLowerCase().indexOf(wanted.toLowerCase()) - SNIPPET / 4);
  return [from > 0 && "…", marked(line.slice(from, from + SNIPPET), wanted), from + SNIPPET < line.length && "…"];
}

const codepoint = (sign) => `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// The same as a string, for titles and options.
const flat = (text) => String(text).replace(new RegExp(HIDDEN.source, "gu"), codepoint);

const name = (text) => el("bdi", {}, plain(text));

// `provider/model`, with a possible line break after the slash.
const modelName = (text) =>
  el("bdi", {}, text.split(/(?<=\/)/).flatMap((part) => [plain(part), el("wbr")]));

const faint = (...children) => el("span", { class: "faint" }, ...children);

const faintLine = (...children) => el("span", { class: "line faint" }, ...children);

// For screen readers alone.
const unseen = (...children) => el("span", { class: "unseen" }, ...children);

const code = (text) => el("code", {}, plain(text));

// Converts a chunk's columns to a list of rows.
function rowsOf(columns) {
  const names = Object.keys(columns);
  const length = names.length ? columns[names[0]].length : 0;
  return Array.from({ length }, (_, at) => Object.fromEntries(names.map((one) => [one, columns[one][at]])));
}

const pick = (row, keys) => Object.fromEntries(keys.map((key) => [key, row[key]]));

const distinct = (values) => [...new Set(values)];

function grouped(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    const own = key(row);
    if (!groups.has(own)) groups.set(own, []);
    groups.get(own).push(row);
  }
  return groups;
}
