"""The path of samples that have noise: smoothed over time, thinned out, and a spline through what is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories.paths.banded import solve_symmetric
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.splines import bending_form, spline
from forearm.values import check_number

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
ROWS = 20_000  # samples that are smoothed; more of them are averaged in groups
# Standard deviations of noise that the default tolerance is: a sample of seven noisy joints is farther than
# six of them from where it should be once in some 100,000.
NOISES = 8.0
FITTED = 0.25  # of the tolerance
COARSE = 1e-3  # of the largest coordinate: what samples to begin with are chosen by
LEAST = 1e-6  # of the largest coordinate: the least default tolerance
TRIALS = 24  # of the weight of bending
ROUNDS = 40  # in which samples are taken back


def path_of_samples(t: Array, q: Array, tolerance: float | None, name: str) -> JointPath:
    """A C2 spline within `tolerance` of samples q (m, n) at times t (m,)."""
    size = float(np.abs(q - q[0]).max())
    if size == 0.0:
        raise InputError(f"{name}: nothing moves; a path needs two places that differ.")
    noise = noise_of(q)
    near = (
        max(NOISES * float(noise.max()), LEAST * size)
        if tolerance is None
        else check_number(tolerance, "tolerance", above=0.0)
    )
    if len(q) > ROWS:
        t, q = _averaged(t, q)
    # most of the tolerance is for noise, what is left for the spline through a few of the samples
    smooth = _smoothed(t, q, (1.0 - FITTED) * near, noise) if noise.max() > 1e-3 * near else q
    return _fitted(smooth, FITTED * near, f"{name}, to {near:.3g}")


def _fitted(q: Array, near: float, name: str) -> JointPath:
    """A spline through some samples within a distance of all: those farthest from it are added in turn."""
    kept = _thinned(q, max(near, COARSE * float(np.abs(q - q[0]).max())))
    for _ in range(ROUNDS):
        kept = _without_crowds(q, kept, near)
        if kept.sum() < 2:
            break
        path = spline(q[kept], 2, name=name)
        distance = _distances(path, q, kept)
        if distance.max() <= near:
            return path
        kept = kept | _worst_of_each(distance > near, distance, kept)
    raise InputError(f"{name}: no spline through samples stays so near; give a larger tolerance.")


def noise_of(q: Array) -> Array:
    """The standard deviation of noise in samples (m, n), (n,), by their fourth differences: what moves
    smoothly leaves nothing in them.
    """
    if len(q) < 8:
        return np.zeros(q.shape[1])
    median = np.median(np.abs(np.diff(q, 4, axis=0)), axis=0)
    return np.asarray(median / (0.6745 * np.sqrt(70.0)))


def _averaged(t: Array, q: Array) -> tuple[Array, Array]:
    """Means of groups of neighbours, ROWS of them at most; both ends stay."""
    size = -(-len(q) // ROWS)
    first = np.arange(0, len(q), size)
    counts = np.diff(np.append(first, len(q)))
    means = np.add.reduceat(q, first, axis=0) / counts[:, None]
    times = np.add.reduceat(t, first) / counts
    inside = (times > t[0]) & (times < t[-1])
    times, means = times[inside], means[inside]
    return np.concatenate([t[:1], times, t[-1:]]), np.concatenate([q[:1], means, q[-1:]])


def _smoothed(t: Array, q: Array, near: float, noise: Array) -> Array:
    """The curve that bends least over time and stays within a distance of the samples, at their times.

    It minimises the sum of squared distances and a weight times the integral of |qdd|^2. The weight is the
    largest with which distances are on the whole no larger than the noise (Reinsch), found by halving its
    logarithm.
    """
    usual = float(np.linalg.norm(noise))
    h = np.diff(t) / (t[-1] - t[0]) * len(t)
    K = bending_form(h, 2)

    def fitted(weight: float) -> Array:
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


def _thinned(q: Array, near: float) -> Flags:
    """Which samples the polygon through them needs to stay within a distance of all (Douglas, Peucker)."""
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


def _without_crowds(q: Array, kept: Flags, near: float) -> Flags:
    """Of neighbours nearer than a distance, as those of a standing arm, the first; the last sample stays."""
    chosen: list[int] = []
    for k in np.flatnonzero(kept).tolist():
        if not chosen or float(np.linalg.norm(q[k] - q[chosen[-1]])) > near:
            chosen.append(k)
    if len(chosen) > 1:
        chosen[-1] = len(q) - 1 if chosen[-1] == np.flatnonzero(kept)[-1] else chosen[-1]
    made = np.zeros_like(kept)
    made[chosen] = True
    return made


def _distances(path: JointPath, q: Array, kept: Flags) -> Array:
    """How far samples are from the piece of the path between those kept that they lie between."""
    piece = np.clip(np.cumsum(kept) - 1, 0, len(path.breaks) - 2)
    begin, end = path.breaks[piece], path.breaks[piece + 1]
    s = 0.5 * (begin + end)
    for _ in range(12):  # Newton's steps to the nearest place, as if the piece were straight
        at, slope, _ = path.at(s, piece)
        size = np.maximum((slope * slope).sum(axis=1), 1e-300)
        s = np.clip(s + ((q - at) * slope).sum(axis=1) / size, begin, end)
    return np.asarray(np.linalg.norm(path.at(s, piece)[0] - q, axis=1))


def _worst_of_each(far: Flags, distance: Array, kept: Flags) -> Flags:
    """Of each piece the sample farthest away, where any is too far."""
    piece = np.cumsum(kept)
    order = np.argsort(np.where(far & ~kept, distance, -1.0), kind="stable")
    worst = np.zeros(int(piece[-1]) + 1, dtype=np.intp)
    worst[piece[order]] = order
    made = np.zeros_like(kept)
    made[worst[np.unique(piece[far])]] = True
    return made & far
