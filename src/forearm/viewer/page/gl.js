// The WebGL 2 renderer. A view is {area, items, lines, floor, cell, size, casting}; an item {shape, matrix, colour, alpha, ...}.

const SHADERS = {
  solid: [`in vec3 position; in vec3 normal; uniform mat4 clip, pose; uniform vec3 eye; out vec3 n, toEye, own;
    void main() {
      vec4 p = pose * vec4(position, 1.0);
      mat3 A = mat3(pose);
      n = normal.x * cross(A[1], A[2]) + normal.y * cross(A[2], A[0]) + normal.z * cross(A[0], A[1]);
      own = position; toEye = eye - p.xyz; gl_Position = clip * p;
    }`, `in vec3 n, toEye, own; uniform vec4 colour; uniform vec3 key; uniform vec2 kind; out vec4 pixel;
    void main() {
      vec3 v = normalize(toEye), N = normalize(n);
      if (dot(N, v) < 0.0) N = -N;
      vec3 base = colour.rgb * colour.rgb;
      if (kind.y > 0.5) base = own.x * own.y * own.z > 0.0 ? vec3(0.01) : vec3(0.9);
      float hemi = 0.5 + 0.5 * N.z, lit = max(dot(N, key), 0.0);
      float fill = max(dot(N, normalize(vec3(-key.y, key.x, 0.35))), 0.0);
      vec3 light = mix(vec3(0.26, 0.25, 0.25), vec3(0.52, 0.55, 0.60), hemi) + lit * vec3(0.62, 0.60, 0.56) + fill * vec3(0.13);
      float shine = pow(max(dot(N, normalize(key + v)), 0.0), 42.0) * 0.16, rim = pow(1.0 - max(dot(N, v), 0.0), 4.0) * 0.07;
      vec3 seen = kind.x > 0.5 ? base : base * light + shine + rim;
      pixel = vec4(sqrt(seen) * colour.a, colour.a);
    }`],
  shadow: [`in vec3 position; uniform mat4 pose; uniform vec3 key; uniform vec4 where; out float height;
    void main() {
      vec4 p = pose * vec4(position, 1.0);
      height = max(p.z - where.z, 0.0) * where.w;
      gl_Position = vec4((p.xy - key.xy / key.z * max(p.z - where.z, 0.0) - where.xy) * where.w, 0.0, 1.0);
    }`, `in float height; out vec4 pixel; void main() { pixel = vec4(1.0 / (1.0 + 2.6 * height)); }`],
  blur: [`in vec3 position; out vec2 at; void main() { at = 0.5 + 0.5 * position.xy; gl_Position = vec4(position.xy, 0.0, 1.0); }`,
    `in vec2 at; uniform sampler2D seen; uniform vec2 way; out vec4 pixel;
    void main() {
      float s = texture(seen, at).r * 0.2;
      s += (texture(seen, at + way).r + texture(seen, at - way).r) * 0.18 + (texture(seen, at + 2.3 * way).r + texture(seen, at - 2.3 * way).r) * 0.13;
      s += (texture(seen, at + 4.2 * way).r + texture(seen, at - 4.2 * way).r) * 0.09;
      pixel = vec4(s);
    }`],
  floor: [`in vec3 position; uniform mat4 clip; uniform vec4 where; uniform float far; out vec2 at;
    void main() { at = position.xy * far; gl_Position = clip * vec4(where.xy + at, where.z, 1.0); }`,
    `in vec2 at; uniform sampler2D seen; uniform vec4 where; uniform float cell, far, below; uniform vec4 ink, axis, dark; out vec4 pixel;
    float lines(vec2 p, float width) { vec2 w = max(fwidth(p), 1e-6), d = abs(fract(p - 0.5) - 0.5) / w; vec2 f = clamp(width - d, 0.0, 1.0) * min(1.0, 0.35 / max(w.x, w.y)); return max(f.x, f.y); }
    void main() {
      float away = 1.0 - smoothstep(0.25, 1.0, length(at) / far);
      vec2 p = (where.xy + at) / cell, w = max(fwidth(p), 1e-6), zero = clamp(1.2 - abs(p) / w, 0.0, 1.0);
      float fine = lines(p, 1.0), coarse = lines(p / 5.0, 1.1), middle = max(zero.x, zero.y);
      vec4 c = vec4(ink.rgb, 1.0) * max(fine * 0.45, coarse * 0.9) * ink.a;
      c = mix(c, vec4(axis.rgb, 1.0), middle * axis.a);
      vec2 uv = 0.5 + 0.5 * at * where.w;
      float s = all(greaterThan(uv, vec2(0.0))) && all(lessThan(uv, vec2(1.0))) ? texture(seen, uv).r * dark.a : 0.0;
      c = c * (1.0 - s) + vec4(dark.rgb, 1.0) * s;
      pixel = c * away * below;
    }`],
  line: [`in vec2 corner; in vec4 from, to; in vec4 tint; uniform mat4 clip; uniform vec2 size; out vec4 c;
    void main() {
      vec4 a = clip * vec4(from.xyz, 1.0), b = clip * vec4(to.xyz, 1.0);
      if (a.w < 1e-3) a = mix(a, b, (1e-3 - a.w) / (b.w - a.w)); else if (b.w < 1e-3) b = mix(b, a, (1e-3 - b.w) / (a.w - b.w));
      vec2 p = a.xy / a.w * size, q = b.xy / b.w * size, d = q - p, u = length(d) > 1e-6 ? normalize(d) : vec2(1.0, 0.0);
      vec4 at = mix(a, b, corner.x);
      vec2 off = (vec2(-u.y, u.x) * corner.y + u * (corner.x * 2.0 - 1.0) * 0.5) * from.w;
      gl_Position = vec4(at.xy + off / size * at.w, at.z - 0.0004 * at.w, at.w); c = tint;
    }`, `in vec4 c; out vec4 pixel; void main() { pixel = vec4(c.rgb * c.a, c.a); }`],
};
const KEY = unit3([0.42, -0.5, 0.9]); // towards the light
const SHADOW = 256; // pixels of the shadow's picture

function glRenderer(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true, powerPreference: "low-power" });
  if (!gl) return null;
  const programs = {};
  for (const [name, texts] of Object.entries(SHADERS)) {
    const program = gl.createProgram();
    texts.forEach((text, k) => {
      const shader = gl.createShader(k ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
      gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${text}`);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    });
    ["position", "normal"].forEach((attribute, k) => gl.bindAttribLocation(program, k, attribute));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null; // a driver that cannot: the painter takes over
    const at = {};
    for (let k = 0; k < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k++) {
      const { name: uniform } = gl.getActiveUniform(program, k);
      at[uniform] = gl.getUniformLocation(program, uniform);
    }
    programs[name] = { program, at };
  }
  const kept = new Map(), clip = new Float32Array(16), pose = new Float32Array(16);

  function buffers(shape) {
    let made = kept.get(shape);
    if (made) return made;
    made = { array: gl.createVertexArray(), count: shape.triangles.length };
    gl.bindVertexArray(made.array);
    [shape.positions, shape.normals].forEach((values, k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shape.triangles, gl.STATIC_DRAW);
    kept.set(shape, made);
    return made;
  }
  const square = geometry(Float32Array.of(-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0), new Float32Array(12), Uint32Array.of(0, 1, 2, 0, 2, 3));

  // ---- lines: one quad for each, all in one call --------------------------------------------------------------------

  const lineArray = gl.createVertexArray(), lineData = gl.createBuffer();
  gl.bindVertexArray(lineArray);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, Float32Array.of(0, -0.5, 1, -0.5, 0, 0.5, 1, 0.5), gl.STATIC_DRAW);
  const { line: { program: lineProgram } } = programs;
  const attribute = (name, size, stride, offset) => {
    const place = gl.getAttribLocation(lineProgram, name);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, gl.FLOAT, false, stride, offset);
    if (stride) gl.vertexAttribDivisor(place, 1);
  };
  attribute("corner", 2, 0, 0);
  gl.bindBuffer(gl.ARRAY_BUFFER, lineData);
  [["from", 0], ["to", 16], ["tint", 32]].forEach(([name, offset]) => attribute(name, 4, 48, offset));

  // ---- the shadow on the ground: drawn small from the light, blurred ---------------------------------------------------

  const pictures = [0, 1].map(() => {
    const texture = gl.createTexture(), frame = gl.createFramebuffer();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R8, SHADOW, SHADOW);
    for (const key of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, key, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    return { texture, frame };
  });

  function use(name) { gl.useProgram(programs[name].program); return programs[name].at; }
  function drawShape(shape) {
    const made = buffers(shape);
    gl.bindVertexArray(made.array);
    gl.drawElements(gl.TRIANGLES, made.count, gl.UNSIGNED_INT, 0);
  }

  function castShadow(view, where) {
    gl.bindFramebuffer(gl.FRAMEBUFFER, pictures[0].frame);
    gl.viewport(0, 0, SHADOW, SHADOW);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.MAX);
    const at = use("shadow");
    gl.uniform3fv(at.key, KEY);
    gl.uniform4fv(at.where, where);
    for (const item of view.items) {
      if (!item.visible || !item.casts) continue;
      pose.set(item.matrix);
      gl.uniformMatrix4fv(at.pose, true, pose);
      drawShape(item.shape);
    }
    gl.blendEquation(gl.FUNC_ADD);
    gl.disable(gl.BLEND);
    const blur = use("blur"), reach = 1.15 / SHADOW;
    [[1, 0], [0, 1]].forEach(([x, y], k) => {
      gl.bindFramebuffer(gl.FRAMEBUFFER, pictures[1 - k].frame);
      gl.bindTexture(gl.TEXTURE_2D, pictures[k].texture);
      gl.uniform2f(blur.way, x * reach, y * reach);
      drawShape(square);
    });
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  function drawItems(view, through) {
    const at = use("solid");
    gl.uniformMatrix4fv(at.clip, true, clip);
    gl.uniform3fv(at.eye, camera.eye);
    gl.uniform3fv(at.key, KEY);
    for (const item of view.items) {
      if (!item.visible || item.alpha <= 0 || item.alpha < 1 !== through) continue;
      pose.set(item.matrix);
      gl.uniformMatrix4fv(at.pose, true, pose);
      gl.uniform4f(at.colour, item.colour[0], item.colour[1], item.colour[2], item.alpha);
      gl.uniform2f(at.kind, item.flat ? 1 : 0, item.checked ? 1 : 0);
      drawShape(item.shape);
    }
  }

  function drawFloor(view, where) {
    const at = use("floor"), { inks } = theme, set = (place, ink, alpha) => gl.uniform4f(place, ...rgb(ink), alpha);
    gl.uniformMatrix4fv(at.clip, true, clip);
    gl.uniform4fv(at.where, where);
    gl.uniform1f(at.cell, view.cell);
    gl.uniform1f(at.far, 5.2 * view.size);
    gl.uniform1f(at.below, camera.eye[2] < view.floor ? 0.25 : 1);
    set(at.ink, inks.middle, theme.dark ? 0.55 : 0.6);
    set(at.axis, inks.middle, 0.9);
    set(at.dark, theme.dark ? "#000000" : "#27323b", theme.dark ? 0.62 : 0.34);
    gl.bindTexture(gl.TEXTURE_2D, pictures[0].texture);
    gl.depthMask(false);
    drawShape(square);
    gl.depthMask(true);
  }

  function drawLines(view, ratio) {
    if (!view.lines.count) return;
    const at = use("line");
    gl.uniformMatrix4fv(at.clip, true, clip);
    gl.uniform2f(at.size, (view.area.width * ratio) / 2, (view.area.height * ratio) / 2);
    gl.bindVertexArray(lineArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, lineData);
    gl.bufferData(gl.ARRAY_BUFFER, view.lines.data, gl.DYNAMIC_DRAW, 0, 12 * view.lines.count);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, view.lines.count);
  }

  function draw(views, ratio) {
    gl.clearColor(0, 0, 0, 0);
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    for (const view of views) {
      const { x, y, width, height } = view.area, where = [view.centre[0], view.centre[1], view.floor, 1 / (2.3 * view.size)];
      if (view.ground) castShadow(view, where);
      gl.viewport(Math.round(x * ratio), Math.round(canvas.height - (y + height) * ratio), Math.round(width * ratio), Math.round(height * ratio));
      clip.set(view.area.clip);
      gl.enable(gl.DEPTH_TEST);
      gl.disable(gl.BLEND);
      drawItems(view, false);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      if (view.ground) drawFloor(view, where);
      drawLines(view, ratio);
      drawItems(view, true);
    }
  }
  return { kind: "webgl", sides: 32, draw, lose: gl.getExtension("WEBGL_lose_context") };
}
