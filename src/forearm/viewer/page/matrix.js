// Vectors of three and poses of sixteen numbers, row-major; results are written into given buffers.

const dot3 = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross3 = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const add3 = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const size3 = (a) => Math.hypot(a[0], a[1], a[2]);
function unit3(a, otherwise = [0, 0, 1]) {
  const size = size3(a);
  return size > 1e-12 ? [a[0] / size, a[1] / size, a[2] / size] : otherwise;
}
// Some unit vector perpendicular to a unit vector.
const across3 = (a) => unit3(cross3(a, Math.abs(a[2]) < 0.8 ? [0, 0, 1] : [1, 0, 0]));

const IDENTITY = Float64Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);

// C = A B; A and B may start anywhere in longer arrays, C must be a different one.
function product(C, A, B, a = 0, b = 0, c = 0) {
  for (let i = 0; i < 4; i++) {
    const x = A[a + 4 * i], y = A[a + 4 * i + 1], z = A[a + 4 * i + 2], w = A[a + 4 * i + 3];
    for (let j = 0; j < 4; j++)
      C[c + 4 * i + j] = x * B[b + j] + y * B[b + 4 + j] + z * B[b + 8 + j] + w * B[b + 12 + j];
  }
  return C;
}

// The inverse of a rigid pose.
function inverse(A, a = 0) {
  const B = Float64Array.from(IDENTITY);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) B[4 * i + j] = A[a + 4 * j + i];
    B[4 * i + 3] = -(A[a + i] * A[a + 3] + A[a + 4 + i] * A[a + 7] + A[a + 8 + i] * A[a + 11]);
  }
  return B;
}

const origin = (T, o = 0) => [T[o + 3], T[o + 7], T[o + 11]];
const turned = (T, v, o = 0) => [
  T[o] * v[0] + T[o + 1] * v[1] + T[o + 2] * v[2],
  T[o + 4] * v[0] + T[o + 5] * v[1] + T[o + 6] * v[2],
  T[o + 8] * v[0] + T[o + 9] * v[1] + T[o + 10] * v[2],
];
const placed = (T, p, o = 0) => [
  T[o] * p[0] + T[o + 1] * p[1] + T[o + 2] * p[2] + T[o + 3],
  T[o + 4] * p[0] + T[o + 5] * p[1] + T[o + 6] * p[2] + T[o + 7],
  T[o + 8] * p[0] + T[o + 9] * p[1] + T[o + 10] * p[2] + T[o + 11],
];

// A pose from its axes (columns) and origin.
function framed(x, y, z, p, T = new Float64Array(16)) {
  for (let i = 0; i < 3; i++) { T[4 * i] = x[i]; T[4 * i + 1] = y[i]; T[4 * i + 2] = z[i]; T[4 * i + 3] = p[i]; }
  T[12] = T[13] = T[14] = 0;
  T[15] = 1;
  return T;
}

// A frame whose z axis goes along `axis`.
function along(axis, p, T) {
  const x = across3(axis);
  return framed(x, cross3(axis, x), axis, p, T);
}

function rotationAbout([x, y, z], angle, T = new Float64Array(16)) {
  const c = Math.cos(angle), s = Math.sin(angle), v = 1 - c;
  T.set([
    c + x * x * v, x * y * v - z * s, x * z * v + y * s, 0,
    x * y * v + z * s, c + y * y * v, y * z * v - x * s, 0,
    x * z * v - y * s, y * z * v + x * s, c + z * z * v, 0,
    0, 0, 0, 1,
  ]);
  return T;
}

// The rotation vector that rotates A into B, both poses, in base axes.
function turnBetween(A, B, a = 0, b = 0) {
  const R = new Float64Array(9);
  for (let i = 0; i < 3; i++)
    for (let j = 0; j < 3; j++)
      R[3 * i + j] = B[b + 4 * i] * A[a + 4 * j] + B[b + 4 * i + 1] * A[a + 4 * j + 1] + B[b + 4 * i + 2] * A[a + 4 * j + 2];
  const v = [(R[7] - R[5]) / 2, (R[2] - R[6]) / 2, (R[3] - R[1]) / 2], s = size3(v), c = (R[0] + R[4] + R[8] - 1) / 2;
  const angle = Math.atan2(s, c);
  if (s > 1e-9) return v.map((x) => (x * angle) / s);
  if (c > 0) return [0, 0, 0];
  // Half a turn: the largest column of R + 1.
  const k = [0, 4, 8].reduce((best, d) => (R[d] > R[best] ? d : best), 0) / 4;
  return unit3([0, 1, 2].map((i) => R[3 * i + k] + (i === k ? 1 : 0))).map((x) => x * angle);
}

// Roll, pitch and yaw (fixed axes x, y, z) of a pose, and back.
function anglesOf(T) {
  const pitch = Math.atan2(-T[8], Math.hypot(T[0], T[4]));
  if (Math.hypot(T[0], T[4]) < 1e-9) return [Math.atan2(-T[6], T[5]), pitch, 0];
  return [Math.atan2(T[9], T[10]), pitch, Math.atan2(T[4], T[0])];
}
function poseOf([x, y, z], [roll, pitch, yaw]) {
  const A = new Float64Array(16), B = new Float64Array(16);
  product(A, rotationAbout([0, 1, 0], pitch), rotationAbout([1, 0, 0], roll));
  product(B, rotationAbout([0, 0, 1], yaw), A);
  B[3] = x; B[7] = y; B[11] = z;
  return B;
}
