"""A list whose rows differ in length is refused by every door that takes arrays, with the argument's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import forearm as fa

RAGGED = [[0.1, 0.2], [0.3]]
ARM = fa.load("puma560")
q, qd, x = (np.linspace(low, 0.9, ARM.n) for low in (-0.7, -0.4, 0.2))
T = fa.kinematics.forward(ARM, q)
R, p = T[:3, :3], T[:3, 3]
ELASTIC = ARM.with_drives(elasticity=fa.Elasticity(stiffness=1e4))
LIMITS = fa.trajectories.MotionLimits(np.full(ARM.n, 2.0))
LINE = fa.trajectories.bang_bang(q, qd, x, qd, LIMITS)
SMOOTH = fa.trajectories.smooth(np.stack([q, x]), LIMITS)
DH = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]]
KERNEL = fa.compile(ARM)
OPEN = fa.compile(ARM, parameters=["link6.mass"])
LONG = fa.compile(fa.load("chain41"))
MANY = np.tile(q.astype(np.float32), ((1 << 16) + 1, 1))  # converted piece by piece
ROOMS = (fa, fa.kinematics, fa.dynamics, fa.drives, fa.trajectories, fa.simulation, fa.control)
# What is given for the arguments that are needed, by name, and where a function takes another.
GIVEN: dict[str, Any] = {
    "arm": ARM, "q": q, "qd": qd, "qdd": x, "tau": x, "T": T, "R": R, "W": R, "V": T, "Wd": R, "w": p,
    "theta": q, "thetad": qd, "qddd": qd, "qdddd": x,
    "velocity": p, "acceleration": p, "values": p, "rates": p, "form": "rpy", "near": q, "poses": T[None],
    "law": "pd", "step": 1e-3,
    "q0": q, "qd0": qd, "qdd0": 0.1 * x, "q1": x, "qd1": qd, "qdd1": 0.1 * q, "limits": LIMITS,
    "path": np.stack([q, x]), "duration": 0.01, "voltage": x, "postures": q,
    "position": p, "orientation": p, "points": np.stack([q, x]), "velocities": None, "to": p, "speed": 0.1,
    "size": 1.0, "stiffness": np.ones(ARM.n), "bandwidth": 10.0, "period": 1e-3, "still": q > 9.0,
    "name": "silver-w", "motion": LINE, "table": DH,
    "convention": "modified", "waypoints": (fa.Waypoint(q=q), fa.Waypoint(q=x)), "function": "bias",
    "family": lambda *_: LINE, "request": np.stack([q, x]),
}  # fmt: skip
OTHERWISE: dict[str, dict[str, Any]] = {
    "trajectories.bang_bang_many": {name: np.stack([q, x]) for name in ("q0", "qd0", "q1", "qd1")},
    "trajectories.jerk_limited": {"limits": LIMITS.with_jerk(20.0)},
    "trajectories.jerk_limited_many": {"limits": LIMITS.with_jerk(20.0)}
    | {name: np.stack([q, x]) for name in ("q0", "qd0", "qdd0", "q1", "qd1", "qdd1")},
    "forearm.Waypoint": {"q": q},
    "trajectories.Waypoint": {"q": q},
    "dynamics.elastic_forward": {"arm": ELASTIC},
    "dynamics.elastic_inverse": {"arm": ELASTIC},
    "dynamics.modes": {"arm": ELASTIC},
    "forearm.modes": {"arm": ELASTIC},
    "dynamics.elastic_inverse_along": {"arm": ELASTIC, "t": np.array([0.0, 0.1])}
    | {name: np.stack([q, x]) for name in ("q", "qd", "qdd", "qddd", "qdddd")},
    "control.MotorPD": {"arm": ELASTIC},
    "control.ElasticFeedForward": {"arm": ELASTIC, "motion": SMOOTH},
    "control.StateFeedback": {"arm": ELASTIC, "motion": SMOOTH},
}
# Messages that name what is made of the argument.
NAMED = {"values": "rpy", "orientation": "rpy", "poses": "T", "near": "near", "most": "gains"}


def functions() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any], str]]:
    """Each function and class of the rooms with each of its arguments that takes arrays."""
    for room in ROOMS:
        for name in room.__all__:
            found, where = getattr(room, name), f"{room.__name__.removeprefix('forearm.')}.{name}"
            if not callable(found) or (inspect.isclass(found) and issubclass(found, BaseException)):
                continue
            taken = inspect.signature(found).parameters
            needed = [
                key
                for key, one in taken.items()
                if one.default is one.empty and one.kind is not one.VAR_KEYWORD
            ]
            for key in (key for key, one in taken.items() if "ArrayLike" in str(one.annotation)):
                given = {n: GIVEN.get(n) for n in needed} | OTHERWISE.get(where, {})
                yield where, found, {n: v for n, v in given.items() if n != key}, key


STATES = {"q": q, "qd": qd, "qdd": x}
METHODS: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
    ("Kernel.inverse_dynamics", KERNEL.inverse_dynamics, STATES),
    ("Kernel.forward_dynamics", KERNEL.forward_dynamics, {"q": q, "qd": qd, "tau": x}),
    ("Kernel.inertia_matrix", KERNEL.inertia_matrix, {"q": q}),
    ("Kernel.jacobian", KERNEL.jacobian, {"q": q}),
    ("Kernel.inverse_kinematics", KERNEL.inverse_kinematics, {"T": T}),
    ("Kernel.inverse_dynamics_derivatives", KERNEL.inverse_dynamics_derivatives, STATES),
    ("Kernel, long", LONG.inverse_dynamics_derivatives, {k: np.ones(41) for k in STATES}),
    ("Kernel, piecewise", KERNEL.inverse_dynamics, {"q": MANY, "qd": MANY, "qdd": MANY}),
    ("Kernel, open", lambda **a: OPEN.gravity(q, **a), {"parameters": np.ones(1)}),
    ("Kernel, by name", lambda mass: OPEN.gravity(q, parameters={"link6.mass": mass}), {"mass": 1.0}),
    ("Fused", lambda **a: KERNEL.fused(["inverse_dynamics", "jacobian"])(*a.values()), STATES),
    ("Simulation.at", lambda t: fa.simulate(ARM, q, qd, 0.01, torque=x).at(t), {"t": 0.0}),
    ("Switching.at", LINE.at, {"t": 0.0}),
    ("Schedule.constant", fa.Schedule.constant, {"values": x}),
    ("DAC.out", fa.DAC().out, {"voltage": x}),
    ("DAC.voltage", fa.DAC().voltage, {"out": x}),
    ("Arm.with_payload", ARM.with_payload, {"mass": 1.0, "com": p, "inertia": np.eye(3)}),
    ("Smooth.at", lambda t: fa.control.smooth(q, x, 1.0).at(t), {"t": 0.0}),
    ("ClosedForm.torque", fa.dynamics.closed_form(ARM, q).torque, {"qd": qd, "qdd": x}),
]
CASES = [(f"{where}, {key}", f, given, key) for where, f, given, key in functions()]
CASES += [
    (f"{where}, {key}", f, {n: v for n, v in given.items() if n != key}, key)
    for where, f, given in METHODS
    for key in given
]


@pytest.mark.slow
@pytest.mark.parametrize(("where", "function", "given", "key"), CASES, ids=[case[0] for case in CASES])
def test_rows_of_unequal_length_are_refused_by_name(
    where: str, function: Callable[..., Any], given: dict[str, Any], key: str
) -> None:
    if "controller" in given:
        given = given | {"controller": fa.control.PD(ARM)}
    with pytest.raises(fa.InputError) as caught:
        function(**given, **{key: [RAGGED] if where == "control.procedure, values" else RAGGED})
    assert key in str(caught.value) or NAMED.get(key, key) in str(caught.value), where
