"""Evaluate states row by row, and map degrees of freedom to joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.kinematics.arguments import states_of
from forearm.model import Model
from forearm.spatial import Floats


def each_state(arm: Arm, one: Callable[..., Any], shape: tuple[int, ...], **states: ArrayLike) -> Floats:
    """The result for one state, or for every row; all NaN if a state contains NaN, whatever the result
    depends on.
    """

    def guarded(*row: Floats) -> Floats:
        if not all(np.isfinite(values).all() for values in row):
            return np.full(shape, np.nan)
        return np.asarray(one(*row), dtype=np.float64)

    given = states_of(arm, **states)
    if given[0].ndim == 1:
        return guarded(*given)
    rows = [guarded(*row) for row in zip(*given, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), *shape)


def joint_states(
    model: Model, q: Floats, qd: Floats, qdd: Floats
) -> tuple[list[float], list[float], list[float]]:
    """One coordinate, rate and acceleration per joint, from those of the degrees of freedom; as Python
    floats, which are faster.
    """
    return model.coordinates(q.tolist()), model.rates(qd.tolist()), model.rates(qdd.tolist())
