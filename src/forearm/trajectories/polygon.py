"""How far a motion goes from the straight lines between its points, and whether it stays within an envelope.

Waters III: the intended trajectory may be taken as the piecewise linear one,
closeness as an envelope around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.trajectories.switching import Switching
from forearm.values import as_floats, check_number

Array = NDArray[np.float64]
HALVINGS = 60  # of an interval: a float has 53 bits
SAMPLES = 201  # a segment, where places are measured by a function
Measure = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Deviation:
    """How far a motion of k segments goes from the straight lines between its points.

    Attributes:
        largest: largest distance in each segment, (k,).
        times: when it is reached, (k,), s.
    """

    largest: Array
    times: Array

    def __float__(self) -> float:
        return float(self.largest.max())


def deviation(motion: Switching, place: Measure | None = None, samples: int = SAMPLES) -> Deviation:
    """The largest distance of each segment from the line between its two points.

    In joint space it is exact: between switches q is a quadratic of time and the square of the distance one
    of fourth degree, which is taken where its derivative vanishes.

    Args:
        motion: a motion through points.
        place: function from q (m, n) to places (m, d), whose distance is taken at samples, and so a little
            too small; None: the norm of joint space.
        samples: times in each segment, where there is a `place`.
    """
    if not isinstance(motion, Switching):
        raise InputError(
            f"deviation: expected a motion through points (Switching), got {shorten(motion)}; a line of "
            "the hand is straight by itself."
        )
    if place is not None:
        return _sampled(
            motion, place, int(check_number(samples, "deviation, samples", minimum=2, maximum=1e6))
        )
    starts, widths = _pieces(motion)
    k, pieces = starts.shape
    # where no rounding says that another phase holds
    middle = np.minimum(starts + 0.5 * widths, motion.duration)
    q, qd, qdd = (x.reshape(k, pieces, motion.n) for x in motion.at(middle.ravel()))
    origin, chord = motion.points[:-1, None], np.diff(motion.points, axis=0)[:, None]
    V1, V2 = qd * widths[..., None], 0.5 * qdd * (widths**2)[..., None]
    V = (q - origin - 0.5 * V1 + 0.25 * V2, V1 - V2, V2)  # V0 + V1 x + V2 x^2 with x from 0 to 1 over a piece
    length = np.linalg.norm(chord, axis=2, keepdims=True)
    u = chord / np.where(length > 0.0, length, 1.0)
    across = tuple(v - u * (v * u).sum(axis=2, keepdims=True) for v in V)
    turning = [_critical(*W) for W in (across, V, (V[0] - chord, V[1], V[2]))]
    x = np.concatenate([np.zeros((k, pieces, 1)), *turning, np.ones((k, pieces, 1))], axis=2)[..., None]
    y = V[0][:, :, None] + x * (V[1][:, :, None] + x * V[2][:, :, None])
    distance = _from_segment(y, u[:, :, None], length[:, :, None]).reshape(k, -1)
    best = distance.argmax(axis=1)
    when = (starts[..., None] + x[..., 0] * widths[..., None]).reshape(k, -1)
    rows = np.arange(k)
    return Deviation(distance[rows, best], when[rows, best])


def within(motion: Switching, envelope: float, place: Measure | None = None, samples: int = SAMPLES) -> bool:
    """Whether the motion stays within a distance of the lines between its points.

    Args:
        motion: a motion through points.
        envelope: the distance, in the unit of `deviation`.
        place, samples: as in `deviation`.
    """
    bound = check_number(envelope, "within, envelope", minimum=0.0)
    return float(deviation(motion, place, samples)) <= bound


def _pieces(motion: Switching) -> tuple[Array, Array]:
    """Start and width of the pieces of each segment between switches of any joint, (k, 2 n + 1)
    each; some are of width 0.
    """
    T = motion.segments[:, None]
    inside = np.concatenate([motion.phases[..., 0], T - motion.phases[..., 2]], axis=1)
    cuts = np.concatenate([0.0 * T, np.sort(np.clip(inside, 0.0, T), axis=1), T], axis=1)
    return motion.times[:-1, None] + cuts[:, :-1], np.diff(cuts, axis=1)


def _critical(V0: Array, V1: Array, V2: Array) -> Array:
    """Where |V0 + V1 x + V2 x^2| may be largest within 0 <= x <= 1: (k, pieces, n) each -> (k, pieces, 3).

    Half of the square's derivative is c0 + c1 x + c2 x^2 + c3 x^3; between the places where its own
    derivative vanishes it has one root at most, which halving finds. Where there is none an end of the
    interval comes out, which does no harm.
    """
    c0, c1 = (V0 * V1).sum(axis=2), (V1 * V1 + 2.0 * V0 * V2).sum(axis=2)
    c2, c3 = 3.0 * (V1 * V2).sum(axis=2), 2.0 * (V2 * V2).sum(axis=2)
    root = np.sqrt(np.maximum(c2 * c2 - 3.0 * c1 * c3, 0.0))
    # the roots of c1 + 2 c2 x + 3 c3 x^2 without a difference of near numbers
    far = -c2 - np.where(c2 < 0.0, -root, root)
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.stack([far / (3.0 * c3), c1 / far])
    bends = np.sort(np.clip(np.nan_to_num(bends, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0), axis=0)
    low = np.stack([np.zeros_like(c0), *bends], axis=-1)
    high = np.stack([*bends, np.ones_like(c0)], axis=-1)

    def slope(x: Array) -> Array:
        value: Array = c0[..., None] + x * (c1[..., None] + x * (c2[..., None] + x * c3[..., None]))
        return value

    falling = slope(low) > slope(high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left = (slope(middle) > 0.0) ^ falling
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    return low


def _from_segment(y: Array, u: Array, length: Array) -> Array:
    """The distance of y, measured from the first end, from a line of this direction and length."""
    along = np.clip((y * u).sum(axis=-1, keepdims=True), 0.0, length)
    distance: Array = np.linalg.norm(y - along * u, axis=-1)
    return distance


def _sampled(motion: Switching, place: Measure, samples: int) -> Deviation:
    shares = np.linspace(0.0, 1.0, samples)
    corners = as_floats(place(motion.points), "deviation, place")
    if corners.ndim != 2 or len(corners) != len(motion.points):
        raise InputError(
            f"deviation, place: expected (m, d) places for q (m, n), got {corners.shape} for "
            f"{motion.points.shape}."
        )
    largest, times = np.empty(len(motion.segments)), np.empty(len(motion.segments))
    for k, T in enumerate(motion.segments):
        t = np.minimum(motion.times[k] + T * shares, motion.times[k + 1])
        chord = corners[k + 1] - corners[k]
        length = np.linalg.norm(chord, axis=0, keepdims=True)
        u = chord / np.where(length > 0.0, length, 1.0)
        distance = _from_segment(
            as_floats(place(motion.at(t)[0]), "deviation, place") - corners[k], u, length
        )
        best = int(distance.argmax())
        largest[k], times[k] = distance[best], t[best]
    return Deviation(largest, times)
