"""Numeric inverse kinematics in machine code,
loaded from the cache or compiled now, and its table of start configurations.
"""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm, Hand
from forearm.errors import InputError
from forearm.kernels.compiled import Native
from forearm.kernels.elf import Loaded
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.kernels.numeric_ik_joints import put_inside, range_of
from forearm.kernels.numeric_ik_turn import BLOCK, FIGURES
from forearm.kernels.thread_pool import shared_rows, worker_count
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.kinematics.limits import is_periodic, limits_of
from forearm.kinematics.nearby import MOST_JOINTS
from forearm.kinematics.poses import forward

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

Floats = NDArray[np.float64]
# shares of each joint's range that starts are drawn from, used in rotation: from the middle few limits are
# reached
SPREADS = (0.6, 0.8, 1.0)
# of the positions' variance: the weight of a rotation relative to a distance when starts are compared
TURNING = 1.0 / 3.0
ROWS = "reach_rows"  # the function in its object
MOST_SETTINGS = 4  # tables that are kept
WORK_OF_A_POSE = 20_000  # operations, approximately: determines how many threads share a batch


@lru_cache(maxsize=32)
def newton_function(arm: Arm, attitude: bool, ways: int | None) -> TracedFunction:
    """Newton steps from a configuration, without joint limits, as in `codegen.newton.traced_run`."""

    def traced() -> Traced:
        from forearm.codegen.newton import traced_run

        return traced_run(arm, attitude, ways)

    return compile_function(traced, "newton", key=("newton", arm, attitude, ways), arm=arm)


@lru_cache(maxsize=32)
def full_step_function(arm: Arm, attitude: bool) -> TracedFunction:
    """A whole Newton step, as in `codegen.newton.traced_full_step`."""

    def traced() -> Traced:
        from forearm.codegen.newton import traced_full_step

        return traced_full_step(arm, attitude)

    return compile_function(traced, "full_step", key=("full_step", arm, attitude), arm=arm, in_one=True)


@lru_cache(maxsize=32)
def reacher_of(
    arm: Arm, link: str | None, position_only: bool, limits: bool, cpu: str | None = None
) -> Reacher:
    """The solver for the hand, or for a named link."""
    return Reacher(arm if link is None else arm.replace(hand=Hand(link=link)), position_only, limits, cpu)


class Reacher:
    """Numeric inverse kinematics of an arm: full poses or positions only, with or without joint limits."""

    def __init__(self, arm: Arm, position_only: bool, limits: bool, cpu: str | None = None) -> None:
        if arm.n > MOST_JOINTS:
            raise InputError(
                f"{arm.name!r} has {arm.n} joints, at most {MOST_JOINTS} are supported; lock "
                "some of them with arm.lock.",
                "inverse_numeric",
            )
        self.arm, self.position_only, self.cpu = arm, position_only, cpu
        self.bounds = np.stack(
            limits_of(arm) if limits else [np.full(arm.n, s * math.inf) for s in (-1.0, 1.0)]
        )
        self.periodic = is_periodic(arm)
        self._tables: dict[int, Floats] = {}  # by seed, the last one
        self._settings: dict[tuple[float, ...], Floats] = {}  # the last few
        self._parts: dict[str, Native] = {}

    def run(
        self,
        T: Floats,
        first: Floats | None,
        starts: int,
        seed: int,
        tolerance: float,
        most: int,
        threads: int | None = 1,
    ) -> Floats:
        """The rows (q, position^2, rotation^2, steps, starts), (B, n + FIGURES), for poses (B, 12).

        `first` (B, n) or (1, n), if given, is the first start, followed by those of the table. The result
        does not depend on the number of threads.
        """
        count, n = len(T), self.arm.n
        out = np.full((count, n + FIGURES), np.nan)
        given, settings = self.arguments(first, starts, seed, tolerance, most)
        arrays = (np.ascontiguousarray(T), given, settings, out)
        if count == 1:
            self._part("single").call(*(a.ctypes.data for a in arrays), 1)
            return out
        steps = [8 * size for size in (12, n if len(given) > 1 else 0, 0, n + FIGURES)]
        shared_rows(self._part("batch"), arrays, steps, count, worker_count(count, threads, WORK_OF_A_POSE))
        return out

    def arguments(
        self, first: Floats | None, starts: int, seed: int, tolerance: float, most: int
    ) -> tuple[Floats, Floats]:
        """The machine code's arguments besides the poses: start configurations within the limits, (B, n) or
        (1, n), and its settings, in the layout of `numeric_ik_ir.reach_text`.
        """
        n = self.arm.n
        stride = n if first is not None and len(first) > 1 else 0
        key = (seed, stride, starts, int(first is not None), tolerance * tolerance, float(most))
        settings = self._settings.get(key)
        if settings is None:
            table = self._table(starts if first is None else starts - 1, seed)
            settings = np.concatenate([np.array(key[1:]), self.bounds.ravel(), table.ravel()])
            if len(self._settings) >= MOST_SETTINGS:
                self._settings = {}
            self._settings[key] = settings
        if first is None:
            return np.zeros((1, n)), settings
        return np.ascontiguousarray(
            put_inside(first, self.bounds[0], self.bounds[1], self.periodic)
        ), settings

    def _table(self, starts: int, seed: int) -> Floats:
        """Blocks of configurations, (starts or more, BLOCK (COLUMNS + n)): each is drawn independently, so
        more starts only append blocks.
        """
        table = self._tables.get(seed)
        if table is None or len(table) < starts:
            table = np.stack([self._block(k, seed) for k in range(max(starts, 1))])
            self._tables = {seed: table}
        return table

    def _block(self, index: int, seed: int) -> Floats:
        """64 configurations and their weights: score = weights .
        T - |p|^2 / 2, largest where the pose is nearest.

        |p - p'|^2 / 2 + w |R - R'|^2 / 2 = -(p . p' + w R . R') + |p|^2 / 2 + terms independent of the
        configuration.
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

    def _part(self, name: str) -> Native:
        return self._parts.get(name) or self._parts.setdefault(name, self._found(name))

    def _found(self, part: str) -> Native:
        arm, position_only, cpu = self.arm, self.position_only, self.cpu

        def make() -> tuple[About, bytes]:
            from forearm.kernels.native import host, object_code
            from forearm.kernels.numeric_ik_ir import reach_module

            about = {"arm": arm.name, "functions": ["inverse_numeric"], "dtype": "float64", "part": part}
            target = host("float64", 1 if part == "single" else None, cpu)
            return about, object_code(reach_module(ROWS, arm, position_only, target), cpu)

        def place(_: About, memory: Loaded) -> Native:
            kinds = [*[ctypes.c_void_p] * 4, ctypes.c_int64]
            return Native(function_of(memory, ROWS, *kinds), memory.addresses[ROWS])

        return kept_or_made(("reach", arm, position_only, part), [ROWS], make, place, cpu=cpu)
