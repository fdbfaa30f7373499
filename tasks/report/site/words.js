// The page's texts in the reader's language.

const memory = {
  // Some browsers have no storage for local files, and throw an error.
  read(key) {
    try {
      return localStorage.getItem(`biasgrid.${key}`);
    } catch {
      return null;
    }
  },
  keep(key, value) {
    try {
      localStorage.setItem(`biasgrid.${key}`, value);
    } catch {
      return;
    }
  },
};

let spoken = WORDS[memory.read("language")] ? memory.read("language") : document.documentElement.dataset.language;

const locale = () => spoken.replace(/_(..)$/, (_, region) => `-${region.toUpperCase()}`);

function t(key, given = {}) {
  const text = WORDS[spoken][key];
  if (text === undefined) throw new Error(`no words for ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, one) => (given[one] === undefined ? `{${one}}` : given[one]));
}

// A warehouse value, such as `not met`; unknown values of newer versions are shown unchanged.
const valueWord = (value) => WORDS[spoken][`value.${value}`] ?? flat(value ?? "–");

const concern = (id) => WORDS[spoken][`concern.${id}`] ?? flat(id);

function counted(count, what) {
  const form = new Intl.PluralRules(locale()).select(count) === "one" ? "one" : "other";
  return t(`${what}.${form}`, { n: whole(count) });
}

const whole = (value) => (value === null ? "–" : new Intl.NumberFormat(locale()).format(value));

function number(value, digits = 1) {
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value === null ? "–" : new Intl.NumberFormat(locale(), format).format(value);
}

const share = (value) => (value === null ? "–" : `${number(value * 100)}${spoken.startsWith("es") ? "\u00a0" : ""}%`);

function signed(value) {
  if (value === null) return "–";
  const points = Math.round(value * 1000) / 10 || 0;
  return `${points < 0 ? "−" : "+"}${number(Math.abs(points))}`;
}

const small = (value) => (value === null ? "–" : value < 0.0005 ? `< ${number(0.001, 3)}` : number(value, 3));

const span = (low, high) => (low === null ? "–" : `${number(low * 100)}–${number(high * 100)}`);

function moment(text) {
  const format = { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" };
  return text ? `${new Intl.DateTimeFormat(locale(), format).format(new Date(text))} UTC` : "–";
}
