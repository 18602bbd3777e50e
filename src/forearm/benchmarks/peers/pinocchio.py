"""Pinocchio: a call from Python, and its batch functions on one thread."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.joint import Limits
from forearm.benchmarks.timing import Work
from forearm.benchmarks.work import calls
from forearm.files.urdf_write import urdf_text

CALLS = {
    "inverse_dynamics": ("rnea", "q, qd, third"),
    "forward_dynamics": ("aba", "q, qd, third"),
    "inertia_matrix": ("crba", "q"),
    "inverse_dynamics_derivatives": ("computeRNEADerivatives", "q, qd, third"),
    "forward_dynamics_derivatives": ("computeABADerivatives", "q, qd, third"),
}
BATCHES = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}


class Pinocchio:
    """An arm as Pinocchio reads it from URDF."""

    def __init__(self, arm: Arm, states: NDArray[np.float64]) -> None:
        self.pin = import_module("pinocchio")
        self.model = self.pin.buildModelFromXML(urdf_text(with_limits(arm)))
        self.states = [np.ascontiguousarray(v) for v in states]

    def one_call(self, name: str) -> Work:
        """The first state from Python."""
        function, given = CALLS[name]
        q, qd, third = (v[0].copy() for v in self.states)
        names = {"model": self.model, "data": self.model.createData(), "q": q, "qd": qd, "third": third}
        who = f"pin.{function.removeprefix('compute').replace('Derivatives', ' deriv.')}"
        names["f"] = getattr(self.pin, function)
        return calls(who, f"f(model, data, {given})", names, _whole)

    def batch(self, name: str) -> Work:
        """All states on one thread; Pinocchio's columns are our rows, so nothing is copied."""
        function, pool = getattr(self.pin, BATCHES[name]), self.pin.ModelPool(self.model, 1)
        out = np.zeros_like(self.states[0])
        given = [v.T for v in (*self.states, out)]
        return Work("Pinocchio batch", lambda: function(1, pool, *given), len(out), lambda: out)


def with_limits(arm: Arm) -> Arm:
    """Limits on every joint:
    a joint without limits is read as continuous, with two coordinates, cosine and sine.
    """
    tree = (
        dataclasses.replace(j, limits=Limits(-10.0, 10.0), max_effort=1e3, max_speed=1e2) for j in arm.tree
    )
    return arm.replace(tree=tuple(tree))


def _whole(answer: Any) -> NDArray[np.float64]:
    """Symmetric matrices of which Pinocchio fills only the upper triangle, completed."""
    if isinstance(answer, tuple):
        return np.stack([*answer[:2], _whole(answer[2])])
    array = np.array(answer)
    return np.triu(array) + np.triu(array, 1).T if array.ndim == 2 else array
