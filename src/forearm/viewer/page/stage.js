// The stage: a canvas with a renderer, an area for each arm on it, labels above it, and the loop that draws
// on changes.

const stage = { renderer: null, canvas: null, areas: [], ratio: 1, quality: 1, hovered: null, times: new Float64Array(60), frames: 0, last: 0, drawn: 0, asked: false, floors: [], width: 1, height: 1 };
const view = element("view"), names = element("names"), compass = element("compass");

function makeStage() {
  stage.canvas?.remove();
  stage.canvas = make("canvas", { "aria-hidden": "true" });
  view.prepend(stage.canvas);
  stage.renderer = stage.painted ? null : glRenderer(stage.canvas);
  if (!stage.renderer) {
    // A canvas that was asked for WebGL provides no 2D context.
    stage.canvas.remove();
    stage.canvas = make("canvas", { "aria-hidden": "true" });
    view.prepend(stage.canvas);
    stage.renderer = painter(stage.canvas);
  }
  on(stage.canvas, "webglcontextlost", (event) => {
    event.preventDefault();
    stage.renderer = null;
    // The context is lost for good: use the painter.
    stage.waiting = setTimeout(() => { stage.painted = true; makeStage(); }, 800);
  });
  on(stage.canvas, "webglcontextrestored", () => { clearTimeout(stage.waiting); makeStage(); });
  element("renderer").textContent = stage.renderer.kind === "webgl" ? "" : "drawn without WebGL";
  const heavy = stage.renderer.kind === "canvas" && data.meshes.reduce((sum, mesh) => sum + mesh.triangles.length, 0) > 150000;
  if (heavy) { show.shapes = false; }
  makeScenes();
}

function makeScenes() {
  scenes.length = 0;
  for (const actor of actors) {
    const now = Float64Array.from(actor.places);
    scenes.push(makeScene(actor, stage.renderer ? stage.renderer.sides : 12));
    actor.places.set(now);
  }
  stage.floors = actors.map((actor) => groundOf(actor));
  changed();
}

// ---- areas ---------------------------------------------------------------------------------------------------------

function layOut() {
  // Not while hidden, as on paper.
  if (view.clientWidth && view.clientHeight) { stage.width = view.clientWidth; stage.height = view.clientHeight; }
  const { width, height } = stage, many = scenes.length;
  const beside = many > 1 && width >= height;
  while (stage.areas.length < many) stage.areas.push({ x: 0, y: 0, width: 1, height: 1, clip: new Float64Array(16) });
  stage.areas.length = many;
  stage.areas.forEach((area, k) => {
    area.width = beside ? width / many : width;
    area.height = beside || many === 1 ? height : height / many;
    area.x = beside ? k * area.width : 0;
    area.y = beside ? 0 : k * area.height;
  });
  stage.ratio = Math.min(window.devicePixelRatio || 1, 2);
  view.classList.toggle("beside", beside);
  view.classList.toggle("stacked", many > 1 && !beside);
}

function sized(canvas, ratio, width = stage.width, height = stage.height) {
  const w = Math.max(Math.round(width * ratio), 1), h = Math.max(Math.round(height * ratio), 1);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
}

function fitView(animated = true) {
  const extents = actors.map((actor) => extentOf(actor)), radius = Math.max(...extents.map((e) => e.radius));
  const centre = [0, 1, 2].map((i) => extents.reduce((sum, e) => sum + e.centre[i], 0) / extents.length);
  const before = { target: camera.target, distance: camera.distance };
  fitCamera(centre, radius);
  const to = { target: camera.target, distance: camera.distance };
  if (!animated) return;
  Object.assign(camera, before);
  lookFrom(camera.yaw, camera.pitch, to.target, to.distance);
  changed();
}

function lookAt(name) {
  if (!VIEWS[name]) return;
  lookFrom(...VIEWS[name]);
  changed();
}

// ---- drawing ---------------------------------------------------------------------------------------------------------

const viewsNow = [];
function drawStage(quality = stage.quality) {
  if (!stage.renderer || !scenes.length) return;
  const ratio = stage.ratio * quality;
  sized(stage.canvas, ratio);
  aimCamera();
  viewsNow.length = scenes.length;
  scenes.forEach((scene, k) => {
    const area = stage.areas[k], shown = (viewsNow[k] ||= {});
    clipMatrix(area.clip, area.width, area.height);
    scene.locked = clock.playing;
    updateScene(scene, stage.hovered);
    shown.area = area;
    shown.items = scene.items;
    shown.lines = scene.lines;
    shown.floor = stage.floors[k];
    shown.size = scene.size;
    shown.cell = nice(scene.size / 10);
    shown.ground = show.ground;
    shown.centre = origin(scene.actor.places);
  });
  stage.renderer.draw(viewsNow, ratio);
  drawNames();
  drawCompass();
  stage.drawn++;
}

function drawNames() {
  const any = scenes.some((scene) => scene.labels.length);
  names.hidden = !any;
  if (!any) return;
  sized(names, stage.ratio);
  const pen = names.getContext("2d", ON_CPU), spot = {};
  pen.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
  pen.clearRect(0, 0, stage.width, stage.height);
  pen.font = "12px system-ui, sans-serif";
  pen.lineJoin = "round";
  pen.lineWidth = 3;
  pen.strokeStyle = theme.inks.paper;
  pen.fillStyle = theme.inks.ink;
  scenes.forEach((scene, k) => {
    const taken = [];
    for (const { p, text } of scene.labels) {
      project(stage.areas[k], p, spot);
      if (spot.depth < 1e-3) continue;
      let { y } = spot;
      // Labels do not overlap.
      for (let tries = 0; tries < 12 && taken.some((t) => Math.abs(t.y - y) < 13 && Math.abs(t.x - spot.x) < 90); tries++) y += 13;
      taken.push({ x: spot.x, y });
      pen.strokeText(text, spot.x + 8, y - 5);
      pen.fillText(text, spot.x + 8, y - 5);
    }
  });
}

function drawCompass() {
  const key = `${camera.yaw} ${camera.pitch} ${theme.dark} ${stage.ratio}`;
  if (compass.dataset.key === key) return;
  compass.dataset.key = key;
  sized(compass, stage.ratio, 76, 76);
  const pen = compass.getContext("2d", ON_CPU);
  pen.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
  pen.clearRect(0, 0, 76, 76);
  pen.font = "600 11px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = 2.2;
  pen.lineCap = "round";
  for (const i of [0, 1, 2].sort((a, b) => camera.away[b] - camera.away[a])) {
    pen.strokeStyle = pen.fillStyle = colour([1, 2, 0][i]);
    pen.beginPath();
    pen.moveTo(38, 38);
    pen.lineTo(38 + 22 * camera.right[i], 38 - 22 * camera.up[i]);
    pen.stroke();
    pen.fillText("xyz"[i], 38 + 31 * camera.right[i], 38 - 31 * camera.up[i]);
  }
}

// The view as a picture with the page's background colour, at screen resolution.
function picture(width = 0) {
  const ratio = width ? width / stage.width : Math.max(stage.ratio, 2), sheet = make("canvas"), before = stage.ratio;
  stage.ratio = Math.min(ratio, 4);
  drawStage(1);
  sheet.width = stage.canvas.width;
  sheet.height = stage.canvas.height;
  const pen = sheet.getContext("2d");
  pen.fillStyle = theme.inks.paper;
  pen.fillRect(0, 0, sheet.width, sheet.height);
  pen.drawImage(stage.canvas, 0, 0);
  if (!names.hidden) pen.drawImage(names, 0, 0, sheet.width, sheet.height);
  stage.ratio = before;
  changed();
  return sheet;
}

// ---- the loop --------------------------------------------------------------------------------------------------------

function changed() {
  if (stage.asked) return;
  stage.asked = true;
  requestAnimationFrame(frame);
}

function frame(now) {
  stage.asked = false;
  const gap = stage.last ? now - stage.last : 0, ran = clock.playing;
  const more = advanceClock(gap / 1000) | advanceFlight(now) | advanceGlide(now);
  const going = Boolean(ran || more);
  if (gap > 0 && gap < 500 && stage.going) stage.times[stage.frames++ % stage.times.length] = gap;
  stage.quality = going || gesture.active ? adapted(gap) : (stage.renderer && stage.renderer.still) || 1;
  drawStage();
  for (const listener of stage.listeners) listener(now, going);
  stage.going = going;
  stage.last = more || gesture.active ? now : 0;
  // Once more at full quality after the last frame.
  if (going) changed();
}
stage.listeners = [];

// Slow machines draw fewer pixels during motion, and all of them at rest.
const pace = { mean: 16, level: 1, count: 0 };
function adapted(gap) {
  if (gap > 0 && gap < 200) pace.mean += 0.12 * (gap - pace.mean);
  if (++pace.count > 24 && pace.mean > 28 && pace.level > 0.5) { pace.level = pace.level > 0.7 ? 0.7 : 0.5; pace.count = 0; pace.mean = 20; }
  return pace.level;
}

function framesPerSecond() {
  const many = Math.min(stage.frames, stage.times.length);
  if (!many) return 0;
  let sum = 0;
  for (let k = 0; k < many; k++) sum += stage.times[k];
  return (1000 * many) / sum;
}

// Animate joints to a pose if motion is allowed.
const glide = { list: null, start: 0 };
// [[actor, q], ...].
function glideTo(targets) {
  if (calm.matches) { for (const [actor, q] of targets) setPose(actor, q); return; }
  glide.list = targets.map(([actor, q]) => ({ actor, from: Float64Array.from(actor.q), to: Float64Array.from(q) }));
  glide.start = performance.now();
  changed();
}
function advanceGlide(now) {
  if (!glide.list) return false;
  const s = clamp((now - glide.start) / 320, 0, 1), e = s * s * (3 - 2 * s), list = glide.list;
  if (s >= 1) glide.list = null;
  for (const { actor, from, to } of list) setPose(actor, s >= 1 ? to : from.map((x, j) => x + e * (to[j] - x)), false);
  return s < 1;
}
