"""Joint accelerations from linear accelerometers on the links: two sets per joint, one on either side of it.
Waters IV.

An accelerometer at r on a link measures, along e, the acceleration relative to free fall, e . (a - g + wd x r
+ w x (w x r)). With e1, e2 and the axis z of a revolute joint mutually perpendicular, lever d, and A(r, e)
the reading,

    z . wd = (A(d e1, e2) - A(0, e2) - A(d e2, e1) + A(0, e1)) / 2d :

a and g cancel, and so does w1 w2, which both pairs contain. z is fixed in both links, and its rate of change
is perpendicular to it, so qdd = z . wd of the link after the joint minus that of the link before it, for
any q and qd.

For a prismatic joint qdd = A_behind(0, z) - A_before(q z, z): both readings contain the same free fall, the
Coriolis acceleration is perpendicular to z, and the reading on the link before the joint is linear along z,
so that two sensors determine it at q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Pair
from forearm.kinematics.arguments import as_coordinates, states_of
from forearm.model import Model, RigidBody, model_of, tilde
from forearm.spatial import Floats
from forearm.values import as_shape, check_number


@dataclass(frozen=True, eq=False)
class Accelerometer:
    """One sensor: the body that carries it (-1 for the base), its position and direction there, and its
    weight for a joint.

    qdd of the joint is the sum over its accelerometers of (weight + weight_by_q x) reading, with x the joint
    coordinate.
    """

    freedom: int
    body: int
    place: Floats
    along: Floats
    weight: float
    weight_by_q: float = 0.0


@dataclass(frozen=True, eq=False)
class Accelerometers:
    """S accelerometers on an arm: readings (S,) from a motion, joint accelerations (n,) from readings; or (B,
    S), (B, n).
    """

    arm: Arm
    each: tuple[Accelerometer, ...]
    step: float = 0.0

    def seen(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """qdd from readings quantised in multiples of `step` m/s^2, or exact if it is 0; suitable for
        `Sensors`.
        """
        readings = self.read(q, qd, qdd)
        return self.accelerations(
            readings if self.step == 0.0 else np.round(readings / self.step) * self.step, q
        )

    def read(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Floats:
        """Readings at a state, m/s^2."""
        states = states_of(self.arm, q=q, qd=qd, qdd=qdd)
        bodies, places, along = self._placed
        f, L = _motion(model_of(self.arm), *(np.atleast_2d(x) for x in states))
        readings: Floats = ((f[:, bodies] + (L[:, bodies] @ places[..., None])[..., 0]) * along).sum(axis=-1)
        return readings.reshape(*states[0].shape[:-1], len(self.each))

    def accelerations(self, readings: ArrayLike, q: ArrayLike) -> Floats:
        """qdd from readings; prismatic joints need q, revolute ones do not."""
        x = as_coordinates(self.arm, q)
        values = as_shape(readings, (*x.shape[:-1], len(self.each)), "readings")
        plain, by_q = self.matrices
        return values @ plain.T + self._coordinates(x) * (values @ by_q.T)

    @cached_property
    def _placed(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        bodies = np.array([a.body for a in self.each], dtype=np.intp)
        return bodies, np.array([a.place for a in self.each]), np.array([a.along for a in self.each])

    def _coordinates(self, q: Floats) -> Floats:
        """Coordinates (n,) of the measured joints: the first of each degree of freedom, mimic or not."""
        model = model_of(self.arm)
        first = [model.freedom.index(f) for f in range(self.arm.n)]
        made: Floats = q * np.array(model.multiplier)[first] + np.array(model.offset)[first]
        return made

    @cached_property
    def matrices(self) -> Pair:
        """K and L (n, S) with qdd = K y + x L y of readings y."""
        plain, by_q = np.zeros((2, self.arm.n, len(self.each)))
        for k, a in enumerate(self.each):
            plain[a.freedom, k], by_q[a.freedom, k] = a.weight, a.weight_by_q
        return plain, by_q

    def worst_error(self, q: ArrayLike) -> Floats:
        """Largest error of qdd from quantised readings at q (n,): the sum of half a step each."""
        plain, by_q = self.matrices
        x = self._coordinates(as_coordinates(self.arm, q))
        worst: Floats = 0.5 * self.step * np.abs(plain + x[:, None] * by_q).sum(axis=1)
        return worst

    @property
    def operations(self) -> int:
        """Operations of the conversion: 7 additions and a product per revolute joint, 3 additions and 2
        products per prismatic joint.
        """
        slides = sum(1 for a in self.each if a.weight_by_q != 0.0) // 2
        return 8 * (self.arm.n - slides) + 5 * slides


def accelerometers(arm: Arm, lever: float = 0.1, step: float = 0.0) -> Accelerometers:
    """Two sets at each joint, on the links before and after it, `lever` metres wide: 4 and 4 sensors at a
    revolute joint, 2 and 1 at a prismatic joint.

    Readings are multiples of `step` m/s^2, 0 for exact ones. Waters IV.
    """
    d = check_number(lever, "accelerometers, lever", above=0.0)
    model, made = model_of(arm), []
    for freedom in range(arm.n):
        index = model.freedom.index(freedom)
        body, m = model.bodies[index], model.multiplier[index]
        place = _turning if body.revolute else _sliding
        made += place(body, freedom, index, d, 1.0 / m)
    return Accelerometers(arm, tuple(made), check_number(step, "accelerometers, step", minimum=0.0))


def _turning(body: RigidBody, freedom: int, index: int, d: float, scale: float) -> list[Accelerometer]:
    made = []
    sides = ((body.parent, body.pb, body.Rb.T, -scale), (index, -body.s, body.Ra, scale))
    for carrier, origin, (e1, e2, _), sign in sides:
        weight = sign / (2.0 * d)
        for arm_along, read_along, way in ((e1, e2, weight), (e2, e1, -weight)):
            made.append(Accelerometer(freedom, carrier, origin + d * arm_along, read_along, way))
            made.append(Accelerometer(freedom, carrier, origin, read_along, -way))
    return made


def _sliding(body: RigidBody, freedom: int, index: int, d: float, scale: float) -> list[Accelerometer]:
    z = body.Rb[:, 2]
    return [
        Accelerometer(freedom, index, -body.s, body.z, scale),
        Accelerometer(freedom, body.parent, body.pb, z, -scale, scale / d),
        Accelerometer(freedom, body.parent, body.pb + d * z, z, 0.0, -scale / d),
    ]


def _motion(model: Model, q: Floats, qd: Floats, qdd: Floats) -> Pair:
    """For each body, the base last: f (B, k + 1, 3), the acceleration of its origin relative to free fall,
    and its spatial gradient.

    At r it is f + L r with L = wd~ + w~ w~ (B, k + 1, 3, 3), w~ r = w x r; all in body axes.
    """
    count, k = len(q), len(model.bodies)
    f, L, w, wd = np.zeros((count, k + 1, 3)), np.zeros((count, k + 1, 3, 3)), *np.zeros((2, count, k + 1, 3))
    f[:, -1] = -model.g
    for i, body in enumerate(model.bodies):
        parent, freedom, m = body.parent, model.freedom[i], model.multiplier[i]
        x, v, a = m * q[:, freedom] + model.offset[i], m * qd[:, freedom, None], m * qdd[:, freedom, None]
        R = np.broadcast_to(body.Rb @ (_turns(x) if body.revolute else np.eye(3)) @ body.Ra, (count, 3, 3))
        way = body.pb + (np.zeros((count, 1)) if body.revolute else x[:, None]) * body.Rb[:, 2]
        at_joint = f[:, parent] + (L[:, parent] @ way[..., None])[..., 0]
        w0, wd0, f0 = (np.stack([w[:, parent], wd[:, parent], at_joint], axis=1) @ R).swapaxes(0, 1)
        turning = w0 @ tilde(body.z)  # w x z
        if body.revolute:
            w[:, i], wd[:, i] = w0 + body.z * v, wd0 + body.z * a + turning * v
        else:
            w[:, i], wd[:, i], f0 = w0, wd0, f0 + body.z * a + 2.0 * turning * v
        W = _tildes(w[:, i])
        L[:, i] = _tildes(wd[:, i]) + W @ W
        f[:, i] = f0 + L[:, i] @ body.s
    return f, L


def _tildes(w: Floats) -> Floats:
    """Cross-product matrices (B, 3, 3) of w (B, 3)."""
    made = np.zeros((len(w), 3, 3))
    made[:, 2, 1], made[:, 0, 2], made[:, 1, 0] = w.T
    return made - made.swapaxes(1, 2)


def _turns(x: Floats) -> Floats:
    """Rotations about z, (B, 3, 3)."""
    R = np.zeros((len(x), 3, 3))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(x)
    R[:, 1, 0] = np.sin(x)
    R[:, 0, 1] = -R[:, 1, 0]
    R[:, 2, 2] = 1.0
    return R
