// Mouse, touch and keys on the view: camera, joints, hand, or a push while the arm moves.

const gesture = { active: null, touches: new Map(), spread: 0, middle: null };

// Pick at a pixel: the nearest solid of an arm, or a part of the hand's handle, which takes precedence.
function pickAt(x, y, slack = 0) {
  const k = stage.areas.findIndex((a) => x >= a.x && x < a.x + a.width && y >= a.y && y < a.y + a.height);
  if (k < 0) return null;
  const scene = scenes[k], area = stage.areas[k];
  let best = null;
  const tries = slack ? [[0, 0], [slack, 0], [-slack, 0], [0, slack], [0, -slack]] : [[0, 0]];
  for (const [dx, dy] of tries) {
    const d = rayThrough(area, x + dx, y + dy);
    for (const item of scene.items) {
      if (!item.visible || (item.pick === undefined && !item.hand)) continue;
      const s = itemMeets(item, d);
      if (s === Infinity) continue;
      const rank = item.hand === "move" ? 0 : item.hand ? 1 : 2;
      if (!best || rank < best.rank || (rank === best.rank && s < best.s)) best = { item, scene, area, k, s, rank, body: item.pick, p: add3(camera.eye, d, s) };
    }
    if (best) return best;
  }
  return { item: null, scene, area, k };
}

// Transform the ray into the item's (possibly scaled) frame, testing a sphere first.
function itemMeets(item, d) {
  const T = item.matrix, c = placed(T, item.shape.centre), e = add3(c, camera.eye, -1), near = dot3(e, d);
  const stretch = Math.max(Math.hypot(T[0], T[4], T[8]), Math.hypot(T[1], T[5], T[9]), Math.hypot(T[2], T[6], T[10])), r = item.shape.radius * stretch;
  if (near < -r || dot3(e, e) - near * near > r * r) return Infinity;
  const x = [T[0], T[4], T[8]], y = [T[1], T[5], T[9]], z = [T[2], T[6], T[10]], o = add3(camera.eye, origin(T), -1);
  const volume = dot3(x, cross3(y, z));
  if (Math.abs(volume) < 1e-18) return Infinity;
  const rows = [cross3(y, z), cross3(z, x), cross3(x, y)];
  return meets(item.shape, rows.map((row) => dot3(row, o) / volume), rows.map((row) => dot3(row, d) / volume));
}

// ---- actions of a drag -------------------------------------------------------------------------------------------------

const DRAGS = {
  orbit: { move: (g, dx, dy) => turnCamera(dx * 0.0075, dy * 0.0075) },
  pan: { move: (g, dx, dy) => panCamera(g.area, dx, dy) },
  joint: {
    move: (g, dx, dy, x, y) => setJoint(g.actor, g.freedom, jointToward(g.actor, g.area, g.body, g.local, x, y)),
  },
  hand: {
    move(g, dx, dy, x, y, event) {
      const T = g.T;
      if (event.shiftKey) turnHand(T, camera.up, dx * 0.01, camera.right, dy * 0.01);
      else {
        const scale = scaleAt(g.area, g.depth);
        [3, 7, 11].forEach((o, i) => { T[o] += (dx * camera.right[i] - dy * camera.up[i]) / scale; });
      }
      reachHand(g.actor, T);
    },
  },
  ring: {
    // The angle of the pointer about the ring's centre on the screen, or along the ring if seen edge-on.
    move(g, dx, dy, x, y) {
      const T = g.T, axis = [T[g.axis], T[4 + g.axis], T[8 + g.axis]], spot = project(g.area, origin(T)), facing = dot3(axis, camera.away);
      let angle;
      if (Math.abs(facing) > 0.3) {
        const a = Math.atan2(y - spot.y, x - spot.x), b = Math.atan2(y - dy - spot.y, x - dx - spot.x);
        angle = Math.atan2(Math.sin(a - b), Math.cos(a - b)) * Math.sign(facing);
      } else {
        const way = unit3(cross3(axis, camera.away), [1, 0, 0]);
        angle = -(dx * dot3(way, camera.right) - dy * dot3(way, camera.up)) * 0.012;
      }
      turnHand(T, axis, angle);
      reachHand(g.actor, T);
    },
  },
  push: {
    move(g, dx, dy, x, y) { g.x = x; g.y = y; },
    end(g) { if (g.actor.sim) g.actor.sim.pull = null; g.actor.pull = null; },
  },
};

function turnHand(T, axis, angle, second, more) {
  const p = origin(T), R = new Float64Array(16);
  product(R, rotationAbout(unit3(axis), angle), T);
  T.set(R);
  [3, 7, 11].forEach((o, i) => { T[o] = p[i]; });
  if (second) turnHand(T, second, more);
}

// A spring between the grabbed point and the pointer, in the view plane; a damper against oscillation.
function startPush(g) {
  const { actor, body, local } = g, mass = actor.arm.bodies.reduce((sum, b) => sum + b.mass, 0) + world.payload;
  const strength = (3 * 9.81 * mass) / actor.arm.reach, damping = 0.25 * Math.sqrt(strength * mass);
  actor.sim.pull = (who, tau) => {
    const p = placed(who.places, local, placeOf(body)), spot = project(g.area, p), scale = scaleAt(g.area, spot.depth);
    const dx = (g.x - spot.x) / scale, dy = (spot.y - g.y) / scale, to = p.map((v, i) => v + dx * camera.right[i] + dy * camera.up[i]);
    const v = pointVelocity(who, body, p), F = p.map((_, i) => strength * (to[i] - p[i]) - damping * v[i]);
    pushTorques(who, body, p, F, tau);
    who.pull = { from: p, to, size: size3(F) };
  };
}

function beginDrag(x, y, event) {
  const hit = pickAt(x, y, event.pointerType === "touch" ? 9 : 4), area = hit ? hit.area : stage.areas[0];
  const panning = event.button === 1 || event.button === 2 || (event.shiftKey && !(hit && hit.item));
  if (panning || !hit || !hit.item) return { kind: panning ? "pan" : "orbit", area };
  const actor = hit.scene.actor;
  if (actors[hit.k] !== activeActor()) choose(hit.k);
  if (hit.item.hand && !clock.playing) {
    if (clock.mode === "run") toPose();
    const T = actor.target && actor.target.missed ? actor.target.T : handPose(actor), depth = project(area, origin(T)).depth;
    return { kind: hit.item.hand === "move" ? "hand" : "ring", area, actor, T: Float64Array.from(T), depth, axis: hit.item.axis };
  }
  const { body } = hit, freedom = body >= 0 ? actor.arm.bodies[body].freedom : -1;
  if (freedom < 0) return { kind: "orbit", area };
  const local = placed(inverse(actor.places, placeOf(body)), hit.p), g = { area, actor, body, freedom, local, x, y };
  if (liveAtEnd() && actor.sim) {
    startPush(g);
    if (!clock.playing) resume();
    return Object.assign(g, { kind: "push" });
  }
  if (clock.playing) return { kind: "orbit", area };
  return { ...g, kind: "joint" };
}

const spot = (event) => { const box = view.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };

on(view, "pointerdown", (event) => {
  if (event.target.closest("button, select, .over")) return;
  view.setPointerCapture(event.pointerId);
  const p = spot(event);
  gesture.touches.set(event.pointerId, p);
  flight.to = null;
  if (gesture.touches.size === 1) {
    gesture.active = beginDrag(p.x, p.y, event);
    view.dataset.drag = gesture.active.kind;
  } else { endDrag(); gesture.active = { kind: "pinch", area: stage.areas[0] }; pinch(); }
});

function pinch() {
  const [a, b] = [...gesture.touches.values()], spread = Math.hypot(a.x - b.x, a.y - b.y), middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  if (gesture.middle && gesture.spread > 0) {
    zoomCamera(spread / gesture.spread);
    panCamera(gesture.active.area, middle.x - gesture.middle.x, middle.y - gesture.middle.y);
    changed();
  }
  gesture.spread = spread;
  gesture.middle = middle;
}

on(view, "pointermove", (event) => {
  const last = gesture.touches.get(event.pointerId), p = spot(event);
  if (!last) { if (event.pointerType !== "touch") hover(p, event); return; }
  gesture.touches.set(event.pointerId, p);
  if (gesture.touches.size === 2) { pinch(); return; }
  const g = gesture.active;
  if (!g || !DRAGS[g.kind]) return;
  DRAGS[g.kind].move(g, p.x - last.x, p.y - last.y, p.x, p.y, event);
  changed();
});

function endDrag() {
  const g = gesture.active;
  if (g && DRAGS[g.kind] && DRAGS[g.kind].end) DRAGS[g.kind].end(g);
  if (g && g.actor) for (const listener of poseListeners) listener(g.actor);
  gesture.active = null;
  gesture.middle = null;
  delete view.dataset.drag;
  changed();
}
on(view, "pointerup pointercancel lostpointercapture", (event) => {
  if (!gesture.touches.delete(event.pointerId)) return;
  if (gesture.touches.size === 0) endDrag();
});
on(view, "contextmenu", (event) => event.preventDefault());
on(view, "wheel", (event) => {
  event.preventDefault();
  zoomCamera(Math.exp(-clamp(event.deltaY, -200, 200) * 0.0015));
  changed();
}, { passive: false });
on(view, "dblclick", (event) => { if (!event.target.closest("button, select")) fitView(); });

let hoverAsked = 0;
function hover(p, event) {
  if (event.timeStamp - hoverAsked < 30 || clock.playing && !clock.live) return;
  hoverAsked = event.timeStamp;
  const hit = event.target.closest("button, select") ? null : pickAt(p.x, p.y, 4), before = stage.hovered;
  const useful = hit && hit.item && (hit.item.hand || (hit.body >= 0 && hit.scene.actor.arm.bodies[hit.body].freedom >= 0));
  stage.hovered = useful ? hit : null;
  view.classList.toggle("grabbable", Boolean(useful));
  const told = useful && !hit.item.hand ? hit.scene.actor.arm.joints[hit.scene.actor.arm.bodies[hit.body].freedom].name.slice(0, 60) : useful ? (hit.item.hand === "move" ? "move the hand (Shift: rotate)" : "rotate the hand") : "";
  element("hint").textContent = told;
  if ((before && before.item) !== (stage.hovered && stage.hovered.item)) changed();
}
on(view, "pointerleave", () => { if (stage.hovered) { stage.hovered = null; element("hint").textContent = ""; changed(); } });
