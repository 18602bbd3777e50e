// Updates a scene before drawing: visibility, poses and colours; lines and labels.

const SHOWN = {
  bone: (scene) => !scene.useShapes,
  shape: (scene) => scene.useShapes,
  ellipsoid: () => show.ellipsoids, centre: () => show.centres, limit: (scene, item) => show.limits || nearStop(scene.actor, item.limit.joint),
  payload: () => show.payload && world.payload > 0,
  handle: (scene) => show.handle && !scene.locked,
};
SHOWN.drum = SHOWN.bone;
// Limits of a joint are shown while it is dragged or at its stop.
function nearStop(actor, j) {
  const g = gesture.active;
  return (g && g.kind === "joint" && g.actor === actor && g.freedom === j) || (clock.mode === "pose" && actor.touched && actor.stops[j] !== 0);
}
const RED = () => rgb(theme.inks.curve1);

// Theme colours for items without their own.
function tintOf(tint) {
  if (Array.isArray(tint)) return tint;
  if (typeof tint === "number") return rgb(colour(tint));
  if (tint === "bone") return mixed(rgb(theme.inks.bone), [1, 1, 1], theme.dark ? 0.12 : 0.5);
  if (tint === "hand") return mixed(rgb(theme.inks.bone), [1, 1, 1], 0.1);
  if (tint === "tube" || tint === "base") return tintOf("bone");
  if (tint === "drum") return mixed(rgb(theme.inks.edge), rgb(theme.inks.bone), 0.35);
  return rgb(tint[0] === "#" ? tint : theme.inks[tint] || theme.inks.bone);
}

function recolour(scene) {
  for (const item of scene.items) {
    item.colour = tintOf(item.tint);
    if (item.kind === "drum" || item.ghost) item.colour = mixed(item.colour, [1, 1, 1], theme.dark ? 0.04 : 0.2);
  }
  scene.stale = false;
}

function updateScene(scene, hovered) {
  if (scene.stale) recolour(scene);
  const { actor } = scene, through = show.ellipsoids || show.centres;
  scene.useShapes = show.shapes && scene.anyShapes;
  // A steel ball.
  const weight = world.payload, r = clamp(Math.cbrt((3 * weight) / (4 * Math.PI * 7850)), 0.012 * scene.size, 0.2 * scene.size);
  for (let i = 0; i < 3; i++) scene.ball.local[5 * i] = r;
  for (const item of scene.items) {
    const kind = item.ghost ? item.kind.slice(6) : item.kind;
    item.visible = SHOWN[kind](scene, item) && (!item.ghost || (show.wanted && actor.wanted !== null));
    if (!item.visible) continue;
    const places = item.ghost ? actor.ghosts : actor.places;
    if (item.limit) {
      placeLimit(item, places, actor.q, item.matrix);
      const stop = actor.stops[item.limit.joint];
      item.colour = stop ? RED() : tintOf(item.tint);
      item.alpha = item.needle || stop ? 1 : 0.5;
    } else product(item.matrix, places, item.local, placeOf(item.body));
    if (item.pick !== undefined) {
      item.alpha = through ? 0.42 : 1;
      item.flat = false;
      const bright = hovered && hovered.item && hovered.scene === scene && hovered.body === item.pick && item.pick >= 0;
      if (item.lit !== bright) { item.lit = bright; item.colour = mixed(tintOf(item.tint), rgb(theme.inks.focus), bright ? 0.4 : 0); }
    } else if (item.hand) {
      const bright = hovered && hovered.item === item;
      item.alpha = item.hand === "turn" ? (bright ? 1 : 0.55) : bright ? 0.99 : 0.85;
    }
  }
  updateLines(scene);
}

// ---- lines and names -------------------------------------------------------------------------------------------------

function addLine(lines, ax, ay, az, bx, by, bz, width, tint, alpha = 1, alphaEnd = alpha) {
  // Always whole rows of 256 lines.
  if (12 * (lines.count + 1) > lines.data.length) {
    const more = new Float32Array(2 * lines.data.length);
    more.set(lines.data);
    lines.data = more;
  }
  const d = lines.data, o = 12 * lines.count++;
  d[o] = ax; d[o + 1] = ay; d[o + 2] = az; d[o + 3] = width;
  d[o + 4] = bx; d[o + 5] = by; d[o + 6] = bz; d[o + 7] = alphaEnd;
  d[o + 8] = tint[0]; d[o + 9] = tint[1]; d[o + 10] = tint[2]; d[o + 11] = alpha;
}

function addTriad(scene, T, o, long) {
  for (let i = 0; i < 3; i++)
    addLine(scene.lines, T[o + 3], T[o + 7], T[o + 11], T[o + 3] + long * T[o + i], T[o + 7] + long * T[o + 4 + i], T[o + 11] + long * T[o + 8 + i], 2, rgb(colour([1, 2, 0][i])));
}

function updateLines(scene) {
  const { actor, lines, labels } = scene, { arm, places } = actor;
  lines.count = 0;
  labels.length = 0;
  if (show.trace && actor.run) addTrace(scene, actor.run);
  if (show.frames) addFrames(scene, arm, places);
  if (actor.pull) {
    const { from, to } = actor.pull, tint = rgb(theme.inks.focus);
    addLine(lines, ...from, ...to, 3, tint);
    labels.push({ p: to, text: `${short(actor.pull.size)} N` });
  }
  if (actor.target && actor.target.missed) {
    const h = handOf(actor), tint = RED();
    addLine(lines, places[h + 3], places[h + 7], places[h + 11], ...origin(actor.target.T), 2, tint);
    addTriad(scene, actor.target.T, 0, 0.06 * scene.size);
  }
}

const frameAt = new Float64Array(16);
function addFrames(scene, arm, places) {
  const put = (frames, body) => {
    for (const frame of frames) {
      product(frameAt, places, frame.pose, placeOf(body));
      addTriad(scene, frameAt, 0, 0.075 * scene.size);
      scene.labels.push({ p: origin(frameAt), text: cut(frame.name) });
    }
  };
  put(arm.base.frames, -1);
  arm.bodies.forEach((body, k) => put(body.frames, k));
  addTriad(scene, places, handOf(scene.actor), 0.1 * scene.size);
  scene.labels.push({ p: origin(places, handOf(scene.actor)), text: "hand" });
}

// The hand path: strong before the cursor, faint after it.
const MOST_POINTS = 4000;
function addTrace(scene, run) {
  const way = (run.way ||= { points: new Float32Array(4 * (MOST_POINTS + 1)), count: 0, gap: 1 / 60, next: -Infinity, row: 0, every: run.every });
  if (way.every !== run.every || way.row > run.count) Object.assign(way, { count: 0, next: -Infinity, row: 0, every: run.every });
  const q = new Float64Array(run.n), h = handOf(run.actor) - 16;
  if (run.about.kind === "recording" && !way.row) way.gap = (endOf(run) - startOf(run)) / MOST_POINTS;
  for (; way.row < run.count; way.row++) {
    const t = timeAt(run, way.row);
    if (t < way.next && way.row !== run.count - 1) continue;
    if (t < way.next) break;
    if (way.count === MOST_POINTS) {
      for (let k = 1; 2 * k < way.count; k++) way.points.copyWithin(4 * k, 8 * k, 8 * k + 4);
      way.count >>= 1;
      way.gap *= 2;
    }
    const o = way.row * run.width + run.at.position;
    q.set(run.data.subarray(o, o + run.n));
    const T = run.actor.engine.poses(q);
    way.points.set([t, T[h + 3], T[h + 7], T[h + 11]], 4 * way.count++);
    way.next = t + way.gap;
  }
  // Of a long run only the part near the cursor, to avoid clutter.
  const p = way.points, tint = rgb(colour(2)), now = clock.mode === "run" ? clock.t : Infinity, whole = endOf(run) - startOf(run) < 8;
  const middle = Math.min(now, endOf(run));
  for (let k = 1; k < way.count; k++) {
    const o = 4 * k;
    if (!whole && Math.abs(p[o] - middle) > 2.5) continue;
    addLine(scene.lines, p[o - 3], p[o - 2], p[o - 1], p[o + 1], p[o + 2], p[o + 3], 2, tint, p[o] <= now ? 0.9 : 0.25);
  }
}

// A ball around the present arm, for the camera; and the height of the ground.
function extentOf(actor) {
  const { arm, places } = actor, low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let k = -1; k <= arm.bodies.length; k++) {
    const p = origin(places, placeOf(k));
    for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], p[i]); high[i] = Math.max(high[i], p[i]); }
  }
  const centre = low.map((x, i) => (x + high[i]) / 2);
  return { centre, radius: Math.max(0.62 * Math.hypot(...low.map((x, i) => high[i] - x)), 0.52 * arm.reach), low };
}

// The ground: at zero under a standing arm, below everything that a hanging or lying arm reaches.
function groundOf(actor) {
  const base = actor.places[11], { low } = extentOf(actor), { reach } = actor.arm;
  return low[2] >= Math.min(base, 0) - 0.02 * reach ? Math.min(base, 0) : base - 1.05 * reach;
}
