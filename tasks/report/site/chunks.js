// Loads data on demand: `data/<name>.js`, a script that provides one value. No other URL is ever requested.

const KEPT = 12;
const arrived = new Map();
const waiting = new Map();

const addresses = window.trustedTypes
  ? window.trustedTypes.createPolicy("biasgrid", { createScriptURL: ours })
  : { createScriptURL: ours };

function ours(address) {
  if (!/^data\/[a-z]+(-\d+)?\.js$/.test(address)) throw new TypeError(`no chunk of this report: ${address}`);
  return address;
}

window.biasgrid = (name, content) => {
  arrived.set(name, content);
  waiting.get(name)?.settle(content);
};

function chunk(name) {
  if (arrived.has(name)) return Promise.resolve(used(name));
  if (!waiting.has(name)) waiting.set(name, asked(name));
  return waiting.get(name).promise;
}

// The most recently used chunks of tests are kept, to limit memory during a long search.
function used(name) {
  const content = arrived.get(name);
  arrived.delete(name);
  arrived.set(name, content);
  const tests = [...arrived.keys()].filter((one) => one.startsWith("tests-"));
  tests.slice(0, -KEPT).forEach((one) => arrived.delete(one));
  return content;
}

function asked(name) {
  const script = el("script", {});
  const found = {};
  found.promise = new Promise((resolve, reject) => {
    found.settle = resolve;
    script.addEventListener("error", () => reject(new Error(`data/${name}.js`)));
  });
  script.src = addresses.createScriptURL(`data/${name}.js`);
  const done = () => {
    waiting.delete(name);
    script.remove();
  };
  found.promise.then(done, done);
  document.head.append(script);
  return found;
}

// What is below the first view is built part by part while the browser is idle, and at once for paper.
const queue = [];

function afterwards(build) {
  const place = el("div", { "aria-busy": "true" });
  queue.push(() => {
    place.replaceChildren(...[build()].flat(Infinity).filter(Boolean));
    place.removeAttribute("aria-busy");
  });
  if (queue.length === 1) whenIdle(buildNext);
  return place;
}

const whenIdle = (act) => (window.requestIdleCallback ? requestIdleCallback(act, { timeout: 500 }) : setTimeout(act, 50));

function buildNext() {
  queue.shift()?.();
  if (queue.length) whenIdle(buildNext);
}

window.addEventListener("beforeprint", () => {
  while (queue.length) queue.shift()();
});

// A placeholder that is filled when a chunk is loaded, or names the missing file.
function later(name, build) {
  const place = el("div", { "aria-busy": "true" }, el("p", { class: "faint" }, t("loading")));
  chunk(name)
    .then((content) => place.replaceChildren(...[build(content)].flat(Infinity).filter(Boolean)))
    .catch((error) => place.replaceChildren(missing(error)))
    .finally(() => place.removeAttribute("aria-busy"));
  return place;
}

const missing = (error) => el("p", { class: "bad", role: "alert" }, t("missing", { file: error.message }));
