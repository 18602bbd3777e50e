"""Numeric inverse kinematics in machine code, from the cache or made now, and the table of
postures that it starts from.
"""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm, Hand
from forearm.errors import InputError
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.kernels.numeric_ik_joints import put_inside, range_of
from forearm.kernels.numeric_ik_turn import BLOCK, FIGURES, ORDER
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.kinematics.limits import is_periodic, limits_of
from forearm.kinematics.nearby import MOST_JOINTS
from forearm.kinematics.poses import forward

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

Floats = NDArray[np.float64]
# of the range of each joint that starts are drawn from, in turns: few limits are met from the middle
SPREADS = (0.6, 0.8, 1.0)
# of the positions' variance: what a turn counts beside a distance when starts are compared
TURNING = 1.0 / 3.0


class _Order(ctypes.Structure):
    """What a call is told."""

    _fields_ = [(name, ctypes.c_double if name in ("square", "most") else ctypes.c_int64) for name in ORDER]


@lru_cache(maxsize=32)
def newton_function(arm: Arm, attitude: bool, ways: int | None) -> TracedFunction:
    """Newton's steps from a posture without limits, as `codegen.newton.traced_run` has them."""

    def traced() -> Traced:
        from forearm.codegen.newton import traced_run

        return traced_run(arm, attitude, ways)

    return compile_function(traced, "newton", key=("newton", arm, attitude, ways), arm=arm)


@lru_cache(maxsize=32)
def reacher_of(arm: Arm, link: str | None, position_only: bool, limits: bool) -> Reacher:
    """The one for the hand, or for a named link."""
    return Reacher(arm if link is None else arm.replace(hand=Hand(link=link)), position_only, limits)


class Reacher:
    """An arm whose hand is to reach poses, all of them or their positions alone,
    within the joints' limits or without.
    """

    def __init__(self, arm: Arm, position_only: bool, limits: bool) -> None:
        if arm.n > MOST_JOINTS:
            raise InputError(
                f"inverse_numeric: {arm.name!r} has {arm.n} joints, and steps are written out for at most "
                f"{MOST_JOINTS}; lock some of them with arm.lock."
            )
        self.arm, self.position_only = arm, position_only
        self.bounds = np.stack(
            limits_of(arm) if limits else [np.full(arm.n, s * math.inf) for s in (-1.0, 1.0)]
        )
        self.periodic = is_periodic(arm)
        self._tables: dict[int, Floats] = {}  # by seed, the last one
        self._parts: dict[str, Any] = {}

    def run(
        self, T: Floats, first: Floats | None, starts: int, seed: int, tolerance: float, most: int
    ) -> Floats:
        """For poses (B, 12) the rows (q, position^2, rotation^2, steps, starts), (B, n + FIGURES).

        `first` (B, n) or (1, n) is tried first, if given, and the table's starts after it.
        """
        T, count, n = np.ascontiguousarray(T), len(T), self.arm.n
        out = np.full((count, n + FIGURES), np.nan)
        if first is not None:
            first = np.ascontiguousarray(put_inside(first, self.bounds[0], self.bounds[1], self.periodic))
        table = self._table(starts if first is None else starts - 1, seed)
        order = _Order(
            T.ctypes.data,
            0 if first is None else first.ctypes.data,
            self.bounds.ctypes.data,
            table.ctypes.data,
            out.ctypes.data,
            count,
            n if first is not None and len(first) > 1 else 0,
            starts,
            int(first is not None),
            0,
            tolerance * tolerance,
            float(most),
        )
        self._part("single" if count == 1 else "batch")(ctypes.byref(order))
        return out

    def _table(self, starts: int, seed: int) -> Floats:
        """Blocks of postures, (starts or more, BLOCK (COLUMNS + n)):
        each drawn by itself, so more starts only add blocks.
        """
        table = self._tables.get(seed)
        if table is None or len(table) < starts:
            table = np.stack([self._block(k, seed) for k in range(max(starts, 1))])
            self._tables = {seed: table}
        return table

    def _block(self, index: int, seed: int) -> Floats:
        """64 postures and what weighs them: score = weights .
        T - |p|^2 / 2, largest where the pose is nearest.

        |p - p'|^2 / 2 + w |R - R'|^2 / 2 = -(p . p' + w R .
         R') + |p|^2 / 2 + what does not depend on the posture.
        """
        n, (middle, half) = self.arm.n, range_of(self.arm)
        raw = np.random.Philox(key=np.array([seed, index], dtype=np.uint64)).random_raw(BLOCK * n)
        uniform = (raw >> np.uint64(11)).astype(np.float64).reshape(BLOCK, n) * 2.0**-52 - 1.0
        q = middle + SPREADS[index % len(SPREADS)] * half * uniform
        if index == 0:
            q[0] = middle
        T = forward(self.arm, q)[:, :3]
        p = T[:, :, 3]
        weights = T.copy()
        turning = 0.0 if self.position_only else TURNING * float(p.var(axis=0).sum())
        weights[:, :, :3] *= turning
        columns = np.concatenate([weights.reshape(BLOCK, 12).T, -0.5 * (p * p).sum(axis=1)[None]])
        return np.concatenate([columns.ravel(), q.ravel()])

    def _part(self, name: str) -> Any:
        return self._parts.get(name) or self._parts.setdefault(name, self._found(name))

    def _found(self, part: str) -> Any:
        arm, position_only = self.arm, self.position_only

        def make() -> tuple[About, bytes]:
            from forearm.kernels.native import host, object_code
            from forearm.kernels.numeric_ik_ir import reach_text

            about = {"arm": arm.name, "functions": ["inverse_numeric"], "dtype": "float64", "part": part}
            return about, object_code(
                reach_text(arm, position_only, host("float64", 1 if part == "single" else None))
            )

        return kept_or_made(
            ("reach", arm, position_only, part),
            ["reach"],
            make,
            lambda _, memory: function_of(memory, "reach", ctypes.c_void_p),
        )
