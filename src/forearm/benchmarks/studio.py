"""The studio: time to write a page and its size, and the speed of its dynamics in Node.js."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from forearm.benchmarks.timing import BenchmarkRow, median_process_time
from forearm.files.builtin import load_builtin
from forearm.viewer.headless import in_node

ARMS = ("panda", "puma560")
STAGES = 4  # of a step: one evaluation of accelerations is forward dynamics plus what a step adds
TIMED = """
const z = new Float64Array(arm.n), state = engine.state(arm.home, z), q = state.q, least = (calls, work) => {
  let best = Infinity;
  for (let round = 0; round < 9; round++) {
    const start = performance.now();
    for (let k = 0; k < calls; k++) work();
    best = Math.min(best, (performance.now() - start) / calls / 1000);
  }
  return best;
};
return {
  step: least(200, () => engine.step(state, z, 1e-5, 100)) / 100,
  torques: least(20000, () => { q[0] += 1e-9; engine.torque(q, state.qd, z); }),
  poses: least(20000, () => { q[0] += 1e-9; engine.poses(q); }),
};
"""


def rows(peers: bool) -> list[BenchmarkRow]:
    """Pages written by the command, and functions of the page in Node.js, one call after another."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ARMS:
            page = Path(folder) / f"{name}.html"
            words = ["-m", "forearm", "studio", name, "-o", str(page)]
            seconds = median_process_time(words, repeats=3)
            size = page.stat().st_size / 1000
            title = f"studio page of {name}, {size:.0f} kB, whole command"
            made.append(BenchmarkRow(title, seconds, 1.5 if name == "panda" else None))
    for name in ARMS if shutil.which("node") else ():
        found = in_node(load_builtin(name), TIMED)
        bar = 1e-6 if name == "panda" else None
        made += [
            BenchmarkRow(f"{name} in node: a stage of an RK4 step", found["step"] / STAGES, bar),
            BenchmarkRow(f"{name} in node: torques with friction", found["torques"]),
            BenchmarkRow(f"{name} in node: poses of all bodies", found["poses"]),
        ]
    return made
