"use strict";
(() => {
  const motion = JSON.parse(document.getElementById("motion").textContent);
  const element = (id) => document.getElementById(id);
  const WIDTH = 1.6; // px, of a curve
  const night = matchMedia("(prefers-color-scheme: dark)"), paper = matchMedia("print");
  let printing = false;
  const isDark = () => night.matches && !printing && !paper.matches;
  const { dashes: DASHES, curves: CURVES } = motion.look;
  let inks = motion.look.inks[isDark() ? "dark" : "light"];
  const colour = (i) => inks[`curve${i % CURVES}`];
  const dashes = (i, width) => DASHES[i % DASHES.length].map((part) => part * width);
  const GREEN = 2; // its place among the curves: the hand
  const N = motion.frames, span = motion.end - motion.start;
  const n = motion.joints.length;
  const shown = motion.joints.map(() => true);

  // ---- numbers -------------------------------------------------------------------------------------------------

  // Little-endian float32, one series after the other.
  function decoded(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float32Array.from({ length: bytes.length / 4 }, (_, k) => view.getFloat32(4 * k, true));
  }
  for (const panel of motion.panels) {
    const all = decoded(panel.data);
    panel.series = panel.names.map((_, k) => all.subarray(k * N, (k + 1) * N));
  }
  const q = motion.panels[0].series;
  const timeOf = (frame) => motion.start + (N > 1 ? (span * frame) / (N - 1) : 0);
  const frameOf = (t) => (span > 0 ? ((t - motion.start) / span) * (N - 1) : 0);
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

  function valueAt(series, frame) {
    const i = clamp(Math.floor(frame), 0, N - 1), j = Math.min(i + 1, N - 1);
    return series[i] + (frame - i) * (series[j] - series[i]);
  }

  function short(x) {
    if (!Number.isFinite(x)) return "-";
    const size = Math.abs(x);
    return size !== 0 && (size >= 1e5 || size < 1e-3) ? x.toExponential(1) : x.toFixed(size >= 100 ? 1 : 3);
  }

  // Names often begin alike: the middle of a long one is left out.
  const cut = (name) => (name.length <= 28 ? name : `${name.slice(0, 12)}...${name.slice(-14)}`);

  // ---- the arm: T_parent_body = before . motion(axis, q) . after, poses as 16 numbers, rows first --------------------

  function product(A, B) {
    const C = new Float64Array(16);
    for (let i = 0; i < 4; i++)
      for (let j = 0; j < 4; j++)
        for (let k = 0; k < 4; k++) C[4 * i + j] += A[4 * i + k] * B[4 * k + j];
    return C;
  }

  function moved(turns, [x, y, z], value) {
    if (!turns) return [1, 0, 0, x * value, 0, 1, 0, y * value, 0, 0, 1, z * value, 0, 0, 0, 1];
    const c = Math.cos(value), s = Math.sin(value), v = 1 - c;
    return [
      c + x * x * v, x * y * v - z * s, x * z * v + y * s, 0,
      x * y * v + z * s, c + y * y * v, y * z * v - x * s, 0,
      x * z * v - y * s, y * z * v + x * s, c + z * z * v, 0,
      0, 0, 0, 1,
    ];
  }

  const origin = (T) => [T[3], T[7], T[11]];
  const turned = (T, a) => [0, 1, 2].map((i) => T[4 * i] * a[0] + T[4 * i + 1] * a[1] + T[4 * i + 2] * a[2]);

  function skeletonAt(frame) {
    const poses = [], strokes = [], joints = [];
    const join = (a, b) => { if (a.some((x, i) => Math.abs(x - b[i]) > 1e-9)) strokes.push([a, b]); };
    for (const body of motion.bodies) {
      const parent = body.parent < 0 ? motion.base : poses[body.parent];
      const value = body.multiplier * valueAt(q[body.freedom], frame) + body.offset;
      const fixed = product(parent, body.before);
      const after = product(fixed, moved(body.turns, body.axis, value));
      const pose = product(after, body.after);
      poses.push(pose);
      const stops = [parent, fixed, after, pose].map(origin);
      for (let k = 0; k < 3; k++) join(stops[k], stops[k + 1]);
      joints.push({ point: stops[1], axis: turned(fixed, body.axis), turns: body.turns, freedom: body.freedom });
    }
    const carrier = motion.hand.body < 0 ? motion.base : poses[motion.hand.body];
    const hand = origin(product(carrier, motion.hand.pose));
    join(origin(carrier), hand);
    return { strokes, joints, hand };
  }

  // ---- the view: perspective, turned about the vertical and tilted ---------------------------------------------------

  const view = element("view");
  const HOME = { yaw: -0.95, pitch: 0.36, zoom: 1 };
  const camera = { ...HOME };
  const trace = Array.from({ length: N }, (_, k) => skeletonAt(k).hand);
  const scene = extent();

  function extent() {
    const low = origin(motion.base), high = origin(motion.base);
    for (let k = 0; k < 120; k++) {
      const { strokes } = skeletonAt((k * (N - 1)) / 119);
      for (const p of strokes.flat())
        for (let i = 0; i < 3; i++)
          if (Number.isFinite(p[i])) { low[i] = Math.min(low[i], p[i]); high[i] = Math.max(high[i], p[i]); }
    }
    const floor = Math.min(0, low[2]);
    low[2] = floor;
    const centre = low.map((x, i) => (x + high[i]) / 2);
    const radius = Math.max(Math.hypot(...low.map((x, i) => high[i] - x)) / 2, 1e-3);
    return { centre, radius, floor, cell: nice(radius / 6) };
  }

  function nice(x) {
    const power = 10 ** Math.floor(Math.log10(x));
    return power * [1, 2, 5, 10].find((m) => m * power >= x * 0.999);
  }

  function fitted(canvas) {
    const ratio = Math.min(window.devicePixelRatio || 1, 3), box = canvas.getBoundingClientRect();
    const width = Math.max(Math.round(box.width * ratio), 1), height = Math.max(Math.round(box.height * ratio), 1);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    return { pen, width: box.width, height: box.height };
  }

  function projection(width, height) {
    const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw), cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
    const right = [-sy, cy, 0], away = [-cy * cp, -sy * cp, -sp], up = [-cy * sp, -sy * sp, cp];
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const scale = (camera.zoom * Math.min(width, height)) / (2.05 * scene.radius), eye = 4.5 * scene.radius;
    const place = (p) => {
      const d = p.map((x, i) => x - scene.centre[i]);
      const depth = dot(away, d), near = scale * (eye / Math.max(eye + depth, 0.05 * eye));
      return { x: width / 2 + near * dot(right, d), y: height / 2 - near * dot(up, d), depth, near };
    };
    return { place, away, right, up, dot };
  }

  function polyline(pen, points, stroke, width, dash = []) {
    pen.strokeStyle = stroke;
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.beginPath();
    let open = false;
    for (const p of points) {
      const good = Number.isFinite(p.x) && Number.isFinite(p.y);
      if (good && open) pen.lineTo(p.x, p.y);
      else if (good) pen.moveTo(p.x, p.y);
      open = good;
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  function drawArm() {
    const { pen, width, height } = fitted(view);
    const project = projection(width, height), { place } = project;
    const arm = skeletonAt(frame);
    const thick = 0.045 * scene.radius;
    pen.lineCap = pen.lineJoin = "round";
    drawGround(pen, place);
    const flat = (p) => place([p[0], p[1], scene.floor]);
    for (const [a, b] of arm.strokes) polyline(pen, [flat(a), flat(b)], inks.shadow, Math.max(thick * place(a).near, 3));
    const foot = origin(motion.base);
    polyline(pen, [flat(foot), place(foot)], inks.middle, Math.max(1.6 * thick * place(foot).near, 4));
    if (element("trace").checked) {
      const now = Math.floor(frame), path = trace.map(place);
      polyline(pen, path.slice(now), colour(GREEN), 1, [1, 4]);
      polyline(pen, [...path.slice(0, now + 1), place(arm.hand)], colour(GREEN), 2);
    }
    const things = arm.strokes.map(([a, b]) => ({ depth: (place(a).depth + place(b).depth) / 2, draw: () => drawBone(pen, place, a, b, thick) }));
    for (const joint of arm.joints) {
      if (!joint.point.every(Number.isFinite)) continue;
      things.push({ depth: place(joint.point).depth - thick, draw: () => drawJoint(pen, project, joint, thick) });
    }
    things.push({ depth: place(arm.hand).depth - thick, draw: () => drawHand(pen, place(arm.hand), thick) });
    things.sort((a, b) => b.depth - a.depth).forEach((thing) => thing.draw());
    if (element("axes").checked) arm.joints.forEach((joint) => drawName(pen, place, joint));
    drawCompass(pen, project, height);
    pen.fillStyle = inks.quiet;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText(`grid ${Number(scene.cell.toPrecision(2))} m`, width - 8, height - 8);
    if (!arm.hand.every(Number.isFinite)) {
      pen.textAlign = "center";
      pen.fillText("the positions are not finite here", width / 2, height / 2);
    }
  }

  function drawGround(pen, place) {
    const { centre, cell, floor, radius } = scene;
    const reach = Math.ceil((1.25 * radius) / cell), [x, y] = [0, 1].map((i) => Math.round(centre[i] / cell));
    for (let k = -reach; k <= reach; k++) {
      const ends = (fixed, moving) => [moving - reach, moving + reach].map((m) => [fixed, m]);
      const along = ends(x + k, y).map(([a, b]) => place([a * cell, b * cell, floor]));
      const across = ends(y + k, x).map(([a, b]) => place([b * cell, a * cell, floor]));
      polyline(pen, along, x + k === 0 ? inks.middle : inks.floor, 1);
      polyline(pen, across, y + k === 0 ? inks.middle : inks.floor, 1);
    }
  }

  function drawBone(pen, place, a, b, thick) {
    const ends = [place(a), place(b)], width = Math.max(thick * (ends[0].near + ends[1].near) * 0.5, 3);
    polyline(pen, ends, inks.edge, width);
    polyline(pen, ends, inks.bone, width * 0.55);
  }

  // A drum along the axis: its side as a thick line, its ends as ellipses.
  function drawJoint(pen, project, { point, axis, turns, freedom }, thick) {
    const { place, away, right, up, dot } = project;
    const half = (turns ? 1.5 : 2.2) * thick, ends = [1, -1].map((s) => point.map((x, i) => x + s * half * axis[i]));
    const [front, back] = ends.map(place).sort((a, b) => a.depth - b.depth);
    const middle = place(point), radius = Math.max((turns ? 1.15 : 0.85) * thick * middle.near, 4);
    const tilt = Math.abs(dot(axis, away)), angle = Math.atan2(-dot(axis, up), dot(axis, right));
    if (element("axes").checked) {
      const far = [1, -1].map((s) => place(point.map((x, i) => x + s * 0.35 * scene.radius * axis[i])));
      polyline(pen, far, colour(freedom), 1.2, [6, 4]);
    }
    const cap = (p, fill) => {
      pen.fillStyle = fill;
      pen.beginPath();
      pen.ellipse(p.x, p.y, radius * tilt, radius, angle, 0, 2 * Math.PI);
      pen.fill();
    };
    pen.lineCap = "butt";
    cap(back, colour(freedom));
    polyline(pen, [front, back], colour(freedom), 2 * radius);
    pen.lineCap = "round";
    cap(front, colour(freedom));
    cap(front, "rgba(255,255,255,0.35)");
    if (!turns) polyline(pen, [front, back], "rgba(255,255,255,0.6)", 2);
  }

  function drawName(pen, place, { point, axis, freedom }) {
    const p = place(point.map((x, i) => x + 0.35 * scene.radius * axis[i]));
    pen.fillStyle = inks.ink;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.fillText(cut(motion.joints[freedom].name), p.x + 4, p.y - 4);
  }

  function drawHand(pen, p, thick) {
    if (!Number.isFinite(p.x)) return;
    pen.beginPath();
    pen.arc(p.x, p.y, Math.max(0.8 * thick * p.near, 4), 0, 2 * Math.PI);
    pen.fillStyle = colour(GREEN);
    pen.fill();
    pen.lineWidth = 1.5;
    pen.strokeStyle = inks.paper;
    pen.stroke();
  }

  function drawCompass(pen, { right, up }, height) {
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    ["x", "y", "z"].forEach((name, i) => {
      const from = { x: 34, y: height - 34 }, to = { x: 34 + 22 * right[i], y: height - 34 - 22 * up[i] };
      polyline(pen, [from, to], colour([1, GREEN, 0][i]), 2);
      pen.fillStyle = inks.ink;
      pen.fillText(name, 34 + 29 * right[i], height - 30 - 29 * up[i]);
    });
  }

  // ---- curves --------------------------------------------------------------------------------------------------

  const MARGIN = { left: 50, right: 8, top: 6, bottom: 18 };
  const panels = motion.panels.map((panel) => {
    const box = document.createElement("div"), title = document.createElement("h2"), canvas = document.createElement("canvas");
    box.className = "panel";
    title.textContent = panel.title;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${panel.title} over time: ${panel.names.join(", ")}`);
    if (!panel.joints)
      panel.names.forEach((name, k) => {
        const label = document.createElement("span");
        label.append(swatch(k), ` ${cut(name)}`);
        title.append(label);
      });
    box.append(title, canvas);
    element("panels").append(box);
    const part = { ...panel, canvas, still: document.createElement("canvas"), stale: true };
    const point = (event) => {
      const area = canvas.getBoundingClientRect();
      const share = (event.clientX - area.left - MARGIN.left) / (area.width - MARGIN.left - MARGIN.right);
      pause();
      go(clamp(share, 0, 1) * (N - 1));
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); point(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
    return part;
  });

  element("panels").style.setProperty("--count", String(panels.length));

  function swatch(i) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS(svg.namespaceURI, "line");
    for (const [key, value] of Object.entries({ width: 34, height: 8, "aria-hidden": "true" })) svg.setAttribute(key, value);
    const look = { x1: 0, y1: 4, x2: 34, y2: 4, "stroke-width": 2, "stroke-dasharray": dashes(i, 2).join(" ") };
    for (const [key, value] of Object.entries(look)) line.setAttribute(key, value);
    line.style.stroke = `var(--curve${i % CURVES})`;
    svg.append(line);
    return svg;
  }

  const visible = (panel) => panel.series.map((_, k) => k).filter((k) => !panel.joints || shown[k]);

  function range(panel) {
    let low = Infinity, high = -Infinity;
    for (const k of visible(panel))
      for (const x of panel.series[k]) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
    if (!(low <= high)) return [-1, 1];
    const extra = high > low ? 0.06 * (high - low) : Math.max(Math.abs(high) * 0.1, 1e-3);
    return [low - extra, high + extra];
  }

  function ticks(low, high, count) {
    const step = nice((high - low) / count), found = [];
    for (let k = Math.ceil(low / step); k * step <= high && found.length < 50; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  function drawStill(panel) {
    const { pen, width, height } = panel.area = fitted(panel.canvas);
    const [low, high] = panel.range = range(panel);
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    const x = (f) => MARGIN.left + (N > 1 ? f / (N - 1) : 0) * (right - MARGIN.left);
    const y = (v) => bottom - ((v - low) / (high - low)) * (bottom - MARGIN.top);
    panel.x = x;
    panel.y = y;
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = inks.quiet;
    pen.textAlign = "right";
    for (const v of ticks(low, high, 5)) {
      polyline(pen, [{ x: MARGIN.left, y: y(v) }, { x: right, y: y(v) }], v === 0 ? inks.zero : inks.grid, 1);
      const size = Math.abs(v);
      pen.fillText(size !== 0 && (size >= 1e5 || size < 1e-3) ? v.toExponential(0) : String(v), MARGIN.left - 5, y(v) + 4);
    }
    pen.textAlign = "center";
    if (span > 0)
      for (const t of ticks(motion.start, motion.end, clamp(width / 80, 2, 10))) {
        const at = x(frameOf(t));
        polyline(pen, [{ x: at, y: MARGIN.top }, { x: at, y: bottom }], inks.grid, 1);
        pen.fillText(`${t} s`, clamp(at, MARGIN.left + 8, right - 10), height - 4);
      }
    for (const event of motion.events)
      polyline(pen, [{ x: x(frameOf(event.t)), y: MARGIN.top }, { x: x(frameOf(event.t)), y: bottom }], inks.quiet, 1, [2, 3]);
    pen.lineJoin = "round";
    for (const k of visible(panel))
      polyline(pen, Array.from(panel.series[k], (v, f) => ({ x: x(f), y: y(v) })), colour(k), WIDTH, dashes(k, WIDTH));
    panel.still.width = panel.canvas.width;
    panel.still.height = panel.canvas.height;
    panel.still.getContext("2d").drawImage(panel.canvas, 0, 0);
    panel.stale = false;
  }

  function drawPanel(panel) {
    if (panel.stale) drawStill(panel);
    const { pen, width, height } = panel.area;
    pen.clearRect(0, 0, width, height);
    pen.drawImage(panel.still, 0, 0, width, height);
    const at = panel.x(frame);
    polyline(pen, [{ x: at, y: MARGIN.top }, { x: at, y: height - MARGIN.bottom }], inks.ink, 1.2);
    for (const k of visible(panel)) {
      const level = panel.y(valueAt(panel.series[k], frame));
      if (!Number.isFinite(level)) continue;
      pen.beginPath();
      pen.arc(at, level, 3, 0, 2 * Math.PI);
      pen.fillStyle = colour(k);
      pen.fill();
    }
  }

  // ---- legend and events -----------------------------------------------------------------------------------------

  const values = motion.joints.map((joint, i) => {
    const button = document.createElement("button"), name = document.createElement("span"), value = document.createElement("span");
    button.type = "button";
    button.title = joint.name;
    button.setAttribute("aria-pressed", "true");
    name.className = "name";
    name.textContent = cut(joint.name);
    value.className = "value";
    value.setAttribute("aria-hidden", "true");
    button.append(swatch(i), name, value);
    button.addEventListener("click", () => show(i, !shown[i]));
    element("legend").append(button);
    return { button, value };
  });
  if (n > 1) {
    const all = document.createElement("button");
    all.type = "button";
    all.textContent = "all or none";
    all.className = "every";
    all.addEventListener("click", () => {
      const target = !shown.every(Boolean);
      shown.forEach((_, i) => show(i, target));
    });
    element("legend").append(all);
  }

  function show(i, is) {
    shown[i] = is;
    values[i].button.setAttribute("aria-pressed", String(is));
    refresh();
  }

  element("happened").hidden = motion.events.length === 0;
  element("happened").querySelector("summary").textContent = `${motion.happened} event${motion.happened === 1 ? "" : "s"}`;
  for (const event of motion.events) {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = [`${event.t.toFixed(4)} s`, event.kind, event.joint, event.text].filter(Boolean).join(" \u00b7 ");
    button.addEventListener("click", () => { pause(); go(frameOf(event.t)); });
    item.append(button);
    element("happened").querySelector("ol").append(item);
  }

  // ---- time ----------------------------------------------------------------------------------------------------

  let frame = 0, playing = false, before = 0, asked = false;
  const slider = element("time");
  slider.max = String(N - 1);
  slider.disabled = element("play").disabled = N < 2;

  function draw() {
    asked = false;
    const t = timeOf(frame), text = `${t.toFixed(3)} of ${motion.end.toFixed(3)} s`;
    slider.value = String(Math.round(frame));
    slider.setAttribute("aria-valuetext", text);
    element("clock").textContent = text;
    values.forEach(({ value }, i) => { value.textContent = `${short(valueAt(q[i], frame))} ${motion.joints[i].unit}`; });
    drawArm();
    panels.forEach(drawPanel);
  }
  function redraw() { if (!asked) { asked = true; requestAnimationFrame(draw); } }
  function refresh() { panels.forEach((panel) => { panel.stale = true; }); redraw(); }
  function go(target) { frame = clamp(target, 0, N - 1); redraw(); }

  function tick(now) {
    if (!playing) return;
    frame += ((Math.max(0, now - before) / 1000) * Number(element("speed").value) * (N - 1)) / span;
    before = now;
    if (frame >= N - 1) {
      if (element("repeat").checked) frame = 0;
      else { frame = N - 1; pause(); }
    }
    draw();
    requestAnimationFrame(tick);
  }
  function play() {
    if (N < 2) return;
    if (frame >= N - 1) frame = 0;
    playing = true;
    before = performance.now();
    label("pause", "\u275a\u275a");
    requestAnimationFrame(tick);
  }
  function pause() { playing = false; label("play", "\u25b6\ufe0e"); }
  function label(name, sign) { element("play").setAttribute("aria-label", name); element("play").textContent = sign; }
  const toggle = () => (playing ? pause() : play());

  element("play").addEventListener("click", toggle);
  slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
  for (const id of ["trace", "axes"]) element(id).addEventListener("change", redraw);
  element("home").addEventListener("click", () => { Object.assign(camera, HOME); redraw(); });

  // ---- hands: mouse, touch, keys -----------------------------------------------------------------------------------

  const touching = new Map();
  function turn(dx, dy) {
    camera.yaw -= dx;
    camera.pitch = clamp(camera.pitch + dy, -1.55, 1.55);
    redraw();
  }
  function zoom(factor) { camera.zoom = clamp(camera.zoom * factor, 0.2, 12); redraw(); }
  const spread = () => { const [a, b] = [...touching.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };

  view.addEventListener("pointerdown", (event) => {
    view.setPointerCapture(event.pointerId);
    touching.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  view.addEventListener("pointermove", (event) => {
    const last = touching.get(event.pointerId);
    if (!last) return;
    const apart = touching.size === 2 ? spread() : 0;
    touching.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (touching.size === 1) turn((event.clientX - last.x) * 0.008, (event.clientY - last.y) * 0.008);
    else if (touching.size === 2 && apart > 0) zoom(spread() / apart);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
    view.addEventListener(end, (event) => touching.delete(event.pointerId));
  view.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-clamp(event.deltaY, -200, 200) * 0.0015)); }, { passive: false });

  const ON_VIEW = {
    ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0), ArrowUp: () => turn(0, -0.1), ArrowDown: () => turn(0, 0.1),
    "+": () => zoom(1.15), "=": () => zoom(1.15), "-": () => zoom(1 / 1.15), 0: () => { Object.assign(camera, HOME); redraw(); },
  };
  const ANYWHERE = {
    " ": toggle, ArrowLeft: () => { pause(); go(Math.ceil(frame) - 1); }, ArrowRight: () => { pause(); go(Math.floor(frame) + 1); },
    Home: () => { pause(); go(0); }, End: () => { pause(); go(N - 1); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const on = event.target, busy = on.closest("button, input, select, summary");
    const action = (on === view && ON_VIEW[event.key]) || (!busy && ANYWHERE[event.key]);
    if (action) { event.preventDefault(); action(); }
  });

  // ---- dark, light, paper ------------------------------------------------------------------------------------------

  function recolour() {
    inks = motion.look.inks[isDark() ? "dark" : "light"];
    panels.forEach((panel) => { panel.stale = true; });
    draw();
  }
  for (const query of [night, paper]) query.addEventListener("change", recolour);
  addEventListener("beforeprint", () => { printing = true; recolour(); });
  addEventListener("afterprint", () => { printing = false; recolour(); });

  new ResizeObserver(refresh).observe(document.body);
  new ResizeObserver(redraw).observe(view);
  draw();
})();
