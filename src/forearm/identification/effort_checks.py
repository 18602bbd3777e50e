"""Efforts that belong to other joints, or have the wrong sign: found by what explains them."""

from __future__ import annotations

import numpy as np

from forearm.errors import InputError
from forearm.identification.drive_law import COULOMB, VISCOUS
from forearm.identification.effort_model import EffortModel
from forearm.identification.fitting import Fitting
from forearm.identification.rows import Rows
from forearm.identification.samples import LogSignals
from forearm.spatial import Floats

LOOKED_AT = 4000  # rows of a log, evenly spread
LEAST = 3.0  # rows for each column: fewer say nothing
BETTER = 0.35  # of what the own columns leave: another joint's that leave less are the right ones
POOR = 0.05  # of an effort's variance: a joint whose own columns leave less has its own effort
CLEAR = 6.0  # deviations: dry friction that drives this clearly is no accident


def check_efforts(fitting: Fitting) -> None:
    """Refuse logs in which efforts stand in the columns of other joints, or have the wrong sign."""
    for log, source in enumerate(fitting.sources):
        every = 1 + source.log.signals.used // source.averaged // LOOKED_AT
        rows = [_thinned(block, every) for block in fitting.rows(log, fitting.model.values())]
        columns, y, usable = (
            np.concatenate([getattr(block, name) for block in rows]) for name in ("columns", "y", "usable")
        )
        _check_swapped(fitting.model, source.log.signals, columns, y, usable)
        _check_signs(fitting.model, source.log.signals, columns, y, usable)


def _thinned(rows: Rows, every: int) -> Rows:
    some = slice(None, None, every)
    arrays = (getattr(rows, name)[some] for name in ("t", "columns", "y", "effort", "speed", "usable"))
    t, columns, y, effort, speed, usable = arrays
    return Rows(t, columns, y, effort, speed, usable, rows.starts)


def _check_swapped(model: EffortModel, known: LogSignals, columns: Floats, y: Floats, usable: Floats) -> None:
    """Two joints whose efforts are explained far better by each other's columns."""
    n = model.arm.n
    left = np.full((n, n), np.nan)  # of effort k, by the columns of joint i
    for i in range(n):
        there = usable[:, i].astype(bool)
        A = _scaled(columns[there, i, : model.width])
        if len(A) < LEAST * A.shape[1] or not A.size:
            continue
        Q = np.linalg.qr(A)[0]
        given = y[there] - y[there].mean(axis=0)
        spread = np.maximum(np.sum(given**2, axis=0), 1e-300)
        left[i] = np.sum((y[there] - Q @ (Q.T @ y[there])) ** 2, axis=0) / spread
    for i in range(n):
        for k in range(i + 1, n):
            own, other = (left[i, i], left[k, k]), (left[i, k], left[k, i])
            if min(own) > POOR and other[0] < BETTER * own[0] and other[1] < BETTER * own[1]:
                a, b = known.effort_columns[i], known.effort_columns[k]
                raise InputError(
                    f"{known.name}: {a} and {b} look exchanged: the motion of "
                    f"{model.arm.joints[i].name} leaves {own[0]:.0%} of the variance of {a} but "
                    f"{other[0]:.0%} of {b}, and the other way round. Exchange the columns, or say which is "
                    "which (columns=, --columns); check=False goes on."
                )


def _check_signs(model: EffortModel, known: LogSignals, columns: Floats, y: Floats, usable: Floats) -> None:
    """Joints whose friction would drive: their efforts have the wrong sign."""
    p = len(model.base)
    for i, law in enumerate(model.laws):
        there = usable[:, i].astype(bool)
        figures = law.figures
        own = [p + figures.index(f) for f in (VISCOUS, *COULOMB) if f in figures]
        A = columns[there, i, : model.width]
        keep = np.flatnonzero(A.any(axis=0))
        if len(own) < 3 or len(A) < LEAST * len(keep):
            continue
        power = _friction_power(
            A[:, keep], y[there, i], [int(np.flatnonzero(keep == k)[0]) for k in own if k in keep]
        )
        if power is None:
            continue
        if power < -CLEAR:
            name = known.effort_columns[i]
            raise InputError(
                f"{known.name}: {name} seems to have the wrong sign: friction of {model.arm.joints[i].name} "
                f"would drive it instead of braking ({-power:.0f} deviations from none). tau is the torque "
                "that the drive gives, positive with q. Change its sign; check=False goes on."
            )


def _friction_power(A: Floats, y: Floats, own: list[int]) -> float | None:
    """Dry friction forwards less backwards over its deviation: negative where friction drives."""
    if len(own) < 3:
        return None
    sizes = np.linalg.norm(A, axis=0)
    U, values, V = np.linalg.svd(A / sizes, full_matrices=False)
    shown = values > 1e-8 * values[0]
    inverse = (V[shown].T / values[shown]) @ U[:, shown].T / sizes[:, None]
    x = inverse @ y
    variance = float(np.sum((y - A @ x) ** 2)) / max(len(y) - int(shown.sum()), 1)
    wanted = np.zeros(len(x))
    wanted[own[1]], wanted[own[2]] = 1.0, -1.0
    spread = np.sqrt(variance * float(np.sum((wanted @ inverse) ** 2)))
    return float(wanted @ x) / spread if spread > 0.0 else None


def _scaled(A: Floats) -> Floats:
    """Columns that are not 0, at unit length, independent ones only."""
    A = A[:, A.any(axis=0)]
    sizes = np.linalg.norm(A, axis=0)
    U, values, _ = np.linalg.svd(A / np.where(sizes > 0.0, sizes, 1.0), full_matrices=False)
    return np.asarray(U[:, values > 1e-9 * values.max(initial=1e-300)])
