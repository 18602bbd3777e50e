"""What tests of simulations share: arms and methods to run, and a made-up motion with
everything that one can hold.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.simulation import Accuracy, Ending, Event, Sampling, Simulation

Floats = NDArray[np.float64]
METHODS = ("rk3", "rk4", "gill", "dp45", "dp87", "radau")
FIXED = METHODS[:3]
PATHS = ("rk4", "dp45", "radau")  # one for each way to step, where only the tableau differs
RIGID = random_arm(5, 3, drives=False)
RUBBING = fa.Friction(coulomb=(2.0, -3.0))


SPELLING = {
    "dac": ("sampling", Sampling),
    "record": ("sampling", Sampling),
    "rtol": ("accuracy", Accuracy),
    "atol": ("accuracy", Accuracy),
    "stops": ("ending", Ending),
    "until": ("ending", Ending),
}


def spelt(**given: Any) -> dict[str, Any]:
    """Arguments of simulate, with fields of its records among them put into these."""
    fields: dict[Any, dict[str, Any]] = {}
    for name in [name for name in given if name in SPELLING]:
        fields.setdefault(SPELLING[name], {})[name] = given.pop(name)
    return given | {record: kind(**values) for (record, kind), values in fields.items()}


def kinds(simulation: Simulation) -> list[tuple[str, str | None]]:
    """What happened, and where."""
    return [(event.kind, event.joint) for event in simulation.events]


def books(run: Simulation) -> float:
    """What the energies of a run do not explain, as a part of what was exchanged."""
    e = run.energy
    kinds = [e[name] for name in ("kinetic", "potential", "spring", "bristle", "field") if name in e]
    stored = np.sum(kinds, axis=0)
    exchanged = np.abs(e["supplied"]).max() + np.abs(np.diff(kinds)).sum() + e["lost"][-1]
    return float(np.abs(e["supplied"] - (stored - stored[0]) - e["lost"]).max() / exchanged)


def bits(value: Any) -> Any:
    """What is compared: arrays by their bytes, so that NaN and -0 count."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return [bits(item) for item in value] if isinstance(value, list | tuple) else value


def assert_same(one: Simulation, other: Simulation) -> None:
    for field in dataclasses.fields(Simulation):
        assert bits(getattr(one, field.name)) == bits(getattr(other, field.name)), field.name


def sines(
    arm: fa.Arm | str = "puma560", samples: int = 101, duration: float = 2.0, **changes: Any
) -> Simulation:
    """Joints that swing at different rates; fields given by name replace what is made up."""
    arm = fa.load(arm) if isinstance(arm, str) else arm
    rng = np.random.default_rng([arm.n, samples])
    t = np.linspace(0.0, duration, samples)
    size, rate, phase = rng.uniform(0.3, 1.3, (3, arm.n))
    angle = rate * t[:, None] + phase
    q, qd, qdd = size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
    tau = rng.normal(size=q.shape)
    fields: dict[str, Any] = {
        "arm": arm,
        "method": "rk4",
        "step": 1e-3,
        "t": t,
        "q": q,
        "qd": qd,
        "qdd": qdd,
        "tau": tau,
        "voltage": 0.2 * tau,
        "energy": {
            "kinetic": (qd**2).sum(axis=1),
            "potential": q.sum(axis=1),
            "supplied": t,
            "lost": 0.1 * t,
        },
        "lost": {"gear": np.abs(tau).cumsum(axis=0), "winding": tau**2},
        "events": (
            Event(0.25, "stop", arm.joints[0].name, "at its upper limit"),
            Event(1.5, "condition", None, "the hand is below the table"),
        ),
        "message": "the time asked for is over",
        "checkpoint": {
            "k": 3,
            "h": 0.1,
            "state": np.arange(4.0),
            "deep": [{"on": True, "bits": np.array([1, 2], np.uint8)}, None],
        },
    }
    return Simulation(**(fields | changes))


def everything() -> fa.Arm:
    """A joint that sticks, and one behind a gap and a spring with bristles on its link."""
    arm = random_arm(84, 2, drives=False)
    first, second = (joint.name for joint in arm.joints)
    dry = fa.Friction(viscous=0.3, coulomb=20.0)
    rough = fa.Friction(
        viscous=0.3, coulomb=0.9, static=1.4, stribeck_speed=0.2, bristle_stiffness=900.0, bristle_damping=2.0
    )
    motor = fa.Motor(gear_ratio=11.0, rotor_inertia=2e-3)
    spring = fa.Elasticity(stiffness=400.0, damping=1.5, half_gap=0.01)
    return arm.with_drives(
        {first: {"friction": dry}, second: {"motor": motor, "friction": rough, "elasticity": spring}}
    )
