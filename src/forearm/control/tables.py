"""Tables of torques over a whole domain: their size, and the accuracy of so few values per parameter. Waters
IV.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import parts
from forearm.errors import InputError
from forearm.kernels import Kernel
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.values import as_floats, check_number, check_whole

MOST_NUMBERS = 5_000_000  # limit of `table_error`
BYTES = 8  # per number


@dataclass(frozen=True)
class FullTable:
    """A table with `values` values of each of `parameters`: points, numbers per point, numbers and bytes in
    all.
    """

    what: str
    parameters: int
    values: int
    each: int

    @property
    def points(self) -> int:
        """values^parameters."""
        return int(self.values**self.parameters)

    @property
    def numbers(self) -> int:
        """Stored numbers."""
        return self.points * self.each

    @property
    def bytes(self) -> int:
        """In doubles."""
        return BYTES * self.numbers

    def seconds(self, evaluations_per_second: float) -> float:
        """Time to fill it."""
        return self.points / check_number(evaluations_per_second, "evaluations_per_second", above=0.0)


def full_tables(n: int = 6, values: int = 5) -> dict[str, FullTable]:
    """Waters' four tables of an arm of n joints: torques or D, E at each point, without and with their
    derivatives.

    `forces` has 3n parameters and n numbers per point, `D, E` 2n parameters and n^2 + n numbers. Waters IV,
    complete coverage.
    """
    n, values = (check_whole(x, what, 1, 1000) for x, what in ((n, "n"), (values, "values")))
    kinds = {"forces": (3 * n, n), "D, E": (2 * n, n * n + n)}
    made = {}
    for what, (parameters, each) in kinds.items():
        made[what] = FullTable(what, parameters, values, each)
        slopes = f"{what}, derivatives"
        made[slopes] = FullTable(slopes, parameters, values, each * (1 + parameters))
    return made


def multilinear(grids: tuple[Floats, ...], table: Floats, x: Floats) -> Floats:
    """Linear interpolation in each of p parameters: table (k1, ..., kp, ...) over increasing grids (ki,), at
    x (B, p).

    A parameter with a single value is not interpolated. Outside a grid the outermost cell is extrapolated.
    """
    cells, shares = [], []
    for grid, at in zip(grids, x.T, strict=True):
        cell = np.clip(np.searchsorted(grid, at, side="right") - 1, 0, max(len(grid) - 2, 0))
        after = np.minimum(cell + 1, len(grid) - 1)
        width = np.where(after > cell, grid[after] - grid[cell], 1.0)
        cells.append((cell, after))
        shares.append(np.where(after > cell, (at - grid[cell]) / width, 0.0))
    total: Floats = np.zeros((len(x), *table.shape[len(grids) :]))
    for corner in product((0, 1), repeat=len(grids)):
        weight = np.ones(len(x))
        for side, share in zip(corner, shares, strict=True):
            weight = weight * (share if side else 1.0 - share)
        value = table[tuple(cell[side] for side, cell in zip(corner, cells, strict=True))]
        total += weight.reshape(-1, *(1,) * (value.ndim - 1)) * value
    return total


@dataclass(frozen=True)
class TableError:
    """Interpolation error of a full table: root mean square and worst over random states, relative to the
    largest torque.
    """

    points: int
    rms: float
    worst: float


def table_error(
    arm: Arm, values: int, half_widths: tuple[ArrayLike, ...], checked: int = 1000, seed: int = 1
) -> TableError:
    """Build a full table of an arm of few joints over |q|, |qd|, |qdd| <= half_widths ((n,) each), and test
    it at random states.

    Errors are relative to the largest torque found. For three joints and more such a table is too large.
    """
    halves = np.concatenate([as_floats(w, "half_widths") for w in half_widths])
    p, k = 3 * arm.n, check_whole(values, "table_error, values", 2, 1000)
    if halves.shape != (p,):
        raise InputError(
            f"expected three arrays ({arm.n},), for q, qd and qdd, got {halves.shape} in all.", "half_widths"
        )
    if k**p * arm.n > MOST_NUMBERS:
        raise InputError(
            f"{k}^{p} points with {arm.n} forces are more than {MOST_NUMBERS} numbers; use "
            "fewer joints or values.",
            "values",
        )
    grids = tuple(np.linspace(-half, half, k) for half in halves)
    states = np.stack([g.ravel() for g in np.meshgrid(*grids, indexing="ij")], axis=1)
    kernel = kernel_of(arm)
    table = _forces(kernel, states).reshape(*(k,) * p, arm.n)
    x = np.random.default_rng(seed).uniform(-halves, halves, (check_whole(checked, "checked", 1), p))
    truth = _forces(kernel, x)
    error = (multilinear(grids, table, x) - truth) / np.abs(truth).max()
    return TableError(k**p, float(np.sqrt(np.mean(error**2))), float(np.abs(error).max()))


def _forces(kernel: Kernel, states: Floats) -> Floats:
    return kernel.inverse_dynamics(*parts(states))
