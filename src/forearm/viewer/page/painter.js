// The renderer without WebGL: the same views on a 2D canvas, far triangles first, flat shading.

function painter(canvas) {
  // Software rendering; no other is available.
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  let room = 4096, count = 0;
  let corners = new Float32Array(6 * room), depths = new Float32Array(room), shades = new Array(room), order = [];

  function put(depth, shade, a, b, c, at) {
    if (count === room) {
      room *= 2;
      const [more, far] = [new Float32Array(6 * room), new Float32Array(room)];
      more.set(corners);
      far.set(depths);
      corners = more;
      depths = far;
    }
    for (let k = 0; k < 2; k++) { corners[6 * count + k] = at[3 * a + k]; corners[6 * count + 2 + k] = at[3 * b + k]; corners[6 * count + 4 + k] = at[3 * c + k]; }
    depths[count] = depth;
    shades[count++] = shade;
  }

  let spots = new Float32Array(0), world = new Float32Array(0);
  function addItem(view, item) {
    // Joints before the ends of links in them.
    const { positions, triangles } = item.shape, T = item.matrix, p = [0, 0, 0], spot = { x: 0, y: 0, depth: 0 }, near = item.kind === "drum" ? 0.02 * view.size : 0;
    if (spots.length < positions.length) { spots = new Float32Array(positions.length); world = new Float32Array(positions.length); }
    for (let k = 0; k < positions.length; k += 3) {
      const x = positions[k], y = positions[k + 1], z = positions[k + 2];
      for (let i = 0; i < 3; i++) world[k + i] = p[i] = T[4 * i] * x + T[4 * i + 1] * y + T[4 * i + 2] * z + T[4 * i + 3];
      project(view.area, p, spot);
      spots[k] = spot.x; spots[k + 1] = spot.y; spots[k + 2] = spot.depth;
    }
    for (let t = 0; t < triangles.length; t += 3) {
      const a = triangles[t], b = triangles[t + 1], c = triangles[t + 2], A = 3 * a, B = 3 * b, C = 3 * c;
      if (spots[A + 2] < 1e-3 || spots[B + 2] < 1e-3 || spots[C + 2] < 1e-3) continue;
      const turn = (spots[B] - spots[A]) * (spots[C + 1] - spots[A + 1]) - (spots[C] - spots[A]) * (spots[B + 1] - spots[A + 1]);
      // Back faces of a solid.
      if (turn > 0 && item.alpha >= 1 && !item.flat && !item.open) continue;
      const ux = world[B] - world[A], uy = world[B + 1] - world[A + 1], uz = world[B + 2] - world[A + 2];
      const vx = world[C] - world[A], vy = world[C + 1] - world[A + 1], vz = world[C + 2] - world[A + 2];
      let nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
      const size = (Math.hypot(nx, ny, nz) || 1) * (turn > 0 ? -1 : 1);
      nx /= size; ny /= size; nz /= size;
      const light = item.flat ? 1 : 0.62 + 0.12 * nz + 0.34 * Math.max(0, nx * KEY[0] + ny * KEY[1] + nz * KEY[2]);
      const middle = (k) => positions[A + k] + positions[B + k] + positions[C + k];
      const base = item.checked ? (middle(0) * middle(1) * middle(2) > 0 ? [0.08, 0.08, 0.08] : [0.95, 0.95, 0.95]) : item.colour;
      const level = (x) => Math.round(255 * Math.min(x * light, 1));
      put((spots[A + 2] + spots[B + 2] + spots[C + 2]) / 3 - near, `rgba(${level(base[0])},${level(base[1])},${level(base[2])},${item.alpha})`, a, b, c, spots);
    }
  }

  function path(points) {
    pen.beginPath();
    points.forEach((p, k) => { if (k) pen.lineTo(p.x, p.y); else pen.moveTo(p.x, p.y); });
  }

  function drawFloor(view) {
    const reach = Math.min(Math.ceil((2.2 * view.size) / view.cell), 40), { area, floor, cell } = view;
    const x = Math.round(view.centre[0] / cell), y = Math.round(view.centre[1] / cell), seen = (a, b) => project(area, [a * cell, b * cell, floor]);
    const stroke = (p, q, middle) => {
      if (p.depth < 1e-3 || q.depth < 1e-3) return;
      path([p, q]);
      pen.strokeStyle = middle ? theme.inks.middle : theme.inks.floor;
      pen.stroke();
    };
    pen.lineWidth = 1;
    for (let k = -reach; k <= reach; k++) {
      stroke(seen(x + k, y - reach), seen(x + k, y + reach), x + k === 0);
      stroke(seen(x - reach, y + k), seen(x + reach, y + k), y + k === 0);
    }
    if (camera.eye[2] < floor) return;
    pen.fillStyle = theme.dark ? "#0009" : "#27323b33";
    pen.beginPath();
    for (const item of view.items) if (item.visible && item.casts) addShadow(view, item);
    pen.fill();
  }

  // The triangles of a solid projected onto the ground along the light, into the current path; half of them suffice.
  const foot = [0, 0, 0], spotA = {}, spotB = {}, spotC = {};
  function addShadow(view, item) {
    const { positions, triangles } = item.shape, T = item.matrix;
    const lay = (v, out) => {
      const x = positions[3 * v], y = positions[3 * v + 1], z = positions[3 * v + 2], h = T[8] * x + T[9] * y + T[10] * z + T[11] - view.floor;
      foot[0] = T[0] * x + T[1] * y + T[2] * z + T[3] - (KEY[0] / KEY[2]) * h;
      foot[1] = T[4] * x + T[5] * y + T[6] * z + T[7] - (KEY[1] / KEY[2]) * h;
      foot[2] = view.floor;
      return project(view.area, foot, out);
    };
    for (let t = 0; t < triangles.length; t += 3) {
      const a = lay(triangles[t], spotA), b = lay(triangles[t + 1], spotB), c = lay(triangles[t + 2], spotC);
      if ((b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y) > 0 || a.depth < 1e-3 || b.depth < 1e-3 || c.depth < 1e-3) continue;
      pen.moveTo(a.x, a.y);
      pen.lineTo(b.x, b.y);
      pen.lineTo(c.x, c.y);
    }
  }

  function drawLines(view) {
    const { data: d, count: many } = view.lines;
    for (let k = 0; k < many; k++) {
      const o = 12 * k, p = project(view.area, [d[o], d[o + 1], d[o + 2]]), q = project(view.area, [d[o + 4], d[o + 5], d[o + 6]]);
      if (p.depth < 1e-3 || q.depth < 1e-3) continue;
      path([p, q]);
      pen.lineWidth = d[o + 3];
      pen.strokeStyle = `rgba(${d[o + 8] * 255},${d[o + 9] * 255},${d[o + 10] * 255},${d[o + 11]})`;
      pen.stroke();
    }
  }

  function drawTriangles() {
    while (order.length < count) order.push(order.length);
    const sorted = order.slice(0, count).sort((a, b) => depths[b] - depths[a]);
    pen.lineJoin = "round";
    pen.lineWidth = 0.7;
    for (const k of sorted) {
      const o = 6 * k;
      pen.beginPath();
      pen.moveTo(corners[o], corners[o + 1]);
      pen.lineTo(corners[o + 2], corners[o + 3]);
      pen.lineTo(corners[o + 4], corners[o + 5]);
      pen.closePath();
      pen.fillStyle = shades[k];
      pen.fill();
      // Avoid seams.
      if (shades[k].endsWith(",1)")) { pen.strokeStyle = shades[k]; pen.stroke(); }
    }
  }

  function draw(views, ratio) {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (const view of views) {
      pen.save();
      pen.beginPath();
      pen.rect(view.area.x, view.area.y, view.area.width, view.area.height);
      pen.clip();
      if (view.ground) drawFloor(view);
      count = 0;
      for (const item of view.items) if (item.visible && item.alpha > 0) addItem(view, item);
      drawTriangles();
      drawLines(view);
      pen.restore();
    }
  }
  return { kind: "canvas", sides: 10, draw, lose: null };
}
