"""Friction in bearings from their reaction force and moment. Dhanaraj 3.3, with the sign convention of
mechanics.

Supports at +-d/2 along the joint's axis carry (fx/2 +- ny/d, fy/2 -+ nx/d): the pairs are (-ny, +nx) and
(+ny, -nx), printed as (-, -) and (+, +).
"""

from __future__ import annotations

from forearm.arm.drive import Bearing
from forearm.model import Array
from forearm.symbols.scalars import Scalar, root
from forearm.values import frozen


@frozen
class BearingLaw:
    """`Bearing` over any scalar: its coefficient may be symbolic."""

    kind: str
    mu: Scalar
    radius: float | None
    distance: float | None
    offset: float


LEAST = 1e-30  # N^2 m^2: gives the friction at zero load a slope, 0


def bearing_friction(bearing: Bearing | BearingLaw, f: Array, n: Array, direction: Scalar) -> Scalar:
    """The torque (force) of a bearing against the motion; f and n act at the joint's origin, in axes with z
    along the joint axis.
    """
    return direction * bearing_level(bearing, f, n)


def bearing_level(bearing: Bearing | BearingLaw, f: Array, n: Array) -> Scalar:
    """Magnitude of the friction of a bearing. 3.3 (journal), 3.4 (linear), 3.5 (thrust, with f_z)."""
    (fx, fy, fz), (nx, ny, _) = f, n
    if bearing.kind == "thrust":
        return (bearing.mu * _given(bearing.radius)) * abs(fz)
    d = _given(bearing.distance)
    if bearing.offset:  # about the midpoint of the supports
        nx, ny = nx + bearing.offset * fy, ny - bearing.offset * fx
    x, y = 0.5 * d * fx, 0.5 * d * fy
    if bearing.kind == "linear":
        return (bearing.mu / d) * (abs(x - ny) + abs(y + nx) + abs(x + ny) + abs(y - nx))
    near, far = (x - ny) * (x - ny) + (y + nx) * (y + nx), (x + ny) * (x + ny) + (y - nx) * (y - nx)
    return (bearing.mu * _given(bearing.radius) / d) * (root(near + LEAST) + root(far + LEAST))


def _given(value: float | None) -> float:
    assert value is not None  # guaranteed by Bearing
    return value
