"""The torques of a load, linear in its ten parameters: traced once per arm, compiled for many states."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.dynamics.regressor import INERTIA_ENTRIES
from forearm.errors import ModelError
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.model import model_of
from forearm.spatial import parallel_axis
from forearm.symbols import refined

Floats = NDArray[np.float64]


def payload_regressor(arm: Arm, q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """Y (B, n, 10) of a load: its torques are Y pi, with pi about the hand's origin, in hand axes."""
    model = model_of(arm)
    if model.hand < 0:
        raise ModelError(
            f"the hand of {arm.name!r} is fixed to the base; a load there moves with no joint.", "payload"
        )
    Y = _of_hand(arm.rigid())(*(np.ascontiguousarray(x) for x in (q, qd, qdd)))
    return np.asarray(Y @ moved(model.R_hand, model.p_hand))


@lru_cache(maxsize=8)
def _of_hand(arm: Arm) -> TracedFunction:
    """The regressor of the body that carries the hand, about its own origin."""
    return compile_function(lambda: _traced(arm), "payload", key=("payload regressor", arm), arm=arm)


def _traced(arm: Arm) -> Traced:
    tracing = Tracing(arm, {})
    first = 10 * model_of(arm).hand
    Y = tracing.regressor(base=False)[:, first : first + 10]
    inputs = tuple(Argument(name, (arm.n,), "") for name in ("q", "qd", "qdd"))
    return Traced(*refined(tracing.graph, {"Y": Y}), inputs, (Argument("Y", (arm.n, 10), ""),))


def moved(R: Floats, p: Floats) -> Floats:
    """A (10, 10) such that A pi are the parameters about a body's origin, with pi about a frame at p, rotated
    by R, of the body.
    """
    columns = []
    for unit in np.eye(10):
        m, h, inertia = unit[0], R @ unit[1:4], R @ tensor_of(unit[4:]) @ R.T
        about = inertia + 2.0 * (p @ h) * np.eye(3) - np.outer(h, p) - np.outer(p, h)
        columns.append([m, *(h + m * p), *entries_of(about + parallel_axis(m, p))])
    return np.array(columns).T


def tensor_of(entries: Floats) -> Floats:
    """The symmetric tensor of six entries in regressor order."""
    tensor = np.zeros((3, 3))
    for (i, j), value in zip(INERTIA_ENTRIES, entries, strict=True):
        tensor[i, j] = tensor[j, i] = value
    return tensor


def entries_of(tensor: Floats) -> list[float]:
    """The six entries of a symmetric tensor, in regressor order."""
    return [float(tensor[i, j]) for i, j in INERTIA_ENTRIES]
