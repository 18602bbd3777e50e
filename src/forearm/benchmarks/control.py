"""Control from Python: a cycle of computed torque, and whole motions under control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from forearm.arm.drive import Friction
from forearm.benchmarks.timing import BenchmarkRow, beside, keeping
from forearm.benchmarks.work import each_joint
from forearm.control.controller import Sample
from forearm.control.controllers.computed_torque import ComputedTorque
from forearm.control.loop import run
from forearm.control.reference import default_motion
from forearm.files.builtin import load_builtin

CYCLES = 2000
FRICTION = Friction(viscous=0.3, coulomb=(0.2, -0.15))
CYCLE_UNDER, RUN_UNDER = 10e-6, 0.5  # s


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/control.md."""
    for arm in (each_joint(load_builtin("panda"), friction=FRICTION), load_builtin("puma560").rigid()):
        what = f"{arm.n} joints, {'friction' if arm.joints[0].friction else 'rigid'}"
        controller = ComputedTorque(arm)
        cycles, operations = keeping("ours", _cycles(controller, arm.n), CYCLES), int(controller.operations)
        title = f"one cycle of computed torque, {what}"
        yield beside(title, cycles, group="control", bar=CYCLE_UNDER, operations=operations)
        whole = keeping("ours", partial(run, arm, controller, default_motion(arm)), 1, lambda found: found.q)
        yield beside(f"2 s motion at 1 kHz, {what}", whole, repeats=5, group="control", bar=RUN_UNDER)


def _cycles(controller: ComputedTorque, n: int) -> Callable[[], Any]:
    numbers = np.random.default_rng(2).uniform(-1.0, 1.0, (8, n))
    sample = Sample(0, 0.0, numbers[0], numbers[1], None, tuple(numbers[2:5]), tuple(numbers[5:8]))

    def cycles() -> Any:
        for _ in range(CYCLES):
            torque = controller.command(sample)
        return torque

    return cycles
