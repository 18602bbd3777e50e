"""Limits of an excitation motion: range, speed, acceleration, torque, current and voltage of each joint, and
a box for the hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, Keyword, Sentence
from forearm.identification.excitation.worst_torques import worst_torques
from forearm.identification.requests import MotionBounds
from forearm.kernels.kept import kernel_of
from forearm.kinematics.limits import limits_of
from forearm.spatial import Floats
from forearm.trajectories.drive_limits import DriveLimits, Quantity
from forearm.trajectories.limits import fastest_of
from forearm.values import frozen

HAND = ("hand x", "hand y", "hand z")
# defaults for revolute and prismatic joints whose limits the arm does not give
RANGE = (np.pi, 0.25)  # rad, m: to both sides of 0 or from the known end
SPEED = (1.0, 0.25)  # rad/s, m/s
ACCELERATION = (5.0, 1.0)  # rad/s^2, m/s^2: for joints without a torque, current or voltage limit
KEPT = 2e-3  # of half the width: margin of the search, for times between its samples
States = tuple[Floats, Floats, Floats]


@frozen
class Bounded:
    """Bounded quantities along a motion, k of them at m times: `above` must stay below `high` and `below`
    above `low`; the two differ only where friction may act either way.

    Attributes:
        quantity: its name.
        who: names of the joints or axes (k).
        above, below: values (m, k).
        low, high: bounds (k,).
        pulled: maps weights (m, k) of `above` and `below` to gradients by q, qd and qdd, (m, n) each.
        slopes: d values / d q, qd, qdd, (m, k, n) each, possibly approximate; None if not available.
        order: 0 to 2 if the quantity is q, qd or qdd itself; otherwise None.
    """

    quantity: Quantity
    who: tuple[str, ...]
    above: Floats
    below: Floats
    low: Floats
    high: Floats
    pulled: Callable[[Floats, Floats], States] | None = None
    slopes: tuple[Floats | None, Floats | None, Floats | None] = (None, None, None)
    order: int | None = None

    @property
    def half(self) -> Floats:
        """Half the width between bounds (k,); 1 if one side is open."""
        width = self.high - self.low
        return np.where(np.isfinite(width), 0.5 * width, 1.0)

    def shares(self) -> Floats:
        """Use of the limits (m, k), from the middle to the ends: above 1 is outside. With one side open, a
        metre (or another unit) beyond the other side counts 1 more.
        """
        return 1.0 + np.maximum(self.above - self.high, self.low - self.below) / self.half

    def rooms(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Distances of `above` and `below` from KEPT before their ends (m, k), in half widths, and their
        derivatives (k,); 1 and 0 if there is no end.
        """
        made = []
        for values, end, way in ((self.above, self.high, -1.0), (self.below, self.low, 1.0)):
            there = np.isfinite(end)
            room = way * (values - np.where(there, end, 0.0)) / self.half - KEPT
            made.append((np.where(there, room, 1.0), np.where(there, way / self.half, 0.0)))
        return made[0], made[1]


@frozen
class ExcitationLimits:
    """The limits of one arm: lower < q < upper, bounds on |qd| and |qdd| (n,), drive limits, and a box for
    the hand (2, 3); infinite if there is no limit.
    """

    arm: Arm
    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    drives: DriveLimits
    box: Floats
    notes: tuple[str, ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.arm.joints)

    def bounded(self, q: Floats, qd: Floats, qdd: Floats, slopes: bool = False) -> list[Bounded]:
        """All bounded quantities at states (m, n), with friction in either direction."""
        made = self._of_motion(q, qd, qdd, slopes)
        drives = self.drives
        if np.isfinite(drives.torque).any() or drives.by_voltage:
            made += self._of_drives(q, qd, qdd, slopes)
        return made

    def as_it_is(self, q: Floats, qd: Floats, qdd: Floats) -> list[Bounded]:
        """All bounded quantities at states (m, n), with friction in the direction of motion."""
        drives, tau = self.drives, kernel_of(self.arm).inverse_dynamics(q, qd, qdd)
        V = drives.R / drives.K * tau + drives.K * qd
        made = self._of_motion(q, qd, qdd, False)
        bounds: tuple[tuple[Quantity, Floats, Floats], ...] = (
            ("torque", tau, drives.effort),
            ("current", tau / drives.K, drives.current),
            ("voltage", V, drives.volts),
        )
        for name, needed, most in bounds:
            if np.isfinite(most).any():
                made.append(Bounded(name, self.joints, needed, needed, -most, most))
        return made

    def _of_motion(self, q: Floats, qd: Floats, qdd: Floats, slopes: bool) -> list[Bounded]:
        v, a = self.velocity, self.acceleration
        made = [
            Bounded("position", self.joints, q, q, self.lower, self.upper, order=0),
            Bounded("velocity", self.joints, qd, qd, -v, v, order=1),
        ]
        if np.isfinite(a).any():
            made.append(Bounded("acceleration", self.joints, qdd, qdd, -a, a, order=2))
        if np.isfinite(self.box).any():
            kernel = kernel_of(self.arm)
            p = kernel.forward_kinematics(q)[:, :3, 3]
            low, high = self.box
            if not slopes:
                return [*made, Bounded("box", HAND, p, p, low, high)]
            J = kernel.jacobian(q)[:, :3]

            def pulled(above: Floats, below: Floats) -> States:
                still = np.zeros_like(q)
                return np.einsum("mk,mkn->mn", above + below, J), still, still

            made.append(Bounded("box", HAND, p, p, low, high, pulled, (J, None, None)))
        return made

    def _of_drives(self, q: Floats, qd: Floats, qdd: Floats, slopes: bool) -> list[Bounded]:
        """Torques, and voltages V = R / K tau + K qd."""
        drives, worst = self.drives, worst_torques(self.arm)
        forwards, backwards = worst.both(q, qd, qdd)
        K, per, volts = drives.K, drives.R / drives.K, drives.volts
        turned = per < 0.0  # at a reversal of the gear the largest torque needs the least voltage
        V = [per * tau + K * qd for tau in (forwards, backwards)]
        most, least = np.where(turned, V[1], V[0]), np.where(turned, V[0], V[1])
        by = worst.unloaded.inverse_dynamics_derivatives(q, qd, qdd) if slopes else (None, None, None)

        def pulled(above: Floats, below: Floats) -> States:
            return worst.pulled(q, qd, qdd, above, below)

        def pulled_by_volts(above: Floats, below: Floats) -> States:
            up, down = np.where(turned, below, above), np.where(turned, above, below)
            by_q, by_qd, by_qdd = worst.pulled(q, qd, qdd, per * up, per * down)
            return by_q, by_qd + K * (above + below), by_qdd

        made = []
        if np.isfinite(drives.torque).any():
            top = drives.torque
            made.append(Bounded("torque", self.joints, forwards, backwards, -top, top, pulled, by))
        if drives.by_voltage:
            if slopes:
                by_q, by_qd, by_qdd = (per[:, None] * block for block in by if block is not None)
                by = (by_q, by_qd + np.diag(K), by_qdd)
            made.append(Bounded("voltage", self.joints, most, least, -volts, volts, pulled_by_volts, by))
        return made


def excitation_limits(arm: Arm, asked: MotionBounds) -> ExcitationLimits:
    """The given limits, those of the arm for the rest, and conservative defaults if it has none."""
    notes: list[str] = []
    lower, upper = _ranges(arm, notes)
    free = asked.margin * (upper - lower)
    given = {
        name: per_joint(arm, getattr(asked, name), name)
        for name in ("velocity", "acceleration", "torque", "voltage")
        if getattr(asked, name) is not None
    }
    drives = DriveLimits.of(arm)
    if "torque" in given:
        drives = replace(drives, effort=given["torque"])
    if "voltage" in given:
        no_motor = np.flatnonzero((drives.R == 0.0) & np.isfinite(given["voltage"]))
        if no_motor.size:
            raise InputError(
                f"the motor of {drives.names[no_motor[0]]} is unknown; add its torque_constant and "
                "resistance to the arm file, or give torque instead.",
                "excite",
                "voltage",
            )
        drives = replace(drives, voltage=given["voltage"])
    fast = given.get("velocity", fastest_of(arm))
    fast = _filled(arm, fast, SPEED, notes, "largest speed", "velocity", ("rad/s", "m/s"))
    hard = given.get("acceleration")
    if hard is None:
        bounded = np.isfinite(drives.torque) | np.isfinite(drives.volts)
        unknown, units = np.where(bounded, 0.0, np.inf), ("rad/s^2", "m/s^2")
        assumed = _filled(arm, unknown, ACCELERATION, notes, "largest torque", "acceleration", units)
        hard = np.where(bounded, np.inf, assumed)
    _check_room(arm, {"a range": upper - lower, "a max_speed": fast, "a max_effort": drives.torque})
    box = np.array([[-np.inf] * 3, [np.inf] * 3]) if asked.box is None else np.asarray(asked.box)
    return ExcitationLimits(arm, lower + free, upper - free, fast, hard, drives, box, tuple(notes))


def per_joint(arm: Arm, value: ArrayLike, name: str) -> Floats:
    """A value for each joint (n,), from one number or one per joint."""
    if np.shape(value) not in ((), (arm.n,)):
        raise InputError(f"expected one number or {arm.n}, got shape {np.shape(value)}.", "excite", name)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (arm.n,)).copy()


def _slides(arm: Arm) -> NDArray[np.bool_]:
    return np.array([joint.kind != "revolute" for joint in arm.joints])


def _check_room(arm: Arm, sizes: Mapping[str, Floats]) -> None:
    """Refuse joints that the arm's limits hold still."""
    for what, size in sizes.items():
        for joint, one in zip(arm.joints, size, strict=True):
            if not one > 0.0:
                raise InputError(
                    f"{joint.name} of {arm.name!r} has {what} of 0 and cannot move; change it "
                    f"in the arm file, or excite arm.lock({{{joint.name!r}: ...}}).",
                    "excite",
                )


def _ranges(arm: Arm, notes: list[str]) -> tuple[Floats, Floats]:
    """The joints' ranges, with conservative defaults for open ends."""
    lower, upper = limits_of(arm)
    wide = np.where(_slides(arm), RANGE[1], RANGE[0])
    is_open = ~np.isfinite(upper - lower)
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * wide, -wide))
    high = np.where(np.isfinite(upper), upper, low + 2.0 * wide)
    units = np.where(_slides(arm), "m", "rad")
    texts = [f"between {a:.4g} and {b:.4g} {unit}" for a, b, unit in zip(low, high, units, strict=True)]
    for names, text in _alike(arm, is_open, texts):
        notes.append(f"no range of {names}: positions stay {text}.")
    return low, high


def _filled(
    arm: Arm,
    values: Floats,
    usual: tuple[float, float],
    notes: list[str],
    lacks: str,
    keyword: str,
    units: tuple[str, str],
) -> Floats:
    """Limits with conservative defaults for revolute and prismatic joints, and a note on them."""
    slides = _slides(arm)
    made = np.where(np.isfinite(values), values, np.where(slides, usual[1], usual[0]))
    texts = [f"{now:g} {units[int(slid)]}" for now, slid in zip(made, slides, strict=True)]
    for names, text in _alike(arm, ~np.isfinite(values), texts):
        said = f"no {lacks} of {names}: {keyword} {text} is assumed; give "
        notes.append(Sentence(said, Keyword(keyword), " for another."))
    return made


def _alike(arm: Arm, where: NDArray[np.bool_], texts: list[str]) -> Iterator[tuple[str, str]]:
    """Names of joints that share a text, and the text."""
    found: dict[str, list[str]] = {}
    for joint, is_one, text in zip(arm.joints, where, texts, strict=True):
        if is_one:
            found.setdefault(text, []).append(joint.name)
    for text, names in found.items():
        yield ", ".join(names), text
