"""The cost of one evaluation of the reference dynamics, by every formulation:
clear code over floats, not the fast kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from forearm.benchmarks.peers import wanted
from forearm.benchmarks.timing import BenchmarkRow, median_time
from forearm.dynamics.reference import FORWARD, INERTIA, INVERSE, forward, inertia_matrix, inverse
from forearm.files.builtin import load_builtin

CALLS = 20


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """Inverse dynamics by all formulations,
    inertia matrix and forward dynamics by all methods, PUMA, six joints.
    """
    arm = load_builtin("puma560")
    q, qd, third = np.random.default_rng(1).uniform(-1.0, 1.0, (3, arm.n))
    works: dict[str, Callable[[], object]] = {
        **{f"inverse, {name}": partial(inverse, arm, q, qd, third, name) for name in INVERSE},
        **{f"inertia matrix, {name}": partial(inertia_matrix, arm, q, name) for name in INERTIA},
        **{f"forward, {name}": partial(forward, arm, q, qd, third, name) for name in FORWARD},
    }
    for name, work in works.items():
        row = BenchmarkRow(name, _each(work, 1 if name == "inverse, lagrange-naive" else CALLS))
        if name == "inverse, newton-euler":
            row = replace(row, bar=300e-6)
            if wanted("MuJoCo", peers):
                peer, seconds = f"MuJoCo from Python, {arm.n}-joint chain", _mujoco_inverse(q, qd, third)
                row = replace(row, peer=peer, peer_seconds=seconds)
        yield row


def _each(work: Callable[[], object], calls: int = CALLS) -> float:
    return median_time(lambda: [work() for _ in range(calls)]) / calls


def _mujoco_inverse(q: object, qd: object, qdd: object) -> float:
    import mujoco

    from forearm.files.urdf_write import urdf_text

    model = mujoco.MjModel.from_xml_string(urdf_text(load_builtin("chain6")))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
    return _each(lambda: mujoco.mj_inverse(model, data))
