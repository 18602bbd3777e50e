// Search without a server. Functions of plain data: site.js shows what they find, tests run them in Node.
//
// A section is [page, anchor, path of headings, text], a page [address, title]. Every word of a query has to begin a word of the
// section; a word in the title of the page counts most, then one in the section's heading, then one in its text.

const WEIGHTS = { title: 12, heading: 8, text: 1 }, WHOLE = 2, MOST = 40, AROUND = 70;

// What is typed as words; "dynamics.inverse" is one, and so is what follows "fa.".
function wordsOf(query) {
  const words = query.toLowerCase().split(/[^\p{L}\p{N}_.]+/u).map((word) => word.replace(/^\.+|\.+$/g, "").replace(/^fa\./, ""));
  return [...new Set(words.filter(Boolean))];
}

// Words have no other sign that means something in a regular expression.
const escaped = (word) => word.replace(/\./g, "\\.");
// The beginning of a word: a dot or an underscore in a name also starts one.
const beginning = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(word)}`, "giu");
const whole = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(word)}(?![\\p{L}\\p{N}_])`, "iu");

// How well a word fits a text: 0 not at all, more for a whole word, and slightly more where it is often found.
function fit(patterns, text) {
  const found = text.match(patterns.begins);
  if (!found) return 0;
  return (patterns.is.test(text) ? WHOLE : 1) + Math.log2(found.length) / 4;
}

// The score of a section, 0 unless every word is in it, in its headings or in the title of its page.
function score(words, title, heading, text) {
  let sum = 0;
  for (const word of words) {
    const parts = WEIGHTS.title * fit(word, title) + WEIGHTS.heading * fit(word, heading) + WEIGHTS.text * fit(word, text);
    if (!parts) return 0;
    sum += parts;
  }
  return sum;
}

// The best sections for a query, best first: { url, page, heading, excerpt }.
function search(index, query) {
  const words = wordsOf(query).map((word) => ({ begins: beginning(word), is: whole(word) }));
  if (!words.length) return [];
  const found = [];
  index.sections.forEach(([page, anchor, heading, text], order) => {
    const [address, title] = index.pages[page];
    // The beginning of a page stands for the page; other sections count their own heading before its title.
    const points = score(words, anchor ? "" : title, heading, text) || 0.5 * score(words, title, heading, text);
    if (points) found.push({ points, order, url: anchor ? `${address}#${anchor}` : address, page: title, heading, text });
  });
  found.sort((a, b) => b.points - a.points || a.order - b.order);
  return found.slice(0, MOST).map(({ url, page, heading, text }) => ({ url, page, heading, excerpt: excerpt(text, words) }));
}

// The surroundings of the first hit, cut at spaces.
function excerpt(text, words) {
  const places = words.map(({ begins }) => text.search(begins)).filter((place) => place >= 0);
  const first = places.length ? Math.min(...places) : 0;
  let from = Math.max(0, first - AROUND), to = Math.min(text.length, first + 2 * AROUND);
  if (from > 0) from = text.indexOf(" ", from) + 1 || from;
  if (from > first) from = first;
  if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), first + 1);
  return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
}

// A text in pieces [text, whether it is a hit].
function marked(text, query) {
  const words = wordsOf(query);
  if (!words.length) return [[text, false]];
  const hits = new RegExp(words.map((word) => beginning(word).source).join("|"), "giu"), pieces = [];
  let end = 0;
  for (const hit of text.matchAll(hits)) {
    if (hit.index > end) pieces.push([text.slice(end, hit.index), false]);
    pieces.push([hit[0], true]);
    end = hit.index + hit[0].length;
  }
  if (end < text.length) pieces.push([text.slice(end), false]);
  return pieces;
}

if (typeof module !== "undefined") module.exports = { excerpt, marked, search, wordsOf };
