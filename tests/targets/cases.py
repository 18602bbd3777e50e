"""Functions of arms with inputs and truths: the reference's answers, or what must hold of an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from arms import Array, random_arm
from drives.making import loaded_arm

import forearm as fa
from forearm.codegen.source import Source

DOUBLE = 1e-12  # of the largest entry
SINGLE = 2e-5  # of the largest entry: some hundred roundings of 6e-8
SOLVED = 1e-8  # of the largest acceleration, where it is found by iteration: the condition of M is in it
SINGLE_SOLVED = 1e-3
CLOSE = 1e-9  # what numeric inverse kinematics calls solved

BREAKS = 40  # of a gear's curve: more than are counted, so that a table in memory is halved


@dataclass(frozen=True)
class Case:
    """An arm's function; `inputs` of a state, `shapes` of results, and what they should be."""

    arm: fa.Arm
    function: str
    inputs: tuple[Array, ...]
    truth: tuple[Array, ...]
    double: float = DOUBLE
    single: float = SINGLE

    def source(self, target: str, dtype: str) -> Source:
        """The object file."""
        return _source(self, target, dtype)

    def check(self, found: Sequence[Array], dtype: str) -> None:
        """Compare results with the truth."""
        share = self.double if dtype == "float64" else self.single
        for one, truth in zip(found, self.truth, strict=True):
            assert np.isfinite(one).all()
            assert np.abs(one.reshape(truth.shape) - truth).max() <= share * max(1.0, np.abs(truth).max())


_sources: dict[Any, Source] = {}


def _source(case: Case, target: str, dtype: str) -> Source:
    key = id(case), target, dtype
    if key not in _sources:
        _sources[key] = fa.generate(case.arm, case.function, target=target, dtype=dtype)
    return _sources[key]


def state(n: int, seed: int) -> list[Array]:
    """q, qd, qdd or tau; no rate near rest, where friction turns its sign."""
    rng = np.random.default_rng([seed, n, 5])
    return list(rng.uniform(0.2, 1.8, (3, n)) * rng.choice([-1.0, 1.0], (3, n)))


def geared(arm: fa.Arm) -> fa.Arm:
    """The arm with gears whose efficiency is a long table."""
    loads = np.linspace(0.02, 1.3, BREAKS)
    efficiency = tuple(zip(loads.tolist(), (0.55 + 0.3 * np.tanh(3.0 * loads)).tolist(), strict=True))

    def changed(joint: fa.Joint) -> fa.Joint:
        if joint.transmission is None:
            return joint
        gear = fa.Transmission(efficiency=efficiency, rated_torque=20.0)
        return dataclasses.replace(joint, transmission=gear)

    return arm.replace(tree=tuple(changed(joint) for joint in arm.tree))


def _inverse(arm: fa.Arm) -> Case:
    q, qd, qdd = state(arm.n, 1)
    return Case(arm, "inverse_dynamics", (q, qd, qdd), (fa.dynamics.inverse(arm, q, qd, qdd),))


def _forward(arm: fa.Arm) -> Case:
    q, qd, qdd = state(arm.n, 2)
    tau = fa.dynamics.inverse(arm, q, qd, qdd)
    return Case(arm, "forward_dynamics", (q, qd, tau), (qdd,), SOLVED, SINGLE_SOLVED)


def _kinematics() -> Case:
    arm = random_arm(4, 5, tree=True, mimic=True, drives=False)
    q = state(arm.n, 3)[0]
    return Case(arm, "forward_kinematics", (q,), (fa.kinematics.forward(arm, q),))


def _inertia() -> Case:
    arm = random_arm(7, 4, tree=True)
    q = state(arm.n, 4)[0]
    return Case(arm, "inertia_matrix", (q,), (fa.dynamics.inertia_matrix(arm, q),))


CASES: dict[str, Callable[[], Case]] = {
    "torques of the Puma": lambda: _inverse(fa.load("puma560")),
    "torques by tables": lambda: _inverse(geared(loaded_arm("chain", 6, 3))),
    "accelerations by iteration": lambda: _forward(loaded_arm("chain", 6, 3)),
    "accelerations of the Stanford arm": lambda: _forward(fa.load("stanford").rigid()),
    "pose of a tree": _kinematics,
    "inertia of a tree": _inertia,
}


@cache
def case(name: str) -> Case:
    """A case by its name, made once."""
    return CASES[name]()


@cache
def kernel(name: str, dtype: str, cpu: str) -> Any:
    """The compiled function of a case's arm."""
    return getattr(fa.compile(case(name).arm, dtype=dtype, cpu=cpu), case(name).function)
