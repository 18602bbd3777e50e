"""Which controllers there are, and how each is made for a comparison: by name, on the arm and motion at hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.checking.balancing import with_counterweights
from forearm.control.controller import Controller
from forearm.control.controllers.computed_torque import ComputedTorque
from forearm.control.controllers.feedforward import FeedForward, FeedForwardPD
from forearm.control.controllers.pd import PD, PID
from forearm.control.controllers.simplified import locked_arm, weights_of
from forearm.control.model_error import without_friction
from forearm.control.reference import Reference
from forearm.errors import InputError, NameNotFound, shorten, suggest

Floats = NDArray[np.float64]
DISTANCE = 0.2  # m from the axes to the counterweights


@dataclass(frozen=True, eq=False)
class Setting:
    """What controllers are made for: the arm that they believe in, the motion, and how stiff they may be."""

    arm: Arm
    motion: Any
    reference: Reference
    bandwidth: float
    inertias: Floats


@dataclass(frozen=True, eq=False)
class Trial:
    """A controller ready to run: what it believes, what must be done to the plant for it, and which joints (n,) it moves."""

    controller: Controller
    arm: Arm
    alter: Callable[[Arm], Arm] = field(default=lambda plant: plant)
    moved: NDArray[np.bool_] | None = None


def trials(setting: Setting, asked: Iterable[str | Controller] | None) -> list[tuple[str, Trial]]:
    """Those asked for, by name or ready made; all that suit the arm and the motion unless some are."""
    known = available(setting)
    if asked is None:
        return [(name, make(setting)) for name, make in known.items()]
    if isinstance(asked, str):
        raise InputError(f"controllers: a list is needed; came {shorten(asked)}. Take [{asked!r}].")
    made = []
    for one in asked:
        if not isinstance(one, str):
            made.append((str(one.name), Trial(one, setting.arm)))
        elif one in known:
            made.append((one, known[one](setting)))
        else:
            raise NameNotFound(f"controllers: there is no {shorten(one)} for this arm and motion; {suggest(one, known)}")
    return made


def available(setting: Setting) -> dict[str, Callable[[Setting], Trial]]:
    """Makers by name: all that suit the arm and the motion."""
    found = dict(CLASSICAL)
    if without_friction(setting.arm) == setting.arm:
        found = {name: make for name, make in found.items() if not name.endswith("no friction")}
    if not setting.arm.is_serial:
        del found["computed torque, own link only"]
    if setting.reference.still.any() and not setting.reference.still.all():
        found["computed torque, still joints locked"] = _locked
    for name, (module, kind) in OTHERS.items():
        cls = _class(module, kind)
        if cls is not None:
            found[name] = _made(cls)
    return found


def _made(cls: Callable[..., Any], **given: Any) -> Callable[[Setting], Trial]:
    """From the arm, the motion where it is for one, and what it takes of bandwidth and inertias."""
    takes = inspect.signature(cls).parameters

    def make(s: Setting) -> Trial:
        usual = {"bandwidth": s.bandwidth, "inertias": s.inertias}
        named = {key: value for key, value in usual.items() if key in takes} | given
        return Trial(cls(s.arm, s.motion, **named) if "motion" in takes else cls(s.arm, **named), s.arm)

    return make


def _counterbalanced(s: Setting) -> Trial:
    weights = weights_of(s.arm, DISTANCE).counterweights
    believed = with_counterweights(s.arm, weights)
    controller = ComputedTorque(believed, bandwidth=s.bandwidth, dropped="no-gravity")
    return Trial(controller, believed, lambda plant: with_counterweights(plant, weights))


def _locked(s: Setting) -> Trial:
    still, q = s.reference.still, s.reference.q[0]
    believed = locked_arm(s.arm, still, q)
    return Trial(
        ComputedTorque(believed, bandwidth=s.bandwidth), believed, lambda plant: locked_arm(plant, still, q), ~still
    )  # fmt: skip


def _class(module: str, kind: str) -> Callable[..., Any] | None:
    try:
        found: Callable[..., Any] = getattr(import_module(f"forearm.control.{module}"), kind)
    except (ImportError, AttributeError):
        return None
    return found


CLASSICAL: dict[str, Callable[[Setting], Trial]] = {
    "feed-forward": _made(FeedForward),
    "feed-forward, no friction": _made(FeedForward, friction=False),
    "PD": _made(PD, gravity=False),
    "PD + gravity": _made(PD),
    "PID + gravity": _made(PID),
    "feed-forward + PD": _made(FeedForwardPD),
    "feed-forward + PD, no friction": _made(FeedForwardPD, friction=False),
    "computed torque": _made(ComputedTorque),
    "computed torque, no friction": _made(ComputedTorque, friction=False),
    "computed torque, no velocity terms": _made(ComputedTorque, dropped="no-velocity-terms"),
    "computed torque, own link only": _made(ComputedTorque, dropped="own-link-only"),
    "computed torque, counterbalanced": _counterbalanced,
}
# Ways of getting the force without computing all of it at each sample: module of this room, and class.
OTHERS = {
    "acceleration servo": ("acceleration", "AccelerationServo"),
    "path length": ("path_length", "PathLength"),
    "first order": ("extrapolation", "FirstOrder"),
    "precomputed": ("precomputed", "Precomputed"),
    "stored trajectories": ("store", "Stored"),
    "procedure": ("procedures", "Procedural"),
}
