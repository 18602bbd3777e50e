// The page of a live studio: shows what the program sends, and sends the user's joints back.

const RESTS_AFTER = 20000; // ms that a tab is hidden before it lets go: browsers allow six connections to a server
const SILENT = 20000; // ms without a sign of life from the program
const AGAIN = 2000; // ms until the next attempt, where the browser makes none by itself
const POST_EVERY = 50; // ms between joints that go back
const live = { source: null, place: "", page: "", heard: 0, again: 0, rest: 0, connected: null, set: new Map(), posting: false };
const liveSign = make("p", { id: "live", role: "status" });
element("summary").after(liveSign);

function showLive(connected) {
  if (live.connected === connected) return;
  live.connected = connected;
  liveSign.classList.toggle("notes", !connected);
  liveSign.textContent = connected ? "Live: showing what the program sends." : "Not connected: waiting for the program.";
}

// Relative, so that the page works behind a proxy; with the token that the page was opened with.
function liveAddress(path, more = {}) {
  const token = new URLSearchParams(location.search).get("token"), query = new URLSearchParams({ ...(token ? { token } : {}), ...more }).toString();
  return query ? `${path}?${query}` : path;
}

// ---- from the program ---------------------------------------------------------------------------------------------

function connectLive() {
  clearTimeout(live.again);
  if (live.source) live.source.close();
  const source = new EventSource(liveAddress("events", live.place ? { after: live.place } : {})), heard = () => { live.heard = performance.now(); };
  live.source = source;
  heard();
  source.addEventListener("beat", heard);
  source.addEventListener("hello", (event) => {
    const { page } = JSON.parse(event.data);
    heard();
    if (live.page && page !== live.page) { location.reload(); return; } // a program with another arm
    live.page = page;
    showLive(true);
  });
  source.addEventListener("message", (event) => {
    heard();
    live.place = event.lastEventId;
    takeMessage(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    showLive(false);
    if (source.readyState === EventSource.CLOSED) live.again = setTimeout(connectLive, AGAIN);
  });
}

// States arrive in batches.
function takeMessage(message) {
  if (message.type === "states") for (const row of message.rows) receive({ ...row, type: "state", arm: message.arm });
  else receive(message);
}

on(document, "visibilitychange", () => {
  clearTimeout(live.rest);
  if (document.hidden) live.rest = setTimeout(() => { clearTimeout(live.again); live.source?.close(); live.source = null; }, RESTS_AFTER);
  else if (!live.source) connectLive();
});
setInterval(() => { if (live.source && performance.now() - live.heard > SILENT) { showLive(false); connectLive(); } }, 5000);

// ---- to the program -----------------------------------------------------------------------------------------------

// The latest joints of each arm, one request at a time.
async function postJoints() {
  live.posting = true;
  while (live.set.size) {
    const [[arm, actor]] = live.set;
    live.set.delete(arm);
    const body = JSON.stringify({ arm, q: Array.from(actor.q) });
    try { await fetch(liveAddress("joints"), { method: "POST", headers: { "Content-Type": "application/json" }, body }); } catch { /* nobody is there to take them */ }
    await new Promise((resolve) => setTimeout(resolve, POST_EVERY));
  }
  live.posting = false;
}

poseListeners.push((actor) => {
  live.set.set(actor.index, actor);
  if (!live.posting) postJoints();
});

connectLive();
