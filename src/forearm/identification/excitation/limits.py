"""What an exciting motion may use: of each joint its range, speed, acceleration, torque, current and voltage,
of the hand a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.drives.joint import depends_on_load, drives_of
from forearm.errors import InputError, shorten
from forearm.kernels.kept import kernel_of
from forearm.kernels.kernel import Kernel
from forearm.kinematics.limits import limits_of
from forearm.spatial import Floats
from forearm.trajectories.drive_limits import DriveLimits, Quantity
from forearm.trajectories.limits import fastest_of
from forearm.values import as_floats

AXES = ("x", "y", "z")
# where an arm does not say: of joints that turn, and of those that slide
RANGE = (np.pi, 0.25)  # rad, m, to both sides of 0 or of the known end
SPEED = (1.0, 0.25)  # rad/s, m/s
ACCELERATION = (5.0, 1.0)  # rad/s^2, m/s^2: of joints that no torque, current or voltage bounds
Box = Sequence[Sequence[float]]


class Slopes(NamedTuple):
    """d values / d q, qd and qdd, (m, k, n) each; None: it does not depend on that."""

    q: Floats | None
    qd: Floats | None
    qdd: Floats | None


@dataclass(frozen=True, eq=False)
class Bounded:
    """A quantity along a motion that must stay between `low` and `high`: values (m, k), bounds (k,).

    Attributes:
        quantity: its name.
        who: whose it is, k names.
        slopes: None: it is q, qd or qdd itself, or slopes were not asked for.
        order: which of them, 0 to 2.
    """

    quantity: Quantity
    who: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    slopes: Slopes | None = None
    order: int = 0

    def shares(self) -> Floats:
        """|distance from the middle| / half the width, (m, k): above 1 is outside. Where one side is open a
        metre (or another unit) beyond the other is 1 more.
        """
        is_open = ~np.isfinite(self.high - self.low)
        low, high = np.where(is_open, -1.0, self.low), np.where(is_open, 1.0, self.high)
        made = np.abs(self.values - 0.5 * (low + high)) / (0.5 * (high - low))
        beyond = np.maximum(self.values - self.high, self.low - self.values)
        return np.where(is_open, np.maximum(1.0 + beyond, 0.0), made)


@dataclass(frozen=True, eq=False)
class ExcitationLimits:
    """The limits of one arm: lower < q < upper, |qd| and |qdd| below theirs (n,), drives within theirs, the
    hand in a box (2, 3); infinite where there is none.

    `smooth` is the arm whose friction has no jumps: dry friction is `dry` (2, n) at most, forwards and
    backwards, and counts in whole in both directions.
    """

    arm: Arm
    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    drives: DriveLimits
    box: Floats
    notes: tuple[str, ...]
    smooth: Kernel
    dry: Floats

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.arm.joints)

    def bounded(self, q: Floats, qd: Floats, qdd: Floats, slopes: bool = False) -> list[Bounded]:
        """Everything that is bounded, at states (m, n), with dry friction against every motion."""
        made = self._of_motion(q, qd, qdd)
        torque, volts = self.drives.torque, self.drives.volts
        if np.isfinite(torque).any() or np.isfinite(volts).any():
            tau = self.smooth.inverse_dynamics(q, qd, qdd)
            by = self.smooth.inverse_dynamics_derivatives(q, qd, qdd) if slopes else None
            own = None if by is None else Slopes(*by)
            made.append(_chosen("torque", self.joints, tau, -torque - self.dry[1], torque - self.dry[0], own))
            if np.isfinite(volts).any():
                made.append(self._voltage(tau, qd, by))
        return [some for some in made if len(some.who)]

    def as_it_is(self, q: Floats, qd: Floats, qdd: Floats) -> list[Bounded]:
        """Everything that is bounded, at states (m, n), with friction as it is."""
        drives, tau = self.drives, kernel_of(self.arm).inverse_dynamics(q, qd, qdd)
        V = drives.R / drives.K * tau + drives.K * qd
        made = self._of_motion(q, qd, qdd)
        made += [
            _chosen("torque", self.joints, tau, -drives.effort, drives.effort),
            _chosen("current", self.joints, tau / drives.K, -drives.current, drives.current),
            _chosen("voltage", self.joints, V, -drives.volts, drives.volts),
        ]
        return [some for some in made if len(some.who)]

    def _of_motion(self, q: Floats, qd: Floats, qdd: Floats) -> list[Bounded]:
        joints = self.joints
        made = [
            Bounded("position", joints, q, self.lower, self.upper, None, 0),
            Bounded("velocity", joints, qd, -self.velocity, self.velocity, None, 1),
            Bounded("acceleration", joints, qdd, -self.acceleration, self.acceleration, None, 2),
        ]
        if np.isfinite(self.box).any():
            kernel = kernel_of(self.arm)
            p = kernel.forward_kinematics(q)[:, :3, 3]
            J = kernel.jacobian(q)[:, :3]
            names = tuple(f"hand {axis}" for axis in AXES)
            made.append(_chosen("box", names, p, self.box[0], self.box[1], Slopes(J, None, None)))
        return made

    def _voltage(self, tau: Floats, qd: Floats, by: tuple[Floats, Floats, Floats] | None) -> Bounded:
        """V = R / K tau + K qd."""
        drives = self.drives
        per = drives.R / drives.K
        most, least = np.maximum(*(per * self.dry)), np.minimum(*(per * self.dry))
        slopes = None
        if by is not None:
            by_q, by_qd, by_qdd = (per[:, None] * block for block in by)
            slopes = Slopes(by_q, by_qd + np.diag(drives.K), by_qdd)
        volts, V = drives.volts, per * tau + drives.K * qd
        return _chosen("voltage", self.joints, V, -volts - least, volts - most, slopes)


def _chosen(
    quantity: Quantity,
    names: tuple[str, ...],
    values: Floats,
    low: Floats,
    high: Floats,
    slopes: Slopes | None = None,
) -> Bounded:
    """Of what is bounded those that are."""
    k = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    if slopes is not None:
        slopes = Slopes(*(None if block is None else block[:, k] for block in slopes))
    return Bounded(quantity, tuple(names[i] for i in k), values[:, k], low[k], high[k], slopes)


def excitation_limits(
    arm: Arm,
    margin: float,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    voltage: ArrayLike | None,
    box: Box | None,
) -> ExcitationLimits:
    """The limits that were given, the arm's where none was, and sober ones where the arm has none."""
    notes: list[str] = []
    slides = np.array([joint.kind != "revolute" for joint in arm.joints])
    lower, upper = _ranges(arm, slides, notes)
    free = margin * (upper - lower)
    drives = DriveLimits.of(arm)
    if torque is not None:
        drives = replace(drives, effort=_given(arm, torque, "torque"))
    if voltage is not None:
        volts = _given(arm, voltage, "voltage")
        unknown = [j for i, j in enumerate(drives.names) if drives.R[i] == 0.0 and np.isfinite(volts[i])]
        if unknown:
            raise InputError(
                f"excite, voltage: the motor of {unknown[0]} is not known; write its torque_constant and "
                "resistance into the arm file, or give torque instead."
            )
        drives = replace(drives, voltage=volts)
    fast = fastest_of(arm) if velocity is None else _given(arm, velocity, "velocity")
    fast = _filled(arm, fast, SPEED, slides, notes, "no largest speed", "velocity", ("rad/s", "m/s"))
    hard = np.full(arm.n, np.inf) if acceleration is None else _given(arm, acceleration, "acceleration")
    if acceleration is None:
        bounded = np.isfinite(drives.torque) | np.isfinite(drives.volts)
        assumed = _filled(
            arm,
            np.where(bounded, 0.0, np.inf),
            ACCELERATION,
            slides,
            notes,
            "no largest torque",
            "acceleration",
            ("rad/s^2", "m/s^2"),
        )
        hard = np.where(bounded, np.inf, assumed)
    smooth, dry = _without_dry_friction(arm)
    return ExcitationLimits(
        arm, lower + free, upper - free, fast, hard, drives, _box(box), tuple(notes), smooth, dry
    )


def _ranges(arm: Arm, slides: Floats, notes: list[str]) -> tuple[Floats, Floats]:
    """The joints' ranges; of those that have none, or one end, as far as is sober."""
    lower, upper = limits_of(arm)
    wide = np.where(slides, RANGE[1], RANGE[0])
    for i, joint in enumerate(arm.joints):
        if np.isfinite(lower[i]) and np.isfinite(upper[i]):
            continue
        low, high = lower[i], upper[i]
        if np.isfinite(low):
            high = low + 2.0 * wide[i]
        elif np.isfinite(high):
            low = high - 2.0 * wide[i]
        else:
            low, high = -wide[i], wide[i]
        lower[i], upper[i] = low, high
        unit = "m" if slides[i] else "rad"
        notes.append(f"{joint.name} has no range: it stays between {low:.4g} and {high:.4g} {unit}.")
    return lower, upper


def _filled(
    arm: Arm,
    values: Floats,
    usual: tuple[float, float],
    slides: Floats,
    notes: list[str],
    lacks: str,
    argument: str,
    units: tuple[str, str],
) -> Floats:
    """Limits with sober ones where there is none, and a note on each."""
    made = np.where(np.isfinite(values), values, np.where(slides, usual[1], usual[0]))
    for joint, was, now, slid in zip(arm.joints, values, made, slides, strict=True):
        if not np.isfinite(was):
            notes.append(
                f"{joint.name} has {lacks}: {argument} {now:g} {units[int(slid)]} is assumed; give "
                f"{argument}= for another."
            )
    return made


def _given(arm: Arm, value: ArrayLike, name: str) -> Floats:
    made = as_floats(value, f"excite, {name}")
    if made.shape not in ((), (arm.n,)):
        raise InputError(f"excite, {name}: expected one number or {arm.n}, got shape {made.shape}.")
    made = np.broadcast_to(made, (arm.n,)).copy()
    if not (made > 0.0).all():
        raise InputError(f"excite, {name}: must be above 0, got {shorten(value)}.")
    return made


def _box(given: Box | None) -> Floats:
    if given is None:
        return np.array([[-np.inf] * 3, [np.inf] * 3])
    box = as_floats(given, "excite, box")
    if box.shape != (2, 3) or np.isnan(box).any() or not (box[0] < box[1]).all():
        raise InputError(
            "excite, box: expected two corners ((xmin, ymin, zmin), (xmax, ymax, zmax)) in m, the first "
            f"below the second, infinite where it is open, got {shorten(given)}."
        )
    return box


def _without_dry_friction(arm: Arm) -> tuple[Kernel, Floats]:
    """The arm without Coulomb's and static friction, and how large they are, forwards and backwards (2, n).

    Where friction depends on the load it stays in: gears and bearings change it.
    """
    dry = np.zeros((2, arm.n))
    if depends_on_load(arm):
        return kernel_of(arm), dry
    for drive in drives_of(arm):
        law = drive.at_joint
        levels = (law.coulomb, law.static or (0.0, 0.0))
        forwards, backwards = max(level[0] for level in levels), min(level[1] for level in levels)
        m = drive.multiplier
        dry[0, drive.freedom] += max(m * forwards, m * backwards)
        dry[1, drive.freedom] += min(m * forwards, m * backwards)
    if not dry.any():
        return kernel_of(arm), dry
    tree = []
    for joint in arm.tree:
        f = joint.friction
        tree.append(joint if f is None else replace(joint, friction=Friction(side=f.side, viscous=f.viscous)))
    return kernel_of(arm.replace(tree=tuple(tree))), dry
