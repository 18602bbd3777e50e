// Triangles for drawing: solids of revolution, sectors of rings, and meshes from the data.
// A geometry has positions and normals (three per vertex), triangles (three indices each), and a sphere around it.

function geometry(positions, normals, triangles) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < positions.length; k++) {
    low[k % 3] = Math.min(low[k % 3], positions[k]);
    high[k % 3] = Math.max(high[k % 3], positions[k]);
  }
  const centre = positions.length ? low.map((x, i) => (x + high[i]) / 2) : [0, 0, 0];
  let radius = 0;
  for (let k = 0; k < positions.length; k += 3)
    radius = Math.max(radius, Math.hypot(positions[k] - centre[0], positions[k + 1] - centre[1], positions[k + 2] - centre[2]));
  return { positions, normals, triangles, centre, radius, low, high };
}

// Normals as means over the triangles of a vertex; corners sharper than about 40 degrees stay sharp, because
// the mesh has split vertices there.
function smoothNormals(positions, triangles) {
  const normals = new Float32Array(positions.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    for (const v of [a, b, c]) { normals[v] += nx; normals[v + 1] += ny; normals[v + 2] += nz; }
  }
  // Not normalised: the shaders do that.
  return normals;
}

function decodedMesh(mesh) {
  const positions = decoded(mesh.positions, Float32Array);
  const triangles = Uint32Array.from(decoded(mesh.triangles, mesh.wide ? Uint32Array : Uint16Array));
  return geometry(positions, smoothNormals(positions, triangles), triangles);
}

// A profile of stretches [r0, z0, r1, z1] or smooth points [r, z, nr, nz, r, z, nr, nz], turned about z.
function revolved(stretches, sides) {
  const positions = [], normals = [], triangles = [];
  for (const part of stretches) {
    const smooth = part.length === 8, [r0, z0] = part, [r1, z1] = smooth ? [part[4], part[5]] : [part[2], part[3]];
    const length = Math.hypot(r1 - r0, z1 - z0) || 1, flat = [(z1 - z0) / length, (r0 - r1) / length];
    const first = positions.length / 3, n0 = smooth ? [part[2], part[3]] : flat, n1 = smooth ? [part[6], part[7]] : flat;
    for (let k = 0; k <= sides; k++) {
      const c = Math.cos((2 * Math.PI * k) / sides), s = Math.sin((2 * Math.PI * k) / sides);
      positions.push(r0 * c, r0 * s, z0, r1 * c, r1 * s, z1);
      normals.push(n0[0] * c, n0[0] * s, n0[1], n1[0] * c, n1[0] * s, n1[1]);
      const v = first + 2 * k;
      if (k < sides) {
        if (r0 > 0) triangles.push(v, v + 2, v + 1);
        if (r1 > 0) triangles.push(v + 1, v + 2, v + 3);
      }
    }
  }
  return geometry(Float32Array.from(positions), Float32Array.from(normals), Uint32Array.from(triangles));
}

// From z = 0 to 1 with radius 1.
function tube(sides) {
  // Short ones where they are sorted by depth.
  const pieces = sides < 12 ? 6 : 1, parts = [[0, 0, 1, 0], [1, 1, 0, 1]];
  for (let k = 0; k < pieces; k++) parts.push([1, k / pieces, 1, (k + 1) / pieces]);
  return revolved(parts, sides);
}

function ball(sides) {
  const rows = Math.max(sides >> 1, 6), parts = [];
  const at = (k) => [Math.sin((Math.PI * k) / rows), -Math.cos((Math.PI * k) / rows)].map((x) => (Math.abs(x) < 1e-12 ? 0 : x));
  for (let k = 0; k < rows; k++) parts.push([...at(k), ...at(k), ...at(k + 1), ...at(k + 1)]);
  return revolved(parts, sides);
}

// A ring of radius 1 about z, its wire of radius r.
function ring(r, sides, around = 8) {
  const at = (k) => { const a = (2 * Math.PI * k) / around; return [1 + r * Math.cos(a), r * Math.sin(a), Math.cos(a), Math.sin(a)]; };
  return revolved(Array.from({ length: around }, (_, k) => [...at(k), ...at(k + 1)]), sides);
}

// A flat sector about z from angle a to b, radii from r to 1.
function sector(a, b, r) {
  const pieces = clamp(Math.ceil(Math.abs(b - a) / 0.12), 1, 60), positions = [], normals = [], triangles = [];
  for (let k = 0; k <= pieces; k++) {
    const angle = a + ((b - a) * k) / pieces, c = Math.cos(angle), s = Math.sin(angle);
    positions.push(r * c, r * s, 0, c, s, 0);
    normals.push(0, 0, 1, 0, 0, 1);
    if (k < pieces) triangles.push(2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 2, 2 * k + 1, 2 * k + 3);
  }
  return geometry(Float32Array.from(positions), Float32Array.from(normals), Uint32Array.from(triangles));
}

// Shared geometry, created once per number of segments (fewer for the 2D painter).
const solids = new Map();
function solid(kind, sides) {
  const key = `${kind} ${sides}`, kinds = {
    tube: () => tube(sides), ball: () => ball(sides),
    ring: () => ring(0.035, Math.max(2 * sides, 24), 5),
  };
  if (!solids.has(key)) solids.set(key, kinds[kind]());
  return solids.get(key);
}

// Intersection of a ray (from p along d, in the geometry's frame): its parameter, or Infinity.
function meets(shape, p, d) {
  const { positions, triangles } = shape;
  let nearest = Infinity;
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
    const hx = d[1] * vz - d[2] * vy, hy = d[2] * vx - d[0] * vz, hz = d[0] * vy - d[1] * vx;
    const det = ux * hx + uy * hy + uz * hz;
    if (det > -1e-14 && det < 1e-14) continue;
    const sx = p[0] - positions[a], sy = p[1] - positions[a + 1], sz = p[2] - positions[a + 2], f = 1 / det;
    const u = f * (sx * hx + sy * hy + sz * hz);
    if (u < 0 || u > 1) continue;
    const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
    const v = f * (d[0] * qx + d[1] * qy + d[2] * qz);
    if (v < 0 || u + v > 1) continue;
    const s = f * (vx * qx + vy * qy + vz * qz);
    if (s > 1e-9 && s < nearest) nearest = s;
  }
  return nearest;
}
