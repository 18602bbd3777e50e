// The ground: a grid that fades out, and its square that receives shadows.

const GRID = { fine: 1.5, coarse: 4.2, pieces: 6 };

// Grid lines of a view, regenerated when the view or the theme changes.
function gridOf(view) {
  const key = `${view.cell} ${view.size} ${view.floor} ${view.centre} ${theme.dark}`;
  if (view.grid && view.grid.key === key) return view.grid;
  const lines = { data: new Float32Array(12 * 2048), count: 0, key }, ink = rgb(theme.inks.middle), { cell, floor, size, centre } = view;
  const x = Math.round(centre[0] / cell), y = Math.round(centre[1] / cell);
  const fade = (a, b, reach) => { const d = Math.hypot(a - centre[0], b - centre[1]) / reach; return d >= 1 ? 0 : (1 - d * d) ** 1.5; };
  const draw = (fixed, upright, middle, reach, alpha, width) => {
    const from = middle - reach, step = (2 * reach) / GRID.pieces;
    for (let k = 0; k < GRID.pieces; k++) {
      const a = from + k * step, b = a + step, ends = upright ? [fixed, a, fixed, b] : [a, fixed, b, fixed], f = fade(ends[0], ends[1], reach), g = fade(ends[2], ends[3], reach);
      if (f || g) addLine(lines, ends[0], ends[1], floor, ends[2], ends[3], floor, width, ink, alpha * f, alpha * g);
    }
  };
  const strength = theme.dark ? 0.8 : 1;
  for (let k = -Math.ceil((GRID.coarse * size) / cell); k <= Math.ceil((GRID.coarse * size) / cell); k++)
    for (const upright of [true, false]) {
      const at = (upright ? x : y) + k, coarse = at % 5 === 0, reach = size * (coarse ? GRID.coarse : GRID.fine);
      if (Math.abs(k * cell) < reach) draw(at * cell, upright, upright ? centre[1] : centre[0], reach, strength * (at === 0 ? 0.95 : coarse ? 0.55 : 0.26), at === 0 ? 1.6 : 1);
    }
  view.grid = lines;
  return lines;
}

// [x, y, z, 1 / half its side] of the square that contains all shadows.
function shadowOf(view) {
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const item of view.items) {
    if (!item.visible || !item.casts) continue;
    const T = item.matrix, [cx, cy, cz] = item.shape.centre, x = T[0] * cx + T[1] * cy + T[2] * cz + T[3], y = T[4] * cx + T[5] * cy + T[6] * cz + T[7];
    const h = Math.max(T[8] * cx + T[9] * cy + T[10] * cz + T[11] - view.floor, 0);
    const r = item.shape.radius * Math.max(Math.hypot(T[0], T[4], T[8]), Math.hypot(T[1], T[5], T[9]), Math.hypot(T[2], T[6], T[10]));
    const sx = x - (KEY[0] / KEY[2]) * h, sy = y - (KEY[1] / KEY[2]) * h;
    x0 = Math.min(x0, sx - r); x1 = Math.max(x1, sx + r); y0 = Math.min(y0, sy - r); y1 = Math.max(y1, sy + r);
  }
  if (!(x1 > x0)) return null;
  // Quantised, to avoid shimmering.
  const half = 0.62 * Math.max(x1 - x0, y1 - y0) + 0.06 * view.size, step = 0.05 * view.size;
  return [Math.round((x0 + x1) / 2 / step) * step, Math.round((y0 + y1) / 2 / step) * step, view.floor, 1 / (Math.ceil(half / step) * step)];
}
