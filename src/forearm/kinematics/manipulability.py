"""Distance from singular configurations: singular values of the Jacobian, their product and ratio."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.kinematics.jacobian import jacobian
from forearm.spatial import Floats
from forearm.values import chosen

Part = Literal["all", "linear", "angular"]
ROWS = {"all": slice(0, 6), "linear": slice(0, 3), "angular": slice(3, 6)}


def singular_values(arm: Arm, q: ArrayLike, part: Part = "all", link: str | None = None) -> Floats:
    """The singular values of the hand's Jacobian, largest first: (k,) or (B, k).

    The full Jacobian mixes m and rad, so its singular values depend on the unit of length.

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        part: rows of the Jacobian, "all", "linear" or "angular".
        link: name of the link whose origin is used; None: the hand.
    """
    rows = chosen(ROWS, part, "part")
    J = jacobian(arm, q, link)[..., rows, :]
    known = np.asarray(np.isfinite(J).all(axis=(-2, -1)))
    values = np.linalg.svd(np.where(known[..., None, None], J, np.zeros_like(J)), compute_uv=False)
    return np.where(known[..., None], values, np.nan)


def manipulability(arm: Arm, q: ArrayLike, part: Part = "all", link: str | None = None) -> Floats:
    """sqrt(det J J^T), 0 at singular configurations; scalar array or (B,).

    Computed as the product of the singular values; with fewer joints than rows that is sqrt(det J^T J).

    Args:
        arm, q, part, link: as in `singular_values`.
    """
    product: Floats = np.prod(singular_values(arm, q, part, link), axis=-1)
    return product


def condition_number(arm: Arm, q: ArrayLike, part: Part = "all", link: str | None = None) -> Floats:
    """Largest over smallest singular value of J, infinite if the smallest is 0; scalar array or (B,).

    Args:
        arm, q, part, link: as in `singular_values`.
    """
    values = singular_values(arm, q, part, link)
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    smallest = values[..., -1]
    return np.where(smallest == 0.0, np.inf, values[..., 0] / np.where(smallest == 0.0, 1.0, smallest))
