"""Deviation of a motion from the straight lines between its points, and whether it stays within an envelope.

Waters III: the intended trajectory may be taken as piecewise linear, and closeness as an envelope around it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.trajectories.roots import roots_within
from forearm.trajectories.switching import Switching
from forearm.values import as_floats, check_number, frozen

ROWS = 4096  # pieces per block
SAMPLES = 201  # per segment, if a function measures places
Measure = Callable[[Floats], Floats]


@frozen
class Deviation:
    """Deviation of a motion of k segments from the straight lines between its points.

    Attributes:
        largest: largest distance in each segment, (k,).
        times: when it is reached, (k,), s.
    """

    largest: Floats
    times: Floats

    def __float__(self) -> float:
        return float(self.largest.max())


def deviation(motion: Switching, place: Measure | None = None, samples: int = SAMPLES) -> Deviation:
    """The largest distance of each segment from the line between its two points.

    In joint space it is exact: between switches q is quadratic in time and the squared distance a quartic,
    evaluated at its stationary points.

    Args:
        motion: a motion through points.
        place: function from q (m, n) to positions (m, d), whose distance is sampled, and so slightly
            underestimated; None: the norm of joint space.
        samples: times in each segment, if a `place` is given.
    """
    if not isinstance(motion, Switching):
        raise InputError(
            f"expected a motion through points (Switching), got {shorten(motion)}; a "
            "Cartesian line is straight by construction.",
            "deviation",
        )
    if place is not None:
        return _sampled(
            motion, place, int(check_number(samples, "deviation, samples", minimum=2, maximum=1e6))
        )
    starts, widths = _pieces(motion)
    k, pieces = starts.shape
    # clear of rounding at the switches
    middle = np.minimum(starts + 0.5 * widths, motion.duration)
    q, qd, qdd = (x.reshape(k, pieces, motion.n) for x in motion.at(middle.ravel()))
    origin, chord = motion.points[:-1, None], np.diff(motion.points, axis=0)[:, None]
    V1, V2 = qd * widths[..., None], 0.5 * qdd * (widths**2)[..., None]
    # V0 + V1 x + V2 x^2 with x from 0 to 1 over a piece
    V = np.stack([q - origin - 0.5 * V1 + 0.25 * V2, V1 - V2, V2], axis=2)
    chords = np.broadcast_to(chord, q.shape)
    found = largest_distances(V.reshape(-1, 3, motion.n), chords.reshape(-1, motion.n))
    distance, x = (y.reshape(k, pieces) for y in found)
    best = distance.argmax(axis=1)
    when = starts + x * widths
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


def _pieces(motion: Switching) -> tuple[Floats, Floats]:
    """Start and width of the pieces of each segment between switches of any joint, (k, 2 n + 1)
    each; some are of width 0.
    """
    T = motion.segments[:, None]
    inside = np.concatenate([motion.phases[..., 0], T - motion.phases[..., 2]], axis=1)
    cuts = np.concatenate([0.0 * T, np.sort(np.clip(inside, 0.0, T), axis=1), T], axis=1)
    return motion.times[:-1, None] + cuts[:, :-1], np.diff(cuts, axis=1)


def largest_distances(V: Floats, chord: Floats) -> tuple[Floats, Floats]:
    """Largest distance of V0 + V1 x + .., 0 <= x <= 1, from the line from 0 to `chord`, and the x where it
    occurs:
    (r, d+1, n) and (r, n) -> (r,) each.

    The distance is that from the infinite line, or from either end; the square of each is a polynomial,
    evaluated at its stationary points.
    """
    distance, where = np.empty(len(V)), np.empty(len(V))
    for first in range(0, len(V), ROWS):
        rows = slice(first, first + ROWS)
        distance[rows], where[rows] = _largest(V[rows], chord[rows])
    return distance, where


def _largest(V: Floats, chord: Floats) -> tuple[Floats, Floats]:
    length = np.linalg.norm(chord, axis=1, keepdims=True)
    u = chord / np.where(length > 0.0, length, 1.0)
    across = V - u[:, None] * (V * u[:, None]).sum(axis=2, keepdims=True)
    beyond = V.copy()
    beyond[:, 0] -= chord
    turning = [_turning(W) for W in (across, V, beyond)]
    x = np.concatenate([np.zeros_like(length), *turning, np.ones_like(length)], axis=1)
    y = np.repeat(V[:, -1:], x.shape[1], axis=1)
    for k in range(V.shape[1] - 2, -1, -1):
        y = y * x[..., None] + V[:, k, None]
    distance = from_segment(y, u[:, None], length[:, None])
    best = distance.argmax(axis=1)
    rows = np.arange(len(V))
    return distance[rows, best], x[rows, best]


def _turning(W: Floats) -> Floats:
    """Candidates for the maximum of |W0 + W1 x + ..| within 0 <= x <= 1: (r, d+1, n) -> (r, 2 d - 1), padded
    with 0.
    """
    degree = W.shape[1] - 1
    c = np.zeros((len(W), 2 * degree))  # half of the derivative of the square
    for i in range(degree + 1):
        for j in range(1, degree + 1):
            c[:, i + j - 1] += j * (W[:, i] * W[:, j]).sum(axis=1)
    return np.nan_to_num(roots_within(c), nan=0.0)


def from_segment(y: Floats, u: Floats, length: Floats) -> Floats:
    """The distance of y, relative to the first end, from a segment of this direction and length."""
    along = np.clip((y * u).sum(axis=-1, keepdims=True), 0.0, length)
    distance: Floats = np.linalg.norm(y - along * u, axis=-1)
    return distance


def _sampled(motion: Switching, place: Measure, samples: int) -> Deviation:
    shares = np.linspace(0.0, 1.0, samples)
    corners = as_floats(place(motion.points), "deviation, place")
    if corners.ndim != 2 or len(corners) != len(motion.points):
        raise InputError(
            f"expected (m, d) places for q (m, n), got {corners.shape} for {motion.points.shape}.",
            "deviation",
            "place",
        )
    largest, times = np.empty(len(motion.segments)), np.empty(len(motion.segments))
    for k, T in enumerate(motion.segments):
        t = np.minimum(motion.times[k] + T * shares, motion.times[k + 1])
        chord = corners[k + 1] - corners[k]
        length = np.linalg.norm(chord, axis=0, keepdims=True)
        u = chord / np.where(length > 0.0, length, 1.0)
        distance = from_segment(as_floats(place(motion.at(t)[0]), "deviation, place") - corners[k], u, length)
        best = int(distance.argmax())
        largest[k], times[k] = distance[best], t[best]
    return Deviation(largest, times)
