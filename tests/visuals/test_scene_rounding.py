"""Scenes have the same bytes on every machine: also with noise in the last bit of all that machines round."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
PROGRAM = """
import json
import forearm as fa
from forearm.visuals.mesh import TriangleMesh
from forearm.visuals.solids import sphere

for name in ("stanford", "cmu-dd"):
    print(json.dumps(fa.visuals.scene(fa.load(name), fa.load_visuals(name))))
ball = sphere(1.0, 24, 12)
small = fa.visuals.reduced(TriangleMesh(ball.vertices * [1.0, 0.7, 0.45], ball.triangles), 150)
print(small.vertices.tobytes().hex(), small.triangles.tolist())
"""
NOISE = "import rounding_noise\nrounding_noise.begin()\n"
COUNTED = "import sys\nprint(len(rounding_noise.SITES), file=sys.stderr)\n"


@pytest.mark.slow
def test_noise_changes_no_byte() -> None:
    plain = io.StringIO()
    with contextlib.redirect_stdout(plain):
        exec(PROGRAM, {})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    program = [sys.executable, "-c", NOISE + PROGRAM + COUNTED]
    noisy = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    assert int(noisy.stderr) > 0  # there was noise
    assert noisy.stdout == plain.getvalue()
