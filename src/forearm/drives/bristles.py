"""LuGre friction over any scalar: a bristle deflected by z, z' = v - sigma0 |v| z / g(v), exerts sigma0 z +
sigma1 z' + B v. At constant speed z = g / sigma0, which is the Stribeck curve.

C. Canudas de Wit, H. Olsson, K. J. Astrom, P. Lischinsky, A New Model for Control of Systems with Friction,
IEEE Transactions on Automatic Control 40 (1995).
"""

from __future__ import annotations

from forearm.arm.drive import Friction
from forearm.drives.friction import FrictionLaw, level
from forearm.symbols.scalars import Scalar, choose, sign
from forearm.values import frozen


@frozen
class Bristle:
    """LuGre friction of a joint or a rotor, already reflected across the gear; z in rad (m)."""

    law: Friction | FrictionLaw
    stiffness: float
    damping: float

    def level(self, v: Scalar) -> Scalar:
        """g(v), with the sign of v; at rest the value for positive v."""
        forwards, backwards = (level(self.law, side, v) for side in (0, 1))
        return choose(v, 0.0, backwards, forwards)

    def speed_of_slip(self, v: Scalar) -> tuple[Scalar, Scalar]:
        """a = sigma0 |v| / g(v), 1/s, and the steady state of z, g(v) / sigma0 for the direction of v."""
        g = self.level(v)
        return abs(v) * (self.stiffness / abs(g)), g * (1.0 / self.stiffness)

    def braking(self, v: Scalar, z: Scalar, h: Scalar) -> Scalar:
        """Increase of the torque per change of v over h seconds: sigma1 plus the bristle's stiffness
        contribution while it sticks; viscous friction alone while it slips.
        """
        sticks = 1.0 - (self.stiffness / abs(self.level(v))) * (sign(v) * z)
        return (self.damping + (0.5 * self.stiffness) * h) * sticks + self.law.viscous

    def rate(self, v: Scalar, z: Scalar) -> Scalar:
        """z'."""
        return v - self.speed_of_slip(v)[0] * z

    def torque(self, v: Scalar, z: Scalar) -> Scalar:
        """sigma0 z + sigma1 z' + B v."""
        made = self.stiffness * z + self.law.viscous * v
        return made + self.damping * self.rate(v, z) if self.damping else made


def relaxed(x: Scalar, rates: tuple[Scalar, Scalar], targets: tuple[Scalar, Scalar], h: Scalar) -> Scalar:
    """x after h seconds of x' = a (y - x), for mean a and y linear from start to end, to fourth order in a h;
    x stays between its initial value and the targets for any a h, and follows them for large a h.

    e^-a is approximated by 1 / (1 + a + a^2 / 2 + a^3 / 6), and (1 - e^-a) / a consistently.
    """
    a = (0.5 * h) * (rates[0] + rates[1])
    half, third = 0.5 * a, a * a * (1.0 / 6.0)
    whole = 1.0 / (1.0 + a + 3.0 * third + a * third)
    before, after = half + third, half + (2.0 + a) * third
    return (x + before * targets[0] + after * targets[1]) * whole
