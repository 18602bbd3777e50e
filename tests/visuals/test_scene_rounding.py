"""Scenes have the same bytes on every machine: also with noise in the last bit of all that machines round."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
PROGRAM = """
import json
import forearm as fa
from forearm.visuals.mesh import TriangleMesh
from forearm.visuals.solids import sphere

for name in ("puma560", "stanford", "cmu-dd"):
    print(json.dumps(fa.visuals.scene(fa.load(name), fa.load_visuals(name))))
ball = sphere(1.0, 40, 20)
small = fa.visuals.reduced(TriangleMesh(ball.vertices * [1.0, 0.7, 0.45], ball.triangles), 300)
print(small.vertices.tobytes().hex(), small.triangles.tolist())
"""
NOISE = "import rounding_noise\nrounding_noise.begin()\n"
COUNTED = "import sys\nprint(len(rounding_noise.SITES), file=sys.stderr)\n"


def printed(program: str) -> tuple[str, str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    return sha256(done.stdout.encode()).hexdigest(), done.stderr


@pytest.mark.slow
def test_noise_changes_no_byte() -> None:
    plain, _ = printed(PROGRAM)
    noisy, sites = printed(NOISE + PROGRAM + COUNTED)
    assert int(sites) > 0  # there was noise
    assert noisy == plain
