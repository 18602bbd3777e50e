"""Curves given by q, q', q'' at any place, approximated by quintic pieces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.paths.hermite import hermite_between

Curve = Callable[[Floats], Floats]  # places (m,) -> q, q', q'' (m, 3, n)
Doubt = Callable[[Floats], Floats]  # q, q', q'' (m, 3, n) -> (m, 3)

# Tolerance of q, q' and q'' in the middle of a piece: relative to their magnitude, or to that of joints that
# move some rad (m) along the whole path.
AGREEMENT = np.array([1e-10, 1e-8, 1e-6])
PRIMES = tuple("q" + "'" * k for k in range(4))
ROUNDING = 1e-14  # of q
# of the distance between two cuts: initial breaks, unevenly spaced so that no later break coincides with the
# middle of a line, where singular configurations lie by design.
FIRST = np.array([0.0, 0.236, 0.472, 0.764])
MOST = 20_000  # pieces
SHORTEST = 1e-10  # of the length


def quintic_pieces(
    curve: Curve, cuts: Floats, what: str, doubt: Doubt | None = None
) -> tuple[Floats, Floats]:
    """Breaks (k+1,) and coefficients (k, 6, n) of a curve from cuts[0] to cuts[-1].

    A piece interpolates q, q', q'' of the curve at its ends; it is halved until they agree in the middle as
    well.

    Args:
        curve: q, q', q'' at places, continuous.
        cuts: places (c,), increasing, at which higher derivatives jump, the ends included.
        what: names it in errors.
        doubt: uncertainty of the curve's own q, q', q''; None: rounding of q alone.
    """
    s = np.append((cuts[:-1, None] + np.diff(cuts)[:, None] * FIRST).ravel(), cuts[-1])
    values = checked(curve, s, what)
    settled = np.zeros(len(s) - 1, dtype=bool)
    while not settled.all():
        k = np.flatnonzero(~settled)
        middle = 0.5 * (s[k] + s[k + 1])
        here = checked(curve, middle, what)
        off, allowed = _disagreement(s[k + 1] - s[k], values[k], values[k + 1], here, float(s[-1] - s[0]))
        if doubt is not None:
            allowed = (
                allowed + np.max([doubt(x) for x in (values[k], here, values[k + 1])], axis=0)[..., None]
            )
        off = off / allowed
        bad = off.max(axis=(1, 2)) > 1.0
        settled[k] = ~bad
        split, short = k[bad], (s[k + 1] - s[k])[bad] < SHORTEST * (s[-1] - s[0])
        if short.any() or len(s) + len(split) > MOST:
            worst = int(np.argmax(np.where(bad, off.max(axis=(1, 2)), 0.0)))
            order, joint = np.unravel_index(int(off[worst].argmax()), off[worst].shape)
            raise InputError(
                f"{PRIMES[order]} of joint {joint + 1} near s = {middle[worst]:.6g} does not "
                f"agree with a smooth curve, even in {len(s) - 1} pieces; pass the places of "
                "kinks as breaks, and smooth noisy data.",
                what,
            )
        s = np.insert(s, split + 1, middle[bad])
        values = np.insert(values, split + 1, here[bad], axis=0)
        settled = np.insert(settled, split, False)
    return s, hermite_between(np.diff(s), values[:-1], values[1:])


def checked(curve: Curve, s: Floats, what: str) -> Floats:
    """q, q', q'' at places, or an error that names the first non-finite value."""
    values = curve(s)
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        m, order, joint = bad[0]
        raise InputError(
            f"{PRIMES[order]} of joint {joint + 1} at s = {s[m]:.6g} is {values[tuple(bad[0])]}.", what
        )
    return values


def _disagreement(
    h: Floats, begin: Floats, end: Floats, middle: Floats, length: float
) -> tuple[Floats, Floats]:
    """Distance of the pieces' midpoints from the curve's, (k, 3, n), and the tolerance, (k, 3, 1)."""
    c = hermite_between(h, begin, end)
    x = 0.5 * h[:, None]
    q, first, second = c[:, 5], np.zeros_like(c[:, 5]), np.zeros_like(c[:, 5])
    for i in range(4, -1, -1):
        second = second * x + first
        first = first * x + q
        q = q * x + c[:, i]
    found = np.stack([q, first, 2.0 * second], axis=1)
    sizes = np.abs(middle).max(axis=2, keepdims=True)
    sizes[:, 0] = np.maximum(sizes[:, 0], 1.0)
    sizes[:, 1] = np.maximum(sizes[:, 1], 1.0 / length)
    # next to a straight section q'' is small, and only its effect on q' matters
    sizes[:, 2] = np.maximum(sizes[:, 2], sizes[:, 1] / length)
    # resolution of differences over a piece, as q is rounded
    unknown = ROUNDING * sizes[:, :1] / h[:, None, None] ** np.arange(3.0)[:, None]
    return np.abs(found - middle), AGREEMENT[:, None] * sizes + unknown
