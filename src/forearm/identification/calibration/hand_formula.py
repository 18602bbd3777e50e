"""The measured pose or point as a formula of q and of the unknown geometry over any scalar; residuals of
measurements and their Jacobian as machine code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.identification.calibration.unknowns import BASE, HAND, SIX, TABLE, PathJoint, path_to_hand
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, cos, is_zero, maximum, root, sin

ROUNDING = 1e-15  # rounding error of cosines of known right angles
LEAST = 1e-12  # of 1 + trace: limit near a rotation by half a turn


class MovedFrame:
    """A frame moved along the arm: its axes and origin, as lists of scalars."""

    def __init__(self) -> None:
        self.axes: list[list[Scalar]] = [[float(i == k) for i in range(3)] for k in range(3)]
        self.origin: list[Scalar] = [0.0, 0.0, 0.0]

    def move(self, k: int, length: Scalar) -> None:
        """Translate along its own axis k."""
        if not is_zero(length):
            self.origin = [p + length * e for p, e in zip(self.origin, self.axes[k], strict=True)]

    def turn(self, k: int, angle: Scalar) -> None:
        """Rotate about its own axis k."""
        if is_zero(angle):
            return
        c, s = (_exact(f(angle)) for f in (cos, sin))
        i, j = (k + 1) % 3, (k + 2) % 3
        first, second = self.axes[i], self.axes[j]
        self.axes[i] = [c * a + s * b for a, b in zip(first, second, strict=True)]
        self.axes[j] = [c * b - s * a for a, b in zip(first, second, strict=True)]

    def turn_about(self, axis: Sequence[float], angle: Scalar) -> None:
        """Rotate about a direction in its own axes: R = 1 + sin K + (1 - cos) K^2."""
        for k in range(3):
            if abs(axis[k]) == 1.0:
                self.turn(k, axis[k] * angle)
                return
        c, s = cos(angle), sin(angle)
        x, y, z = axis
        K = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        one = [[float(i == j) for j in range(3)] for i in range(3)]
        self._times(
            [
                [
                    one[i][j] + s * K[i][j] + (1.0 - c) * (axis[i] * axis[j] - one[i][j])  # K^2 = a a^T - 1
                    for j in range(3)
                ]
                for i in range(3)
            ]
        )

    def follow(self, T: Floats) -> None:
        """Move by a known pose (4, 4)."""
        for k in range(3):
            self.move(k, _exact(float(T[k, 3])))
        self._times([[_exact(float(v)) for v in row[:3]] for row in T[:3]])

    def shift(self, six: Sequence[Scalar]) -> None:
        """Translate by x, y, z along its axes and rotate by roll, pitch, yaw."""
        for k in range(3):
            self.move(k, six[k])
        for k in (2, 1, 0):
            self.turn(k, six[3 + k])

    def _times(self, R: list[list[Scalar]]) -> None:
        old = self.axes
        self.axes = [[sum_of(old[k][i] * R[k][j] for k in range(3)) for i in range(3)] for j in range(3)]


def hand_frame(arm: Arm, q: Sequence[Scalar], value: Mapping[str, Scalar]) -> MovedFrame:
    """The hand at q with these values of the unknowns, in the assumed base frame."""
    frame = MovedFrame()
    frame.shift([value.get(f"{BASE}.{part}", 0.0) for part in SIX])
    for step in path_to_hand(arm):
        _pass(frame, step, q, value)
    frame.follow(arm.hand.pose)
    frame.shift([value.get(f"{HAND}.{part}", 0.0) for part in SIX])
    return frame


def _pass(frame: MovedFrame, step: PathJoint, q: Sequence[Scalar], value: Mapping[str, Scalar]) -> None:
    joint, place = step.joint, step.joint.placement
    at = step.multiplier * q[step.freedom] + step.offset if step.freedom >= 0 else 0.0
    if isinstance(place, DH):
        table = {part: value.get(f"{joint.name}.{part}", getattr(place, part)) for part in TABLE}
        along = {"theta": at} if joint.kind == "revolute" else {"d": at} if joint.kind == "prismatic" else {}
        frame.turn(1, value.get(f"{joint.name}.beta", 0.0))
        if place.convention == "modified":
            _along_x(frame, table)
        frame.turn(2, table["theta"] + along.get("theta", 0.0))
        frame.move(2, table["d"] + along.get("d", 0.0))
        if place.convention == "standard":
            _along_x(frame, table)
        return
    frame.follow(joint.before)
    frame.shift([value.get(f"{joint.name}.{part}", 0.0) for part in SIX])
    axis, at = joint.axis.tolist(), at + value.get(f"{joint.name}.offset", 0.0)
    if joint.kind == "revolute":
        frame.turn_about(axis, at)
    elif joint.kind == "prismatic":
        for k in range(3):
            frame.move(k, axis[k] * at)


def _along_x(frame: MovedFrame, table: Mapping[str, Scalar]) -> None:
    frame.move(0, table["a"])
    frame.turn(0, table["alpha"])


def left_of_pose(frame: MovedFrame, measured: Sequence[Scalar]) -> list[Scalar]:
    """Residual of a pose: the origin (3), and the rotation error as 2 sin(angle / 2) axis in the hand's axes
    (3); `measured` holds the axes x, y, z of the measured frame, then its origin.
    """
    seen = [measured[3 * k : 3 * k + 3] for k in range(3)]
    E = [[sum_of(a * b for a, b in zip(mine, other, strict=True)) for other in seen] for mine in frame.axes]
    size = root(maximum(1.0 + E[0][0] + E[1][1] + E[2][2], LEAST))
    turned = [(E[2][1] - E[1][2]) / size, (E[0][2] - E[2][0]) / size, (E[1][0] - E[0][1]) / size]
    return [*left_of_point(frame, measured[9:12]), *turned]


def left_of_point(frame: MovedFrame, measured: Sequence[Scalar]) -> list[Scalar]:
    """Residual of a point: measured minus predicted origin (3)."""
    return [m - p for m, p in zip(measured, frame.origin, strict=True)]


@lru_cache(maxsize=32)
def residual_function(arm: Arm, names: tuple[str, ...], is_pose: bool) -> TracedFunction:
    """Compile (q (n), values (m), measured (12 or 3)) -> residual (k) and its Jacobian by values (k, m)."""

    def traced() -> Any:
        from forearm.codegen.functions import traced_formula
        from forearm.symbols import jacobian

        def formula(q: list[Scalar], values: list[Scalar], measured: list[Scalar]) -> dict[str, Any]:
            frame = hand_frame(arm, q, dict(zip(names, values, strict=True)))
            left = (left_of_pose if is_pose else left_of_point)(frame, measured)
            return {"left": left, "slope": jacobian(values[0].graph, left, values)}

        return traced_formula(formula, {"q": arm.n, "values": len(names), "measured": 12 if is_pose else 3})

    key = ("calibration", arm, names, is_pose)
    return compile_function(traced, "calibration", key=key, arm=arm)


def flat_poses(T: Floats) -> Floats:
    """Poses (B, 4, 4) in the layout of the compiled function (B, 12): axes, then origins."""
    return np.concatenate([np.swapaxes(T[:, :3, :3], 1, 2).reshape(-1, 9), T[:, :3, 3]], axis=1)


def sum_of(terms: Any) -> Scalar:
    """The sum in order, from the first to the last."""
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total


def _exact(x: Scalar) -> Scalar:
    """A known value with rounding errors near 0 and 1 removed."""
    if isinstance(x, float):
        for whole in (-1.0, 0.0, 1.0):
            if abs(x - whole) < ROUNDING:
                return whole
    return x
