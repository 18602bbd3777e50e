// Drawable items of an actor: solids attached to its bodies, lines, and labels.

const show = {
  shapes: true, ellipsoids: false, centres: false, frames: false, limits: false,
  ground: true, payload: true, trace: true, handle: true, wanted: true,
};

function makeScene(actor, sides) {
  const { arm, axes, places } = actor, scene = { actor, items: [], lines: { data: new Float32Array(12 * 512), count: 0 }, labels: [], stale: true };
  const size = arm.reach, thick = 0.034 * size, heaviest = Math.max(...arm.bodies.map((b) => b.mass), 1e-9);
  const widths = arm.bodies.map((b) => thick * clamp(Math.cbrt(Math.max(b.mass, 0) / heaviest), 0.5, 1));
  const anyShapes = arm.base.shapes.length > 0 || arm.bodies.some((b) => b.shapes.length);
  scene.anyShapes = anyShapes;
  const meshes = makeScene.meshes ||= data.meshes.map(decodedMesh);

  // A solid attached to a body; `kind` determines when it is shown, `tint` its colour.
  function fixed(kind, shape, body, local, tint, more = {}) {
    const item = { kind, shape, body, local, tint, matrix: new Float64Array(16), colour: [1, 1, 1], alpha: 1, visible: true, casts: false, ...more };
    scene.items.push(item);
    return item;
  }
  const scaled = (T, x, y, z) => { for (let i = 0; i < 3; i++) { T[4 * i] *= x; T[4 * i + 1] *= y; T[4 * i + 2] *= z; } return T; };
  const solidAt = (p, r) => scaled(framed([1, 0, 0], [0, 1, 0], [0, 0, 1], p), r, r, r);

  // Drum of a joint, in its body's frame.
  const centreOf = (k) => {
    const { point, axis, revolute } = axes[k];
    if (revolute && size3(point) === 0) return point;
    const parent = arm.bodies[k].parent, start = placed(inverse(places, placeOf(k)), origin(places, placeOf(parent)));
    return add3(point, axis, dot3(add3(start, point, -1), axis));
  };
  const drums = arm.bodies.map((_, k) => centreOf(k));

  // ---- bones and shapes ----------------------------------------------------------------------------------------------

  const hand = arm.bodies.length;
  const addBones = (bones, body) => {
    for (const { mesh, pose, colour: role, joint } of bones)
      fixed(role === "drum" ? "drum" : "bone", meshes[mesh], body, Float64Array.from(pose), joint === undefined ? (role === "hand" ? role : "bone") : arm.bodies[joint].freedom, { casts: true, pick: joint === undefined ? body : joint });
  };
  addBones(arm.base.bones, -1);
  arm.bodies.forEach((body, k) => addBones(body.bones, k));
  const addShapes = (shapes, body) => {
    for (const { mesh, pose, colour: ink } of shapes)
      if (meshes[mesh]) fixed("shape", meshes[mesh], body, Float64Array.from(pose), ink || "bone", { casts: true, pick: body, open: true });
  };
  addShapes(arm.base.shapes, -1);
  arm.bodies.forEach((body, k) => addShapes(body.shapes, k));
  const copies = scene.items.map((item) => ({ ...item, kind: `ghost ${item.kind}`, matrix: new Float64Array(16), casts: false, pick: undefined, ghost: true, alpha: 0.3 }));

  // ---- inertia, limits, payload, handle ------------------------------------------------------------------------------

  arm.bodies.forEach((body, k) => {
    const r = clamp(0.055 * size * Math.cbrt(Math.max(body.mass, 0) / heaviest), 0.012 * size, 0.03 * size);
    if (body.mass > 0) fixed("centre", solid("ball", Math.max(sides >> 1, 12)), k, solidAt(body.com, r), "zero", { checked: true });
    if (body.ellipsoid) {
      const R = body.ellipsoid.rotation, [x, y, z] = body.ellipsoid.radii, T = framed([R[0], R[3], R[6]], [R[1], R[4], R[7]], [R[2], R[5], R[8]], body.com);
      fixed("ellipsoid", solid("ball", sides), k, scaled(T, x, y, z), Math.max(body.freedom, 0), { alpha: 0.38, open: true });
    }
    addLimits(scene, fixed, k, drums[k], 4.1 * Math.max(widths[k], 0.7 * thick), sides);
  });
  scene.ball = fixed("payload", solid("ball", sides), hand, solidAt([0, 0, 0], 1), 3, { casts: true });
  scene.handle = fixed("handle", solid("ball", Math.max(sides >> 1, 10)), hand, solidAt([0, 0, 0], 0.62 * thick), 2, { hand: "move" });
  [[0, [0, 1, 0], [0, 0, 1], [1, 0, 0]], [1, [0, 0, 1], [1, 0, 0], [0, 1, 0]], [2, [1, 0, 0], [0, 1, 0], [0, 0, 1]]].forEach(([i, x, y, z]) => {
    const R = 2.7 * thick;
    fixed("handle", solid("ring", sides), hand, scaled(framed(x, y, z, [0, 0, 0]), R, R, R), [1, 2, 0][i], { hand: "turn", axis: i });
  });
  scene.items.push(...copies);
  scene.thick = thick;
  scene.size = size;
  return scene;
}

// An arc from stop to stop about a joint's axis, with a needle at the joint's position; a bar for a prismatic joint.
function addLimits(scene, fixed, k, centre, radius, sides) {
  const { arm, axes } = scene.actor, body = arm.bodies[k], { axis, ratio, revolute } = axes[k];
  if (body.freedom < 0) return;
  const joint = arm.joints[body.freedom], { lower, upper } = joint;
  if (lower === null || upper === null || !Number.isFinite(ratio)) return;
  const frame = along(axis, centre);
  const more = { limit: { joint: body.freedom, ratio, revolute, frame, radius, lower, upper }, flat: true, alpha: 0.5, open: true };
  if (revolute) {
    const [a, b] = [lower * ratio, upper * ratio].sort((x, y) => x - y), whole = b - a >= 2 * Math.PI;
    fixed("limit", sector(whole ? 0 : a, whole ? 2 * Math.PI : b, 0.86), k, null, body.freedom, { ...more });
    fixed("limit", sector(-0.05, 0.05, 0.5), k, null, body.freedom, { ...more, needle: true, alpha: 1 });
  } else {
    fixed("limit", solid("tube", Math.max(sides >> 1, 8)), k, null, body.freedom, { ...more });
    fixed("limit", solid("ball", Math.max(sides >> 1, 8)), k, null, body.freedom, { ...more, needle: true, alpha: 1 });
  }
}

// The matrix of a limit's arc: fixed to the parent, so rotated back by the joint's own value; the needle stays.
function placeLimit(item, places, q, T) {
  const { joint, ratio, revolute, frame, radius, lower, upper } = item.limit, o = placeOf(item.body);
  const z = turned(places, [frame[2], frame[6], frame[10]], o), p = placed(places, origin(frame), o);
  if (revolute) {
    const back = item.needle ? 0 : -q[joint] * ratio, c = Math.cos(back) * radius, s = Math.sin(back) * radius;
    const x0 = turned(places, [frame[0], frame[4], frame[8]], o), y0 = turned(places, [frame[1], frame[5], frame[9]], o);
    return framed(x0.map((v, i) => c * v + s * y0[i]), x0.map((v, i) => -s * v + c * y0[i]), z.map((v) => v * radius), p, T);
  }
  const x = across3(z), y = cross3(z, x), r = item.needle ? 0.3 * radius : 0.1 * radius;
  const here = item.needle ? 0 : (lower - q[joint]) * ratio, long = item.needle ? r : (upper - lower) * ratio;
  const at = add3(add3(origin(places, o), x, 0.9 * radius), z, here);
  return framed(x.map((v) => v * r), y.map((v) => v * r), z.map((v) => v * long), at, T);
}
