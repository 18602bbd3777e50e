"""Which parameters measurements of the hand cannot determine, in words; configurations that would determine
more.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.limits import is_revolute, limits_of
from forearm.spatial import Floats

SHOWN = 0.02  # of the largest: smaller parts of a combination are omitted
EQUAL = 0.01  # relative: coefficients closer than this are equal
WITHIN = 1e-3  # eigenvalues closer than this to 1 count as 1
INDEPENDENT = 0.1  # of a direction: with a smaller independent part it adds nothing
MOST = 8  # names listed per sentence


def hidden_in_words(names: tuple[str, ...], hidden: Floats, scale: Floats) -> tuple[str, ...]:
    """One sentence for each direction (m, h) in scaled unknowns that leaves all measurements unchanged."""
    return tuple(_sentence(names, v, scale) for v in _sparse(hidden).T)


def _sentence(names: tuple[str, ...], v: Floats, scale: Floats) -> str:
    named = np.flatnonzero(np.abs(v) > SHOWN)
    plain = v[named] * scale[named]  # m and rad
    parts = list(zip((names[k] for k in named), (plain / np.abs(plain).max()).tolist(), strict=True))
    if len(parts) == 1:
        return f"{parts[0][0]}: not observable"
    if len(parts) == 2:
        (first, x), (second, y) = parts
        if abs(abs(x) - abs(y)) < EQUAL:
            return f"{first} and {second}: only their {'sum' if x * y < 0.0 else 'difference'} is observable"
        return f"{first} and {second}: only {first} {_signed(-x / y)} {second} is observable"
    listed = ", ".join(name for name, _ in parts[:MOST])
    more = f" and {len(parts) - MOST} more" if len(parts) > MOST else ""
    direction = " ".join(f"{_signed(c)} {name}" for name, c in parts[:MOST]).removeprefix("+ ")
    return f"{listed}{more}: a change by {direction}{' ...' if more else ''} is not observable"


def _signed(c: float) -> str:
    sign, size = "-" if c < 0.0 else "+", abs(c)
    return sign if abs(size - 1.0) < EQUAL else f"{sign} {size:.2g}"


def _sparse(hidden: Floats) -> Floats:
    """Rewrite directions (m, h) as a basis of the same space with few names each: one, two or three where
    possible, the rest by elimination; the largest coefficient of each is 1.

    A direction with only some names lies in the space where the projector onto the space, restricted to these
    names, has the eigenvalue 1.
    """
    m, h = hidden.shape
    P = hidden @ hidden.T
    found = np.zeros((m, 0))
    for size in (1, 2, 3):
        if found.shape[1] == h or size > m:
            break
        # only names that occur in the space at all
        here = np.flatnonzero(np.diag(P) > SHOWN)
        sets = np.array(list(combinations(here.tolist(), size)), dtype=np.intp).reshape(-1, size)
        values, vectors = np.linalg.eigh(P[sets[:, :, None], sets[:, None, :]])
        for k in np.flatnonzero(values[:, -1] > 1.0 - WITHIN):
            v = np.zeros(m)
            v[sets[k]] = vectors[k, :, -1]
            new = v - found @ np.linalg.lstsq(found, v, rcond=None)[0] if found.shape[1] else v
            if np.linalg.norm(new) > INDEPENDENT and found.shape[1] < h:
                found = np.column_stack([found, v])
    rest = hidden - found @ np.linalg.lstsq(found, hidden, rcond=None)[0] if found.shape[1] else hidden
    U = np.linalg.svd(rest)[0][:, : h - found.shape[1]]
    made = np.column_stack([found, _eliminated(U)])
    return np.asarray(made / np.abs(made).max(axis=0, initial=1e-300))


def _eliminated(directions: Floats) -> Floats:
    """The same directions (m, h) after elimination with pivots."""
    rows = directions.T.copy()
    for k in range(len(rows)):
        rest = np.abs(rows[k:])
        at = np.unravel_index(np.argmax(rest), rest.shape)
        i, j = k + int(at[0]), int(at[1])
        rows[[k, i]] = rows[[i, k]]
        rows[k] = rows[k] / rows[k, j]
        others = [o for o in range(len(rows)) if o != k]
        rows[others] -= np.outer(rows[others, j], rows[k])
    return rows.T


def random_postures(arm: Arm, count: int, seed: int = 0) -> Floats:
    """Random configurations (count, n) within limits; a joint without limits covers one full turn, or half a
    metre.
    """
    lower, upper = limits_of(arm)
    open_range = np.where(is_revolute(arm), math.pi, 0.5)
    low = np.where(
        np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * open_range, -open_range)
    )
    high = np.where(
        np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2.0 * open_range, open_range)
    )
    return np.random.default_rng(seed).uniform(low, high, (count, arm.n))


def best_additions(information: Floats, candidates: Floats, count: int) -> list[int]:
    """Greedy choice of candidates (N, k, r) that raise the least singular value most."""
    chosen: list[int] = []
    squares = np.swapaxes(candidates, 1, 2) @ candidates
    for _ in range(count):
        values = np.linalg.eigvalsh(information + squares)
        least = values[:, 0]
        # while some directions are unobservable, making more of them observable is better
        floor = 1e-12 * values[:, -1].max()
        score = np.where(least > floor, least, -np.sum(values <= floor, axis=1) + 1e-3 * np.tanh(least))
        score[chosen] = -math.inf
        best = int(np.argmax(score))
        chosen.append(best)
        information = information + squares[best]
    return chosen
