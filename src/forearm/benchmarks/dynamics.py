"""The cost of one evaluation of the reference dynamics, by every formulation:
clear code over floats, not the fast kernels.
"""

from __future__ import annotations

import numpy as np

from forearm.benchmarks.peers import problem
from forearm.benchmarks.timing import BenchmarkRow, median_time
from forearm.dynamics.reference import FORWARD, INERTIA, INVERSE, forward, inertia_matrix, inverse
from forearm.files.builtin import load_builtin

CALLS = 20


def rows(peers: bool) -> list[BenchmarkRow]:
    """Inverse dynamics by all formulations,
    inertia matrix and forward dynamics by all methods, PUMA, six joints.
    """
    arm = load_builtin("puma560")
    q, qd, third = np.random.default_rng(1).uniform(-1.0, 1.0, (3, arm.n))
    peer = _mujoco_inverse(q, qd, third) if peers and problem("MuJoCo") is None else None
    made = []
    for name in INVERSE:
        calls = 1 if name == "lagrange-naive" else CALLS
        seconds = (
            median_time(lambda n=name, c=calls: [inverse(arm, q, qd, third, n) for _ in range(c)]) / calls  # type: ignore[misc]
        )
        bar = 300e-6 if name == "newton-euler" else None
        shown = (
            (f"MuJoCo from Python, {arm.n}-joint chain", peer)
            if name == "newton-euler" and peer
            else (None, None)
        )
        made.append(BenchmarkRow(f"inverse, {name}", seconds, bar, *shown))
    for name in INERTIA:
        seconds = median_time(lambda n=name: [inertia_matrix(arm, q, n) for _ in range(CALLS)]) / CALLS  # type: ignore[misc]
        made.append(BenchmarkRow(f"inertia matrix, {name}", seconds))
    for name in FORWARD:
        seconds = median_time(lambda n=name: [forward(arm, q, qd, third, n) for _ in range(CALLS)]) / CALLS  # type: ignore[misc]
        made.append(BenchmarkRow(f"forward, {name}", seconds))
    return made


def _mujoco_inverse(q: object, qd: object, qdd: object) -> float:
    import mujoco

    from forearm.files.urdf_write import urdf_text

    model = mujoco.MjModel.from_xml_string(urdf_text(load_builtin("chain6")))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
    return median_time(lambda: [mujoco.mj_inverse(model, data) for _ in range(CALLS)]) / CALLS
