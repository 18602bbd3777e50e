"""The limits of an arm at one place of a path, as the shares of them that u = d2s/dt2 and x = (ds/dt)^2 use.

A share is needed / allowed with its sign: the limit holds from -1 to 1. Written once over any scalar; the
numbers of a place form a row laid out by `RowLayout`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of, rotor_inertia
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.model import Scalar, model_of
from forearm.symbols import derivative
from forearm.symbols.scalars import choose, maximum, root
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.shortest_time.path_loads import HAND, LOADS, STANDING, hand_curvature, load_width

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

Scalars = Sequence[Scalar]
JOINT_KINDS = ("torque", "voltage", "acceleration")
HAND_KIND = "hand acceleration"
SLOWEST = 1e-6  # rad/s (m/s): lower velocities count as this one
AT_REST = 2.0  # marks the direction of a joint that comes to rest or starts to move
# of the hand's squared acceleration: minimum left for the tangential part where x is limited by curvature
LEAST_ROOM = 4e-4


def hand_share(at: Mapping[str, Sequence[Scalar]], inverse: Scalar, x: Scalar, u: Scalar) -> Scalar:
    """|p' u + p'' x| / a with the sign of the part that u changes."""
    first, second = (at[name] for name in HAND)
    square = sum((a * u + b * x) * (a * u + b * x) for a, b in zip(first, second, strict=True))
    A, B, _ = hand_curvature(first, second)
    return choose(A * u + B * x, 0.0, -1.0, 1.0) * root(square) * inverse


def solved_hand_share(at: Mapping[str, Sequence[Scalar]], inverse: Scalar, x: Scalar, u: Scalar) -> Scalar:
    """|p' u + p'' x| <= a, solved for u: (A u + B x) / sqrt(A (a^2 - c^2 x^2)) from -1 to 1, with A = p'.p',
    B = p'.p'' and c^2 = p''.p'' - B^2 / A, the part that u cannot cancel.
    """
    A, B, c_square = hand_curvature(*(at[name] for name in HAND))
    spare = A * maximum(1.0 - c_square * (x * x) * (inverse * inverse), LEAST_ROOM)
    return (A * u + B * x) * inverse / root(spare)


@dataclass(frozen=True)
class RowLayout:
    """Which limits exist, and the layout of a place's numbers in its row.

    Attributes:
        arm: the arm, for its drives.
        kinds: of JOINT_KINDS and HAND_KIND, those that are finite.
        payloads: number of payloads for which limits must hold: 1, or 2 for an interval of them.
        hand: whether the hand's motion is needed.
    """

    arm: Arm
    kinds: tuple[str, ...]
    payloads: int = 1
    hand: bool = False

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Slices of a place's numbers by name, as returned by `path_place`, one set after the other for
        payloads.
        """
        n, loads = self.arm.n, len(model_of(self.arm).bodies) * load_width(self.arm)
        sizes = {"dq": n, "ddq": n, "direction": n} | dict.fromkeys(LOADS, loads)
        return _slices(sizes | (dict.fromkeys(HAND, 3) if self.hand else {}))

    @cached_property
    def limits(self) -> dict[str, slice]:
        """Slices of a place's limits by kind; stored as 1 / limit, 0 if unlimited."""
        return _slices({kind: 1 if kind == HAND_KIND else self.arm.n for kind in self.kinds})

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that the machine code depends on."""
        return self.arm, self.kinds, self.payloads, self.hand

    @property
    def one_width(self) -> int:
        """Numbers of a place for one payload."""
        return int(max(part.stop for part in self.slices.values()))

    @property
    def width(self) -> int:
        """Numbers of a place."""
        return self.payloads * self.one_width

    @property
    def limit_width(self) -> int:
        """Limits of a place."""
        return int(max((part.stop for part in self.limits.values()), default=1))

    @cached_property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Kind of limit and joint ("" for the hand) of each share in `shares`, in order."""
        joints = [joint.name for joint in self.arm.joints]
        each: list[tuple[str, str]] = [
            (kind, joint) for kind in ("torque", "voltage") if kind in self.kinds for joint in joints
        ]
        found = each * self.payloads
        found += [("acceleration", joint) for joint in joints if "acceleration" in self.kinds]
        return tuple(found + ([(HAND_KIND, "")] if HAND_KIND in self.kinds else []))

    def shares(
        self,
        place: Sequence[Scalar],
        limits: Sequence[Scalar],
        x: Scalar,
        u: Scalar,
        of_hand: Callable[..., Scalar] = hand_share,
    ) -> list[Scalar]:
        """The shares of all limits, in the order of `names`.

        Args:
            place: its numbers, (width,).
            limits: 1 / limit, (limit_width,).
            x, u: (ds/dt)^2 and d2s/dt2.
            of_hand: function for the share of the hand's acceleration.
        """
        allowed = {kind: limits[part] for kind, part in self.limits.items()}
        # below this velocity the square root would be too steep for Newton's method
        slopes = [d * d for d in place[self.slices["dq"]]]
        speed = root(maximum(x, SLOWEST * SLOWEST / (sum(slopes) + STANDING)))
        found: list[Scalar] = []
        for k in range(self.payloads):
            numbers = place[k * self.one_width : (k + 1) * self.one_width]
            at = {name: numbers[part] for name, part in self.slices.items()}
            qd = [d * speed for d in at["dq"]]
            qdd = [d * u + dd * x for d, dd in zip(at["dq"], at["ddq"], strict=True)]
            if "torque" in self.kinds or "voltage" in self.kinds:
                loads = [a * u + b * x + c for a, b, c in zip(*(at[name] for name in LOADS), strict=True)]
                tau = self.torques(loads, qd, qdd, at["direction"])
                found += self._of_drives(allowed, tau, qd)
        if "acceleration" in self.kinds:
            found += [a * w for a, w in zip(qdd, allowed["acceleration"], strict=True)]
        if HAND_KIND in self.kinds:
            found.append(of_hand(at, allowed[HAND_KIND][0], x, u))
        return found

    def _of_drives(
        self, allowed: Mapping[str, Sequence[Scalar]], tau: Sequence[Scalar], qd: Sequence[Scalar]
    ) -> list[Scalar]:
        """Shares of torques, and of the voltages that they require."""
        found: list[Scalar] = []
        if "torque" in self.kinds:
            found += [t * w for t, w in zip(tau, allowed["torque"], strict=True)]
        if "voltage" in self.kinds:
            R_K, K = self._motors
            volts = [r * t + k * v for r, k, t, v in zip(R_K, K, tau, qd, strict=True)]
            found += [v * w for v, w in zip(volts, allowed["voltage"], strict=True)]
        return found

    def torques(
        self,
        loads: Sequence[Scalar],
        qd: Sequence[Scalar],
        qdd: Sequence[Scalar],
        direction: Sequence[Scalar],
    ) -> list[Scalar]:
        """Motor torques at the degrees of freedom, with friction in these directions, rotors included;
        AT_REST times a direction marks a joint about to stop.
        """
        model, width = model_of(self.arm), load_width(self.arm)
        rates = model.rates(qd)
        made = []
        for k, drive in enumerate(drives_of(self.arm)):
            rigid, *reaction = loads[k * width : (k + 1) * width]
            felt = (np.array(reaction[:3], dtype=object), np.array(reaction[3:], dtype=object))
            way = direction[drive.freedom] * float(np.sign(drive.multiplier))
            if drive.is_dry:  # a joint coming to rest may brake or not: the worse case counts
                way = choose(1.5, abs(way), choose(rigid * way, 0.0, 0.0, (1.0 / AT_REST) * way), way)
            made.append(drive.torque(rigid, felt if reaction else None, rates[k], way))
        rotor = rotor_inertia(self.arm).tolist()
        return [t + J * a for t, J, a in zip(model.gathered(made), rotor, qdd, strict=True)]

    @cached_property
    def _motors(self) -> tuple[list[float], list[float]]:
        """R / K and K of the motors."""
        limits = DriveLimits.of(self.arm)
        return (limits.R / limits.K).tolist(), limits.K.tolist()


@lru_cache(maxsize=64)
def compiled(layout: RowLayout, what: str) -> TracedFunction:
    """(place, limits, x (1,), u (1,)) -> the "shares", and their derivatives by u and by x; with a pace (1,)
    the largest of them, velocities included: the "use", (1,).
    """
    traced = {"shares": _traced_shares, "use": _traced_use}[what]
    return compile_function(
        lambda: traced(layout), f"path_{what}", key=(f"path {what}", *layout.key), arm=layout.arm
    )


def _traced_shares(layout: RowLayout) -> Traced:
    from forearm.codegen.functions import traced_formula

    def formula(place: Scalars, limits: Scalars, x: Scalars, u: Scalars) -> dict[str, Scalars]:
        made = layout.shares(place, limits, x[0], u[0])
        by_u, by_x = (derivative(v.graph, made, {v: 1.0}) for v in (u[0], x[0]))
        return {"share": made, "by_u": by_u, "by_x": by_x}

    return traced_formula(formula, _sizes(layout))


def _traced_use(layout: RowLayout) -> Traced:
    from forearm.codegen.functions import traced_formula

    def formula(place: Scalars, limits: Scalars, x: Scalars, u: Scalars, pace: Scalars) -> dict[str, Scalars]:
        most = root(x[0]) * pace[0]
        for share in layout.shares(place, limits, x[0], u[0]):
            most = maximum(most, abs(share))
        return {"use": [most]}

    return traced_formula(formula, _sizes(layout) | {"pace": 1})


def _sizes(layout: RowLayout) -> dict[str, int]:
    return {"place": layout.width, "limits": layout.limit_width, "x": 1, "u": 1}


def _slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
