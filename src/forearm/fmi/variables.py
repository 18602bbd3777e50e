"""The variables of an FMU: names, units, dependencies, and when each can be set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from forearm.arm.joint import Joint
from forearm.fmi.instance_memory import ALIVE, EVENT, INITIALIZATION, INSTANTIATED, READABLE, STEPPING
from forearm.fmi.model_functions import FmuModel
from forearm.fmi.naming import identifiers, unique

BEFORE = INSTANTIATED | INITIALIZATION
# Exponents of kg, m, s, A and rad, as FMI writes units.
UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "J": {"kg": 1, "m": 2, "s": -2},
    "kg": {"kg": 1},
    "kg.m2": {"kg": 1, "m": 2},
    "N.m.s": {"kg": 1, "m": 2, "s": -1},
    "N.s/m": {"kg": 1, "s": -1},
}
TURNING = {"q": "rad", "qd": "rad/s", "qdd": "rad/s2", "tau": "N.m", "viscous": "N.m.s"}
SLIDING = {"q": "m", "qd": "m/s", "qdd": "m/s2", "tau": "N", "viscous": "N.s/m"}
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class FmuVariable:
    """An FMI variable, a float64; its index in the layout is its value reference."""

    name: str
    place: int
    causality: str
    variability: str
    description: str
    unit: str | None = None
    start: float | None = None
    low: float = -math.inf
    high: float = math.inf
    derivative_of: int | None = None
    needs: tuple[int, ...] = ()  # value references of inputs and states
    needs_first: tuple[int, ...] = ()  # value references of inputs and parameters, before the start
    modes: int = 0  # modes in which it can be set

    @property
    def initial(self) -> str | None:
        """FMI's `initial` attribute: exact or calculated."""
        if self.causality == "independent":
            return None
        return "exact" if self.start is not None else "calculated"


@dataclass(frozen=True)
class Starts:
    """Default start values of an FMU, and the limits of the coordinates."""

    q0: Sequence[float]
    qd0: Sequence[float]
    step: float
    lower: Sequence[float]
    upper: Sequence[float]


def variables_of(model: FmuModel, starts: Starts) -> list[FmuVariable]:
    """All of them, in the order of the layout, each with a unique name."""
    made: list[FmuVariable] = []
    for variable in sorted(_all(model, starts), key=lambda v: v.place):
        made.append(replace(variable, name=unique(variable.name, [v.name for v in made])))
    return made


def _all(model: FmuModel, starts: Starts) -> Iterator[FmuVariable]:
    at = model.layout.starts
    yield FmuVariable("time", at["time"], "independent", "continuous", "time", "s")
    yield FmuVariable(
        "solver.step",
        at["step"],
        "parameter",
        "fixed",
        "longest step of co-simulation",
        "s",
        starts.step,
        0.0,
        modes=BEFORE,
    )
    yield from _of_joints(model, starts)
    yield from _parameters(model)
    yield from _of_hand(model)


def _of_joints(model: FmuModel, starts: Starts) -> Iterator[FmuVariable]:
    arm, at, dry = model.arm, model.layout.starts, model.dry
    names = _names(model)
    everything = tuple(p for name in ("u", "q", "qd") for p in model.layout.places(name))
    first = _first(model)
    for j, joint in enumerate(arm.joints):
        name, unit = names[joint.name], TURNING if joint.kind == "revolute" else SLIDING
        q0, qd0, u, q, qd = (at[key] + j for key in ("q0", "qd0", "u", "q", "qd"))
        low, high = starts.lower[j], starts.upper[j]
        fast = math.inf if joint.max_speed is None else joint.max_speed
        said = f"of joint {joint.name}"
        yield _input(model, joint, f"{name}.", u, unit)
        for letter, place, start, bounds, what in (
            ("q0", q0, starts.q0[j], (low, high), "coordinate"),
            ("qd0", qd0, starts.qd0[j], (-fast, fast), "velocity"),
        ):
            yield FmuVariable(
                f"{name}.{letter}", place, "parameter", "fixed", f"{what} at the start {said}",
                unit[letter[:-1]], float(start), *bounds, modes=BEFORE,
            )  # fmt: skip
        yield FmuVariable(
            f"{name}.q", q, "output", "continuous", f"coordinate {said}", unit["q"], None, low, high,
            needs=(q,), needs_first=(q0,),
        )  # fmt: skip
        yield FmuVariable(
            f"{name}.qd", qd, "output", "continuous", f"velocity {said}", unit["qd"],
            needs=(qd,), needs_first=(qd0,),
        )  # fmt: skip
        yield FmuVariable(
            f"der({name}.q)", at["dq"] + j, "local", "continuous", f"derivative of the coordinate {said}",
            unit["qd"], derivative_of=q, needs=(qd,), needs_first=(qd0,),
        )  # fmt: skip
        yield FmuVariable(
            f"{name}.qdd", at["qdd"] + j, "output", "continuous", f"acceleration {said}", unit["qdd"],
            derivative_of=qd, needs=everything, needs_first=first,
        )  # fmt: skip
        yield FmuVariable(
            f"{name}.motor_torque", at["tau"] + j, "output", "continuous",
            f"torque of the motor times its gear ratio {said}", unit["tau"],
            needs=(u, qd) if model.voltage else (u,), needs_first=(u, qd0) if model.voltage else (u,),
        )  # fmt: skip
        if j in dry:
            for key, what in (
                ("friction_sign", "direction of dry friction: -1, 0 or 1"),
                ("is_free", "0 while friction holds it, else 1"),
            ):
                yield FmuVariable(
                    f"{name}.{key}", at[key] + j, "local", "discrete", f"{what}, {said}", needs_first=(qd0,)
                )
            yield FmuVariable(
                f"{name}.event_indicator", at["indicators"] + dry.index(j), "local", "continuous",
                f"below 0 where it stops, or begins to move, {said}", needs=everything, needs_first=first,
            )  # fmt: skip


def _names(model: FmuModel) -> dict[str, str]:
    """An identifier for each joint, link and gravity; a joint and a link with the same name share one."""
    arm = model.arm
    owners = [
        *(j.name for j in arm.joints),
        "gravity",
        *(j.name for j in arm.tree),
        *(a.name for a in arm.links),
    ]
    return identifiers(dict.fromkeys(owners), "joint")


def _first(model: FmuModel) -> tuple[int, ...]:
    return tuple(p for name in ("u", "q0", "qd0", "parameters") for p in model.layout.places(name))


def _input(model: FmuModel, joint: Joint, prefix: str, place: int, unit: dict[str, str]) -> FmuVariable:
    if model.voltage:
        most = joint.motor.max_voltage if joint.motor is not None else None
        name, what, kind = "voltage", "voltage of the motor", "V"
    else:
        most, name, kind = joint.max_effort, "tau", unit["tau"]
        what = "torque of the drive: that of the motor times its gear ratio,"
    bound = math.inf if most is None else most
    return FmuVariable(
        f"{prefix}{name}", place, "input", "continuous", f"{what} of joint {joint.name}", kind, 0.0,
        -bound, bound, modes=ALIVE,
    )  # fmt: skip


def _parameters(model: FmuModel) -> Iterator[FmuVariable]:
    joints = {joint.name: joint for joint in model.arm.tree}
    known = ["gravity", *joints, *(link.name for link in model.arm.links)]
    parts = {name: _split(name, known) for name in model.parameters}
    names = _names(model)
    for k, (name, value) in enumerate(model.parameters.items()):
        owner, rest = parts[name]
        unit, low = _unit(rest, joints.get(owner), owner)
        yield FmuVariable(
            f"{names[owner]}.{rest}", model.layout.starts["parameters"] + k, "parameter", "tunable",
            f"{rest} of {owner}", unit, value, low, modes=BEFORE | EVENT | STEPPING,
        )  # fmt: skip


def _split(name: str, owners: Iterable[str]) -> tuple[str, str]:
    """The link or joint, whose name may contain dots, and the rest of the parameter's name."""
    owner = max((o for o in owners if name.startswith(f"{o}.")), key=len)
    return owner, name[len(owner) + 1 :]


def _unit(rest: str, joint: Joint | None, owner: str) -> tuple[str | None, float]:
    """The unit of a parameter, and its lower bound."""
    words, none = rest.split("."), -math.inf
    kind = SLIDING if joint is not None and joint.kind == "prismatic" else TURNING
    if owner == "gravity":
        return "m/s2", none
    if words[0] == "mass":
        return "kg", 0.0
    if words[0] == "com" or words[-1] in ("a", "d"):
        return "m", none
    if words[0] == "inertia" or words[-1] == "rotor_inertia":
        return "kg.m2", none if words[0] == "inertia" and words[1][0] != words[1][1] else 0.0
    if words[-1] in ("alpha", "theta"):
        return "rad", none
    if words[-1] == "viscous":
        return kind["viscous"], 0.0
    if words[-1] == "stribeck_speed":
        return kind["qd"], 0.0
    if words[-1] == "gear_ratio":
        return None, none
    return kind["tau"], none


def _of_hand(model: FmuModel) -> Iterator[FmuVariable]:
    layout = model.layout
    q, qd = (tuple(layout.places(name)) for name in ("q", "qd"))
    first = _first(model)
    pose, energies = layout.starts["pose"], layout.starts["energies"]
    for i in range(3):
        for k in range(4):
            turned = f"hand.R[{i + 1},{k + 1}]", "rotation of the hand, base axes", None
            name, what, unit = (
                turned if k < 3 else (f"hand.{AXES[i]}", "position of the hand, base axes", "m")
            )
            yield FmuVariable(
                name, pose + 4 * i + k, "output", "continuous", what, unit, needs=q, needs_first=first
            )
    for k, (what, needs) in enumerate((("kinetic", (*q, *qd)), ("potential", q))):
        yield FmuVariable(
            f"energy.{what}", energies + k, "output", "continuous", f"{what} energy", "J",
            needs=needs, needs_first=first,
        )  # fmt: skip


def access_of(variables: Iterable[FmuVariable], size: int) -> list[int]:
    """For each value the modes in which it can be set, and whether it can be read."""
    flags = [0] * size
    for v in variables:
        flags[v.place] = v.modes | READABLE
    return flags


def start_values(variables: Iterable[FmuVariable], size: int) -> list[float]:
    """The initial values of an instance."""
    values = [0.0] * size
    for v in variables:
        values[v.place] = v.start or 0.0
    return values
