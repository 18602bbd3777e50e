"""The path of noisy samples: smoothed over time, thinned out, and interpolated by a spline."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Flags, Floats
from forearm.trajectories.paths.banded import solve_symmetric
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.splines import bending_form, spline
from forearm.trajectories.sampling import from_zero
from forearm.values import check_number

LONGEST = 150  # characters of a name that are kept
ROWS = 20_000  # samples that are smoothed; more are averaged in groups
# Default tolerance in standard deviations of noise: a sample of seven noisy joints deviates by more than six
# of them about once in 100,000.
NOISES = 8.0
FITTED = 0.25  # of the tolerance
COARSE = 1e-3  # of the largest coordinate: tolerance of the initial selection of samples
LEAST = 1e-6  # of the largest coordinate: minimum default tolerance
TRIALS = 24  # of the weight of the curvature term
TURNED_BACK = -0.9  # cosine of the turn beyond which a path has a corner, as it all but reverses
PLACES = 7  # places of each piece at which it is compared with samples
ROUNDS = 40  # in which samples are restored


def path_of_samples(t: Floats, q: Floats, tolerance: float | None, name: str) -> JointPath:
    """A C2 spline within `tolerance` of samples q (m, n) at times t (m,)."""
    size = float(np.abs(q - q[0]).max())
    if size == 0.0:
        raise InputError("nothing moves; a path needs two different points.", name)
    noise = noise_of(q)
    near = (
        max(NOISES * float(noise.max()), LEAST * size)
        if tolerance is None
        else check_number(tolerance, "tolerance", above=0.0)
    )
    if len(q) > ROWS:
        t, q = _averaged(t, q)
    # most of the tolerance is for noise, the rest for the spline through a few of the samples
    smooth = _smoothed(t, q, (1.0 - FITTED) * near, noise) if noise.max() > 1e-3 * near else q
    near_spline = FITTED * near
    if float(np.linalg.norm(smooth - smooth[0], axis=1).max()) <= near_spline:
        raise InputError(f"nothing moves by more than the tolerance, {near:.3g}.", name)
    said = f"{name[:LONGEST] if name.isprintable() else 'log'}, to {near:.3g}"
    ends = [0, *_tips(smooth, near_spline), len(smooth) - 1]
    parts = [_fitted(smooth[a : b + 1], near_spline, said) for a, b in pairwise(ends)]
    return _joined(parts)


def _tips(q: Floats, near: float) -> list[int]:
    """The samples at which all joints reverse: between two of them the path is one spline."""
    at = np.flatnonzero(_thinned(q, near))
    sides = np.diff(q[at], axis=0)
    lengths = np.linalg.norm(sides, axis=1)
    back = (sides[1:] * sides[:-1]).sum(axis=1) < TURNED_BACK * lengths[1:] * lengths[:-1]
    return [int(k) for k in at[1:-1][back & (lengths[1:] > near) & (lengths[:-1] > near)]]


def _joined(parts: list[JointPath]) -> JointPath:
    """Join paths, with corners between them."""
    begins = from_zero([part.length for part in parts])
    breaks = [part.breaks[1:] + begin for part, begin in zip(parts, begins, strict=False)]
    points = [part.at(part.breaks)[0] for part in parts]
    joined = np.concatenate([np.zeros(1), *breaks])
    polygon = np.concatenate([points[0][:1], *(p[1:] for p in points)])
    return JointPath(joined, np.concatenate([x.coefficients for x in parts]), parts[0].name, polygon, joined)


def _fitted(q: Floats, near: float, name: str) -> JointPath:
    """A spline through some samples within a distance of all: the farthest ones are added in turn."""
    kept = _thinned(q, max(near, COARSE * float(np.abs(q - q[0]).max())))
    for _ in range(ROUNDS):
        kept = _without_crowds(q, kept, near)
        path = spline(q[kept], 2, name=name)
        distance = np.maximum(_distances(path, q, kept), _overshoot(path, q, kept))
        if distance.max() <= near:
            return path
        kept = kept | _worst_of_each(distance > near, distance, kept)
    raise InputError("no spline through samples stays within the tolerance; use a larger one.", name)


def noise_of(q: Floats) -> Floats:
    """Standard deviation of noise in samples (m, n), (n,), from their fourth differences, in which smooth
    motion vanishes.
    """
    if len(q) < 8:
        return np.zeros(q.shape[1])
    median = np.median(np.abs(np.diff(q, 4, axis=0)), axis=0)
    return np.asarray(median / (0.6745 * np.sqrt(70.0)))


def _averaged(t: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Means of groups of neighbours, at most ROWS of them; both ends stay."""
    size = -(-len(q) // ROWS)
    first = np.arange(0, len(q), size)
    counts = np.diff(np.append(first, len(q)))
    means = np.add.reduceat(q, first, axis=0) / counts[:, None]
    times = np.add.reduceat(t, first) / counts
    inside = (times > t[0]) & (times < t[-1])
    times, means = times[inside], means[inside]
    return np.concatenate([t[:1], times, t[-1:]]), np.concatenate([q[:1], means, q[-1:]])


def _smoothed(t: Floats, q: Floats, near: float, noise: Floats) -> Floats:
    """The smoothest curve over time that stays within a distance of the samples, at their times.

    It minimises the sum of squared distances plus a weight times the integral of |qdd|^2. The weight is the
    largest for which the rms distance does not exceed the noise (Reinsch), found by bisection of its
    logarithm.
    """
    usual = float(np.linalg.norm(noise))
    h = np.diff(t) / (t[-1] - t[0]) * len(t)
    K = bending_form(h, 2)

    def fitted(weight: float) -> Floats:
        D = np.zeros((len(t), 2, 2))
        D[:-1] += weight * K[:, :2, :2]
        D[1:] += weight * K[:, 2:, 2:]
        D[:, 0, 0] += 1.0
        wanted = np.zeros((len(t), 2, q.shape[1]))
        wanted[:, 0] = q
        return solve_symmetric(D, weight * K[:, :2, 2:], wanted)[:, 0]

    low, high, best = -6.0, 12.0, q
    for _ in range(TRIALS):
        middle = 0.5 * (low + high)
        tried = fitted(10.0**middle)
        off = np.linalg.norm(tried - q, axis=1)
        if off.max() <= near and np.sqrt(np.mean(off**2)) <= usual:
            low, best = middle, tried
        else:
            high = middle
    return best


def _thinned(q: Floats, near: float) -> Flags:
    """The samples that a polygon needs to stay within a distance of all (Douglas, Peucker)."""
    kept = np.zeros(len(q), dtype=bool)
    kept[[0, -1]] = True
    waiting = [(0, len(q) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        inside = q[first + 1 : last] - q[first]
        chord = q[last] - q[first]
        square = float(chord @ chord)
        share = np.clip(inside @ chord / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(inside))
        distance = np.linalg.norm(inside - share[:, None] * chord, axis=1)
        k = int(distance.argmax())
        if distance[k] > near:
            kept[first + 1 + k] = True
            waiting += [(first, first + 1 + k), (first + 1 + k, last)]
    return kept


def _without_crowds(q: Floats, kept: Flags, near: float) -> Flags:
    """Of samples closer together than a distance, as at rest, keep the first; both ends stay."""
    chosen = [0]
    for k in np.flatnonzero(kept).tolist():
        if float(np.linalg.norm(q[k] - q[chosen[-1]])) > near:
            chosen.append(k)
    if chosen[-1] != len(q) - 1:
        chosen = [*(chosen if len(chosen) == 1 else chosen[:-1]), len(q) - 1]
    made = np.zeros_like(kept)
    made[chosen] = True
    return made


def _distances(path: JointPath, q: Floats, kept: Flags) -> Floats:
    """Distances of samples from the piece of the path between the kept samples around them."""
    piece = np.clip(np.cumsum(kept) - 1, 0, len(path.breaks) - 2)
    begin, end = path.breaks[piece], path.breaks[piece + 1]
    s = 0.5 * (begin + end)
    for _ in range(12):  # Newton steps to the nearest place, treating the piece as straight
        at, slope, _ = path.at(s, piece)
        size = np.maximum((slope * slope).sum(axis=1), 1e-300)
        s = np.clip(s + ((q - at) * slope).sum(axis=1) / size, begin, end)
    return np.asarray(np.linalg.norm(path.at(s, piece)[0] - q, axis=1))


def _overshoot(path: JointPath, q: Floats, kept: Flags) -> Floats:
    """Deviation of each piece of the path from the polygon of its samples, assigned to the middle sample,
    (m,): near a reversal a spline may overshoot all samples.
    """
    made = np.zeros(len(q))
    at = np.flatnonzero(kept)
    shares = np.linspace(0.0, 1.0, PLACES + 2)[1:-1]
    places = path.breaks[:-1, None] + np.diff(path.breaks)[:, None] * shares
    p = path.at(places.ravel())[0].reshape(*places.shape, -1)
    for k, (first, last) in enumerate(pairwise(at.tolist())):
        if last - first > 1:
            begin, side = q[first:last], np.diff(q[first : last + 1], axis=0)
            off = p[k][:, None] - begin
            square = np.maximum((side * side).sum(axis=1), 1e-300)
            share = np.clip((off * side).sum(axis=2) / square, 0.0, 1.0)
            nearest = np.linalg.norm(off - share[..., None] * side, axis=2).min(axis=1)
            bow = 0.25 * float(np.linalg.norm(np.diff(side, axis=0), axis=1).max())  # of sides, at the most
            made[(first + last) // 2] = max(float(nearest.max()) - bow, 0.0)
    return made


def _worst_of_each(far: Flags, distance: Floats, kept: Flags) -> Flags:
    """For each piece the farthest sample, if any is too far."""
    piece = np.cumsum(kept)
    order = np.argsort(np.where(far & ~kept, distance, -1.0), kind="stable")
    worst = np.zeros(int(piece[-1]) + 1, dtype=np.intp)
    worst[piece[order]] = order
    made = np.zeros_like(kept)
    made[worst[np.unique(piece[far])]] = True
    return made & far
