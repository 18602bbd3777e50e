"""Limits of a motion along a path: velocity, acceleration, torque, current and voltage of each joint; speed
and acceleration of the hand; each constant or varying along the path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC
from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.limits import fastest_of
from forearm.values import as_floats

LimitGiven = ArrayLike | Callable[[Floats], ArrayLike] | tuple[ArrayLike, ArrayLike] | None
OF_JOINTS = ("velocity", "acceleration", "torque", "current", "voltage", "DAC", "jerk")
OF_HAND = ("hand speed", "hand acceleration")
OF_PATH = ("path jerk",)
KINDS = (*OF_JOINTS, *OF_HAND, *OF_PATH)
UNITS = {
    "velocity": "rad/s (m/s)",
    "acceleration": "rad/s^2 (m/s^2)",
    "torque": "N m (N)",
    "current": "A",
    "voltage": "V",
    "DAC": "V",
    "jerk": "rad/s^3 (m/s^3)",
    "hand speed": "m/s",
    "hand acceleration": "m/s^2",
    "path jerk": "of the path parameter / s^3",
}


@dataclass(frozen=True, eq=False)
class LimitCurve:
    """One kind of limit of `width` joints (or of the hand) along a path: the values (width,) times `factor`,
    or the result of a function of s (m,), (m, width), (width,) or (m, 1).
    """

    kind: str
    values: Floats
    function: Callable[[Floats], ArrayLike] | None = None
    factor: Floats | None = None

    @property
    def what(self) -> str:
        """Its argument, for messages."""
        return _argument(self.kind)

    @property
    def bounds(self) -> bool:
        """Whether it can be finite anywhere."""
        return self.function is not None or bool(np.isfinite(self.values).any())

    def at(self, s: Floats) -> Floats:
        """The limits (m, width) at places (m,)."""
        width = len(self.values)
        if self.function is None:
            found = np.broadcast_to(self.values, (len(s), width))
        else:
            made = as_floats(self.function(s), self.what)
            if made.ndim == 1 and len(made) == len(s) and (width == 1 or len(s) != width):
                made = made[:, None]
            if made.shape not in ((len(s), width), (len(s), 1), (width,), ()):
                raise InputError(
                    f"the function of s must return ({len(s)}, {width}) numbers for {len(s)} "
                    f"places, got shape {made.shape}.",
                    self.what,
                )
            found = np.broadcast_to(made, (len(s), width))
            if not (found > 0.0).all():
                k, j = (int(i) for i in np.argwhere(~(found > 0.0))[0])
                raise InputError(
                    f"limits must be above 0, got {float(found[k, j])!r} at s = "
                    f"{float(s[k]):.6g}, entry {j + 1}.",
                    self.what,
                )
        return found if self.factor is None else found * self.factor

    def scaled(self, j: int, factor: float) -> LimitCurve:
        """With entry j scaled by a factor."""
        factors = np.ones(len(self.values)) if self.factor is None else self.factor.copy()
        factors[j] *= factor
        return replace(self, factor=factors)


@dataclass(frozen=True, eq=False)
class PathLimits:
    """All limits of a motion, by kind."""

    curves: dict[str, LimitCurve]

    def at(self, kind: str, s: Floats) -> Floats:
        """The limits of a kind at places (m,): (m, n), or (m, 1) of the hand."""
        return self.curves[kind].at(s)

    def bounds(self, kind: str) -> bool:
        """Whether a kind is limited at all."""
        return self.curves[kind].bounds

    def scaled(self, kind: str, j: int, factor: float) -> PathLimits:
        """With the limit of a kind of joint j scaled by a factor."""
        return PathLimits(self.curves | {kind: self.curves[kind].scaled(j, factor)})


def path_limits(arm: Arm, dac: DAC | None, given: dict[str, Any]) -> PathLimits:
    """The given limits, and the arm's own where velocity, torque, current and voltage are None.

    Args:
        arm: the arm.
        dac: the converter whose range limits the voltages; None: not used.
        given: by kind a number, one per joint, a function of s, or a pair (places, values), linearly
            interpolated; None: the arm's.
    """
    drives, none = DriveLimits.of(arm, dac), np.full(arm.n, np.inf)
    own = {
        "velocity": fastest_of(arm),
        "torque": drives.effort,
        "current": drives.current,
        "voltage": drives.voltage,
        "DAC": drives.converter,
    }
    curves = {}
    for kind in KINDS:
        width = arm.n if kind in OF_JOINTS else 1
        value = given.get(kind)
        if value is None:
            curves[kind] = LimitCurve(kind, own.get(kind, none[:1] if width == 1 else none))
        else:
            curves[kind] = _curve(kind, value, width, arm)
    needing = [kind for kind in ("current", "voltage") if given.get(kind) is not None]
    if needing:
        from forearm.drives.motor import constants_of

        constants_of(arm)  # raises an error that names joints with undefined motors
    return PathLimits(curves)


def _argument(kind: str) -> str:
    return f"time_optimal, {kind.replace(' ', '_')}"


def _curve(kind: str, given: Any, width: int, arm: Arm) -> LimitCurve:
    what = _argument(kind)
    if kind in OF_PATH and (callable(given) or np.ndim(given)):
        raise InputError(f"expected one number for the whole path, got {shorten(given)}.", what)
    if callable(given):
        return LimitCurve(kind, np.full(width, np.nan), given)
    if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) == 1:
        return LimitCurve(kind, np.full(width, np.nan), _straight(given, width, what))
    values = as_floats(given, what)
    if values.shape not in ((), (1,), (width,)):
        raise InputError(
            f"expected one number{f' or {width}' if width > 1 else ''} for {arm.name!r}, a "
            f"function of s, or a pair (places, values), got {shorten(given)}.",
            what,
        )
    if not (values > 0.0).all():
        raise InputError(f"must be above 0, got {float(values[~(values > 0.0)].flat[0])!r}.", what)
    return LimitCurve(kind, np.broadcast_to(values, (width,)).astype(np.float64))


def _straight(given: tuple[ArrayLike, ArrayLike], width: int, what: str) -> Callable[[Floats], Floats]:
    """A function that interpolates linearly between values at places."""
    places, values = as_floats(given[0], what), as_floats(given[1], what)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise InputError(f"expected a row of values for each place, got shape {values.shape}.", what)
    if len(places) != len(values) or len(places) < 2 or not (np.diff(places) > 0.0).all():
        raise InputError("expected at least two increasing places and as many rows of values.", what)
    if values.shape[1] not in (1, width):
        raise InputError(f"expected rows of 1 or {width} values, got {values.shape[1]}.", what)
    if not (values > 0.0).all():
        k, j = (int(i) for i in np.argwhere(~(values > 0.0))[0])
        raise InputError(
            f"limits must be above 0, got {float(values[k, j])!r} at s = "
            f"{float(places[k]):.6g}, entry {j + 1}.",
            what,
        )
    return lambda s: np.stack([np.interp(s, places, column) for column in values.T], axis=1)
