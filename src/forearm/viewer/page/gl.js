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
      N = dot(N, v) < 0.0 ? -N : N;
      vec3 base = colour.rgb * colour.rgb;
      if (kind.y > 0.5) base = own.x * own.y * own.z > 0.0 ? vec3(0.01) : vec3(0.9);
      float hemi = 0.5 + 0.5 * N.z, lit = max(dot(N, key), 0.0);
      float fill = max(dot(N, vec3(0.67, 0.57, 0.47)), 0.0);
      vec3 light = mix(vec3(0.26, 0.25, 0.25), vec3(0.52, 0.55, 0.60), hemi) + lit * vec3(0.62, 0.60, 0.56) + fill * vec3(0.13);
      float h = max(dot(N, normalize(key + v)), 0.0), e = 1.0 - max(dot(N, v), 0.0);
      h *= h; h *= h; h *= h; h *= h; h *= h; e *= e;
      float shine = h * 0.17, rim = e * e * 0.07;
      vec3 seen = kind.x > 0.5 ? base : base * light + shine + rim;
      pixel = vec4(sqrt(seen) * colour.a, colour.a);
    }`],
  back: [`in vec3 position; out float up; void main() { up = 0.5 + 0.5 * position.y; gl_Position = vec4(position.xy, 0.99999, 1.0); }`,
    `in float up; uniform vec4 low, high; out vec4 pixel; void main() { pixel = mix(low, high, up); }`],
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
  floor: [`in vec3 position; uniform mat4 clip; uniform vec4 where; out vec2 at;
    void main() { at = 0.5 + 0.5 * position.xy; gl_Position = clip * vec4(where.xy + position.xy / where.w, where.z, 1.0); }`,
    `in vec2 at; uniform sampler2D seen; uniform vec4 dark; out vec4 pixel; void main() { pixel = vec4(dark.rgb, 1.0) * (texture(seen, at).r * dark.a); }`],
  line: [`uniform sampler2D lines; uniform mat4 clip; uniform vec4 size; out vec4 c;
    // Six corners for each line, whose data are three texels.
    void main() {
      int line = gl_VertexID / 6, k = gl_VertexID % 6;
      ivec2 first = ivec2(3 * (line % 256), line / 256);
      vec4 from = texelFetch(lines, first, 0), to = texelFetch(lines, first + ivec2(1, 0), 0), tint = texelFetch(lines, first + ivec2(2, 0), 0);
      vec2 corner = vec2(k == 1 || k == 4 || k == 5 ? 1.0 : 0.0, k == 2 || k == 3 || k == 5 ? 0.5 : -0.5);
      vec4 a = clip * vec4(from.xyz, 1.0), b = clip * vec4(to.xyz, 1.0);
      if (a.w < 1e-3) a = mix(a, b, (1e-3 - a.w) / (b.w - a.w)); else if (b.w < 1e-3) b = mix(b, a, (1e-3 - b.w) / (a.w - b.w));
      vec2 p = a.xy / a.w * size.xy, q = b.xy / b.w * size.xy, d = q - p, u = length(d) > 1e-6 ? normalize(d) : vec2(1.0, 0.0);
      vec4 at = mix(a, b, corner.x);
      vec2 off = (vec2(-u.y, u.x) * corner.y + u * (corner.x * 2.0 - 1.0) * 0.5) * from.w;
      gl_Position = vec4(at.xy + off / size.xy * at.w, at.z - size.w * at.w, at.w); c = vec4(tint.rgb, mix(tint.a, to.w, corner.x) * size.z);
    }`, `in vec4 c; out vec4 pixel; void main() { pixel = vec4(c.rgb * c.a, c.a); }`],
};
// Towards the light.
const KEY = unit3([0.42, -0.5, 0.9]);
// Pixels of the shadow map.
const SHADOW = 128;

// Whether WebGL runs in software, by the renderer name of a temporary context.
function drawsBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl2"), info = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const name = info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "", lose = gl && gl.getExtension("WEBGL_lose_context");
  if (lose) lose.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

// Multisampling would halve the frame rate of software rendering.
function glRenderer(canvas) {
  const antialias = !drawsBySoftware(), gl = canvas.getContext("webgl2", { antialias, alpha: false, powerPreference: "low-power" });
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
    // Unsupported by the driver: fall back to the painter.
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
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

  // ---- lines: data in a texture, all drawn in one call -----------------------------------------------------------------

  const noArray = gl.createVertexArray();
  function lineTexture(lines) {
    let made = kept.get(lines);
    const rows = Math.ceil(lines.data.length / 12 / 256);
    if (!made || made.rows !== rows) {
      if (made) gl.deleteTexture(made.texture);
      made = { texture: gl.createTexture(), rows, fresh: true };
      gl.bindTexture(gl.TEXTURE_2D, made.texture);
      gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, 768, rows);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      kept.set(lines, made);
    }
    gl.bindTexture(gl.TEXTURE_2D, made.texture);
    if (!lines.key || made.fresh) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 768, Math.ceil(lines.count / 256), gl.RGBA, gl.FLOAT, lines.data);
    made.fresh = false;
  }

  // ---- the shadow on the ground: rendered at low resolution from the light, blurred -------------------------------------

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

  // Whether a pose mirrors a solid.
  const mirrors = (T) => T[0] * (T[5] * T[10] - T[6] * T[9]) - T[1] * (T[4] * T[10] - T[6] * T[8]) + T[2] * (T[4] * T[9] - T[5] * T[8]) < 0;

  // Back faces are culled for closed solids and for everything transparent.
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
      if (item.limit || (item.open && !through)) gl.disable(gl.CULL_FACE);
      else { gl.enable(gl.CULL_FACE); gl.frontFace(mirrors(pose) ? gl.CW : gl.CCW); }
      // Items inside a link show through it; a ghost is drawn as one object.
      gl.depthMask(!through || Boolean(item.ghost));
      // The handle of the hand is visible through everything.
      gl.depthFunc(item.hand === "move" ? gl.ALWAYS : gl.LESS);
      drawShape(item.shape);
    }
    gl.disable(gl.CULL_FACE);
    gl.frontFace(gl.CCW);
    gl.depthMask(true);
    gl.depthFunc(gl.LESS);
  }

  function drawShadow(view, where) {
    const at = use("floor");
    gl.uniformMatrix4fv(at.clip, true, clip);
    gl.uniform4fv(at.where, where);
    gl.uniform4f(at.dark, ...(theme.dark ? [0, 0, 0, 0.62] : [0.15, 0.2, 0.23, 0.36]));
    gl.bindTexture(gl.TEXTURE_2D, pictures[0].texture);
    gl.depthMask(false);
    drawShape(square);
    gl.depthMask(true);
  }

  function drawLines(view, lines, ratio, fade = 1, nearer = 4e-4) {
    if (!lines.count) return;
    const at = use("line");
    gl.uniformMatrix4fv(at.clip, true, clip);
    gl.uniform4f(at.size, (view.area.width * ratio) / 2, (view.area.height * ratio) / 2, fade, nearer);
    lineTexture(lines);
    gl.bindVertexArray(noArray);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * lines.count);
  }

  function draw(views, ratio) {
    gl.clearColor(0, 0, 0, 1);
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    for (const view of views) {
      const { x, y, width, height } = view.area, where = view.ground ? shadowOf(view) : null;
      if (where) castShadow(view, where);
      gl.viewport(Math.round(x * ratio), Math.round(canvas.height - (y + height) * ratio), Math.round(width * ratio), Math.round(height * ratio));
      clip.set(view.area.clip);
      gl.enable(gl.DEPTH_TEST);
      gl.disable(gl.BLEND);
      drawItems(view, false);
      const back = use("back"), paper = rgb(theme.inks.paper), haze = rgb(theme.inks.haze);
      gl.uniform4f(back.low, ...mixed(paper, haze, 0.45), 1);
      gl.uniform4f(back.high, ...mixed(paper, haze, 1), 1);
      // Drawn last: covered pixels cost nothing.
      drawShape(square);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      if (view.ground) drawLines(view, gridOf(view), ratio, camera.eye[2] < view.floor ? 0.3 : 1, 0);
      if (where && camera.eye[2] > view.floor) drawShadow(view, where);
      drawLines(view, view.lines, ratio);
      drawItems(view, true);
    }
  }
  return { kind: "webgl", sides: 24, still: antialias ? 1 : 1.5, draw, lose: gl.getExtension("WEBGL_lose_context") };
}
