"""The pose of an MJCF element in its parent: `pos` and one of five ways to write an orientation."""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.joint import Frame
from forearm.errors import InputError
from forearm.files.mjcf.attributes import MjcfElement
from forearm.files.mjcf.settings import MjcfSettings
from forearm.portable import dot, matmul, norm
from forearm.spatial import Floats, pose, rotation_about, rotation_rpy, rpy_of, tilde
from forearm.values import frozen

WAYS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
# The sequence of rotations about fixed axes for which the three angles are URDF's roll, pitch, yaw.
RPY = "XYZ"
NO_ANGLES = np.zeros(3)


@frozen
class Placed:
    """A position (3,) and an orientation: roll, pitch, yaw if written so, else a matrix."""

    xyz: Floats
    R: Floats
    rpy: Floats | None = None

    @property
    def pose(self) -> Floats:
        """The pose (4, 4) in the parent."""
        return pose(self.R, self.xyz)

    @property
    def is_origin(self) -> bool:
        """Whether it is the identity."""
        return not self.xyz.any() and np.array_equal(self.R, np.eye(3))

    def on(self, outer: Placed) -> Placed:
        """The placement in the parent of `outer`."""
        if outer.is_origin:
            return self
        xyz = outer.xyz + matmul(outer.R, self.xyz)
        return (
            outer.shifted(xyz) if np.array_equal(self.R, np.eye(3)) else Placed(xyz, matmul(outer.R, self.R))
        )

    def shifted(self, xyz: Floats) -> Placed:
        """The same orientation at another position."""
        return Placed(xyz, self.R, self.rpy)

    def frame(self, axis: Floats | None = None) -> Frame:
        """This placement as that of a joint."""
        rpy = rpy_of(self.R) + 0.0 if self.rpy is None else self.rpy
        return Frame(xyz=self.xyz, rpy=rpy) if axis is None else Frame(xyz=self.xyz, rpy=rpy, axis=axis)


ORIGIN = Placed(np.zeros(3), np.eye(3), NO_ANGLES)


def placed(element: MjcfElement, settings: MjcfSettings) -> Placed:
    """The placement of an element with `pos` and an orientation in its parent."""
    xyz = element.numbers("pos", 3, default="0 0 0")
    # An element's own orientation replaces that of its class, whatever its form.
    given = [way for way in WAYS if way in element.element.attributes]
    given = given or [way for way in WAYS if element.has(way)]
    if not given:
        return ORIGIN.shifted(xyz)
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} both define a rotation; give one.", element.where)
    unit = math.pi / 180.0 if settings.degrees else 1.0
    if given[0] == "euler":
        angles = element.numbers("euler", 3) * unit
        if settings.eulerseq == RPY:
            return Placed(xyz, rotation_rpy(angles), angles)
        return Placed(xyz, _from_euler(angles, settings.eulerseq))
    if given[0] == "axisangle":
        *axis, angle = element.numbers("axisangle", 4)
        return Placed(xyz, rotation_about(_unit(element, "axisangle", axis), float(angle) * unit))
    ways = {"quat": _from_quat, "xyaxes": _from_xyaxes, "zaxis": _from_zaxis}
    return Placed(xyz, ways[given[0]](element))


def rotation_of_quat(wxyz: Floats) -> Floats:
    """The rotation matrix of a unit quaternion, scalar first."""
    w, v = float(wxyz[0]), wxyz[1:]
    K = tilde(v)
    R: Floats = np.eye(3) + 2.0 * w * K + 2.0 * matmul(K, K)
    return R


def rotation_z_to(z: Floats) -> Floats:
    """The shortest rotation that takes z to a unit vector; half a turn about x for -z. MuJoCo's `zaxis`."""
    x, y, c = (float(v) for v in z)
    square = x * x + y * y
    if square == 0.0:
        return np.eye(3) if c > 0.0 else np.diag([1.0, -1.0, -1.0])
    K = tilde(np.array([-y, x, 0.0]))
    R: Floats = np.eye(3) + K + matmul(K, K) * (1.0 / (1.0 + c) if c > 0.0 else (1.0 - c) / square)
    return R


def _from_euler(angles: Floats, sequence: str) -> Floats:
    R = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        turn = rotation_about(np.eye(3)["xyz".index(letter.lower())], float(angle))
        R = matmul(R, turn) if letter.islower() else matmul(turn, R)  # lower-case letters: rotating axes
    return R


def _from_quat(element: MjcfElement) -> Floats:
    return rotation_of_quat(_unit(element, "quat", element.numbers("quat", 4)))


def _from_xyaxes(element: MjcfElement) -> Floats:
    given = element.numbers("xyaxes", 6)
    x = _unit(element, "xyaxes", given[:3])
    y = _unit(element, "xyaxes", given[3:] - dot(x, given[3:]) * x)
    return np.array([x, y, np.cross(x, y)]).T


def _from_zaxis(element: MjcfElement) -> Floats:
    return rotation_z_to(_unit(element, "zaxis", element.numbers("zaxis", 3)))


def _unit(element: MjcfElement, key: str, values: Floats | list[float]) -> Floats:
    v = np.array(values, dtype=float)
    largest = float(np.abs(v).max())
    if largest < 1e-14:
        raise InputError(f"{key} must not be all zeros.", element.where)
    v = v / largest
    v = v / norm(v)
    return v
