// The camera: looks at a target from a distance, rotated about the vertical (yaw) and tilted (pitch).

const VIEWS = {
  perspective: [-0.95, 0.36], front: [0, 0], back: [Math.PI, 0], left: [Math.PI / 2, 0], right: [-Math.PI / 2, 0], top: [-Math.PI / 2, 1.5707], below: [-Math.PI / 2, -1.5707],
};
// Vertical field of view.
const OPENING = 2 * Math.atan(0.32);

const camera = {
  yaw: VIEWS.perspective[0], pitch: VIEWS.perspective[1], distance: 4, target: [0, 0, 0.5],
  eye: [0, 0, 0], right: [0, 0, 0], up: [0, 0, 0], away: [0, 0, 0], size: 1,
};

function aimCamera() {
  const { yaw, pitch } = camera;
  const cy = Math.cos(yaw), sy = Math.sin(yaw), cp = Math.cos(pitch), sp = Math.sin(pitch);
  camera.right[0] = -sy; camera.right[1] = cy; camera.right[2] = 0;
  camera.away[0] = -cy * cp; camera.away[1] = -sy * cp; camera.away[2] = -sp;
  camera.up[0] = -cy * sp; camera.up[1] = -sy * sp; camera.up[2] = cp;
  for (let i = 0; i < 3; i++) camera.eye[i] = camera.target[i] - camera.distance * camera.away[i];
}

// The matrix from base coordinates to the clip space of an area of this width and height, row-major.
function clipMatrix(M, width, height) {
  // Narrow areas keep their horizontal field of view.
  const aspect = width / height, f = 1 / Math.tan(OPENING / 2), wide = aspect < 1 ? f * aspect : f;
  const near = camera.distance * 0.02, far = camera.distance * 12 + camera.size * 12;
  const { right, up, away, eye } = camera;
  const set = (row, s, axis, extra) => {
    M[row] = s * axis[0]; M[row + 1] = s * axis[1]; M[row + 2] = s * axis[2];
    M[row + 3] = -s * dot3(axis, eye) + extra;
  };
  set(0, wide / aspect, right, 0);
  set(4, wide, up, 0);
  set(8, (far + near) / (far - near), away, (-2 * far * near) / (far - near));
  set(12, 1, away, 0);
  return M;
}

// Project a point into an area {x, y, width, height, clip}: pixels, and depth; into `out`.
function project(area, p, out = {}) {
  const M = area.clip, w = M[12] * p[0] + M[13] * p[1] + M[14] * p[2] + M[15], near = Math.max(w, 1e-6);
  out.x = area.x + area.width * (0.5 + (0.5 * (M[0] * p[0] + M[1] * p[1] + M[2] * p[2] + M[3])) / near);
  out.y = area.y + area.height * (0.5 - (0.5 * (M[4] * p[0] + M[5] * p[1] + M[6] * p[2] + M[7])) / near);
  out.depth = w;
  return out;
}

// Pixels per metre at this depth.
function scaleAt(area, depth) {
  return (0.5 * area.height * Math.hypot(area.clip[4], area.clip[5], area.clip[6])) / Math.max(depth, 1e-6);
}

// The direction from the eye through a pixel of an area.
function rayThrough(area, x, y) {
  const scale = scaleAt(area, 1), dx = (x - area.x - area.width / 2) / scale, dy = (area.y + area.height / 2 - y) / scale;
  return unit3(camera.away.map((a, i) => a + dx * camera.right[i] + dy * camera.up[i]));
}

function turnCamera(dx, dy) {
  camera.yaw -= dx;
  camera.pitch = clamp(camera.pitch + dy, -1.5707, 1.5707);
}
function zoomCamera(factor) {
  camera.distance = clamp(camera.distance / factor, 0.15 * camera.size, 30 * camera.size);
}
// Pan by pixels, as if holding what is at the target.
function panCamera(area, dx, dy) {
  const scale = scaleAt(area, camera.distance);
  for (let i = 0; i < 3; i++) camera.target[i] += (-dx * camera.right[i] + dy * camera.up[i]) / scale;
}

// Fit a ball into the view.
function fitCamera(centre, radius) {
  camera.size = Math.max(radius, 1e-3);
  camera.target = [...centre];
  camera.distance = (camera.size * 1.12) / Math.sin(OPENING / 2);
}

// An animated camera, if motion is allowed; the frame loop calls `advance`.
const flight = { from: null, to: null, start: 0 };
function lookFrom(yaw, pitch, target = camera.target, distance = camera.distance) {
  // The shorter way.
  const turn = Math.atan2(Math.sin(yaw - camera.yaw), Math.cos(yaw - camera.yaw));
  const to = { yaw: camera.yaw + turn, pitch, target: [...target], distance };
  if (calm.matches) { Object.assign(camera, to); return; }
  flight.from = { yaw: camera.yaw, pitch: camera.pitch, target: [...camera.target], distance: camera.distance };
  flight.to = to;
  flight.start = performance.now();
}
function advanceFlight(now) {
  if (!flight.to) return false;
  const s = clamp((now - flight.start) / 280, 0, 1), e = s * s * (3 - 2 * s), { from, to } = flight;
  camera.yaw = from.yaw + e * (to.yaw - from.yaw);
  camera.pitch = from.pitch + e * (to.pitch - from.pitch);
  camera.distance = from.distance + e * (to.distance - from.distance);
  camera.target = mixed(from.target, to.target, e);
  if (s >= 1) flight.to = null;
  return true;
}
