"""Limits of a motion along a path: velocity, acceleration, torque, current and voltage of each joint; speed
and acceleration of the hand; each constant or varying along the path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC, constants_of
from forearm.errors import InputError, shorten
from forearm.records import declaration
from forearm.spatial import Floats
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.limits import fastest_of
from forearm.trajectories.path_options import PathLimits, is_along
from forearm.values import as_floats, frozen

PER_JOINT = ("velocity", "acceleration", "torque", "current", "voltage", "jerk")
UNITS: dict[str, str] = {
    name.replace("_", " "): getattr(field, "unit", "") for name, field in declaration(PathLimits).items()
}


@frozen
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
                k, j = np.argwhere(~(found > 0.0))[0]
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


@frozen
class LimitCurves:
    """All limits of a motion, by kind."""

    curves: dict[str, LimitCurve]

    def at(self, kind: str, s: Floats) -> Floats:
        """The limits of a kind at places (m,): (m, n), or (m, 1) of the hand."""
        return self.curves[kind].at(s)

    def bounds(self, kind: str) -> bool:
        """Whether a kind is limited at all."""
        return self.curves[kind].bounds

    def scaled(self, kind: str, j: int, factor: float) -> LimitCurves:
        """With the limit of a kind of joint j scaled by a factor."""
        return LimitCurves(self.curves | {kind: self.curves[kind].scaled(j, factor)})


def path_limits(arm: Arm, dac: DAC | None, limits: PathLimits) -> LimitCurves:
    """The limits, and the arm's own where velocity, torque, current and voltage are None.

    Args:
        arm: the arm.
        dac: the converter whose range limits the voltages; None: not used.
        limits: those of the motion.
    """
    drives, none = DriveLimits.of(arm, dac), np.full(arm.n, np.inf)
    own = {
        "velocity": fastest_of(arm),
        "torque": drives.effort,
        "current": drives.current,
        "voltage": drives.voltage,
    }
    curves = {"DAC": LimitCurve("DAC", drives.converter)}
    for kind in UNITS:
        value = getattr(limits, kind.replace(" ", "_"))
        unlimited = own.get(kind, none if kind in PER_JOINT else none[:1])
        curves[kind] = LimitCurve(kind, unlimited) if value is None else _curve(kind, value, arm)
    if limits.current is not None or limits.voltage is not None:
        constants_of(arm)  # raises an error that names joints with undefined motors
    return LimitCurves(curves)


def _argument(kind: str) -> str:
    return f"time_optimal, {kind.replace(' ', '_')}"


def _curve(kind: str, value: Any, arm: Arm) -> LimitCurve:
    width = arm.n if kind in PER_JOINT else 1
    if not callable(value):
        places, rows = value if is_along(value) else (None, value)
        values = np.array(rows, dtype=np.float64)
        if values.shape[places is not None :] not in ((), (1,), (width,)):
            raise InputError(
                f"expected one number{f' or {width}' * (width > 1)} for {arm.name!r}, at each place if there "
                f"are several, got {shorten(value)}.",
                _argument(kind),
            )
        if places is None:
            return LimitCurve(kind, np.broadcast_to(values, (width,)).copy())
        value = partial(_interpolated, places, values)
    return LimitCurve(kind, np.full(width, np.nan), value)


def _interpolated(places: tuple[float, ...], values: Floats, s: Floats) -> Floats:
    """Values at places (k, w), linearly interpolated at s (m,), (m, w)."""
    return np.stack([np.interp(s, places, column) for column in values.T], axis=1)
