// Finds tests that match the filters. Chunks are excluded by their cells, their outcomes and their trigram
// bitmaps; the remaining ones are loaded one at a time, until a page is full.

const CELL_KEYS = ["model", "concern", "requirement", "language", "input", "reflection"];
const COUNTED = {
  passed: "passed",
  failed: "failed",
  refused: "refused",
  unreadable: "unreadable",
  error: "errors",
  incomparable: "incomparable",
};

const fitting = (cells, asked) =>
  new Set(
    cells.flatMap((row, at) => {
      const same = CELL_KEYS.every((key) => !asked[key] || row[key] === asked[key]);
      return same && (!asked.outcome || row[COUNTED[asked.outcome]] > 0) ? [at] : [];
    }),
  );

// Number of matching tests, if the cells determine it; null if only the replies do.
function expected(cells, fit, asked) {
  if (asked.text || asked.community || asked.reply) return null;
  return [...fit].reduce(
    (sum, at) => sum + (asked.outcome ? cells[at][COUNTED[asked.outcome]] : cells[at].tests),
    0,
  );
}

// Ids are not in the bitmaps, since every chunk contains all trigrams of ids.
const MAYBE_ID = /^\S{20,}$/;

async function candidates(given, fit, asked) {
  const near = given.chunks.flatMap((one, at) => (one.cells.some((place) => fit.has(place)) ? [at] : []));
  if (!asked.text || MAYBE_ID.test(asked.text)) return near;
  const { bitmaps } = await chunk("search");
  const slots = trigramsOf(asked.text).map(slot);
  return near.filter((at) => holds(bitmaps[at], slots));
}

function trigramsOf(text) {
  const signs = [...text.toLowerCase()];
  return signs.slice(2).map((_, at) => signs.slice(at, at + 3));
}

// FNV-1a over code points, as used when the bitmaps were written.
function slot(trigram) {
  let hashed = 2166136261;
  for (const sign of trigram) hashed = Math.imul(hashed ^ sign.codePointAt(0), 16777619) >>> 0;
  return (hashed ^ (hashed >>> 15)) >>> 0;
}

function holds(bitmap, slots) {
  const bits = atob(bitmap);
  return slots.every((one) => {
    const at = one % (bits.length * 8);
    return bits.charCodeAt(at >> 3) & (1 << (at & 7));
  });
}

// The matching tests of a loaded chunk, each with its matching replies.
function matching(content, fit, asked) {
  const { tests, replies, texts } = content;
  const ends = replyEnds(tests, replies);
  const wanted = asked.text
    ? new Set(texts.flatMap((text, at) => (text.toLowerCase().includes(asked.text.toLowerCase()) ? [at] : [])))
    : null;
  return tests.place.flatMap((place, at) => {
    if (!fit.has(place) || (asked.outcome && texts[tests.outcome[at]] !== asked.outcome)) return [];
    const own = replyRange(ends, at);
    const found = own.filter((reply) => replyFits(content, reply, asked, wanted));
    const asksReplies =
      asked.community ||
      asked.reply ||
      (wanted && !wanted.has(tests.question[at]) && !wanted.has(tests.template[at]));
    return asksReplies && !found.length ? [] : [{ content, at, place, own, found: asksReplies ? found : own }];
  });
}

function replyEnds(tests, replies) {
  const ends = new Array(tests.place.length).fill(0);
  replies.test.forEach((test, at) => (ends[test] = at + 1));
  return ends.map((end, at) => Math.max(end, ...(at ? [ends[at - 1]] : [0])));
}

function replyRange(ends, at) {
  const begin = at ? ends[at - 1] : 0;
  return Array.from({ length: ends[at] - begin }, (_, step) => begin + step);
}

function replyFits({ replies, texts }, at, asked, wanted) {
  if (asked.reply && (replies.outcome[at] ?? "number") !== asked.reply) return false;
  if (asked.community && !(texts[replies.communities[at]] ?? "").split(" × ").includes(asked.community))
    return false;
  return (
    !wanted ||
    ["prompt", "text", "reason", "communities", "read_as", "error"].some((key) => wanted.has(replies[key][at])) ||
    replies.id[at] === asked.text
  );
}
