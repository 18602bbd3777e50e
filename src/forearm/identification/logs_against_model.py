"""Comparison of a measured log with the model: measured torque, model torque, and the residual."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.log_derivatives import HALVES, best_half, smoothed
from forearm.identification.measured_log import MeasuredLog, measured_log
from forearm.identification.requests import LogFormat
from forearm.kernels.kernel import compile as compile_arm
from forearm.records import flat
from forearm.tables import number, text_table
from forearm.values import check_number, frozen

Floats = NDArray[np.float64]
GAP = 2.5  # times the usual period: a longer step splits the log
LEAST = 2 * HALVES[0] + 1


@frozen
class LogComparison:
    """Comparison of a measured log with the model, at samples where both are known.

    `rms`, `largest`, `mean` are of measured minus model; `explained` is the fraction of the measured torque's
    variance that the model accounts for, 1 - var(residual) / var(measured), NaN for constant torque.

    Attributes:
        name: name of the log.
        joints: names of the joints.
        kinds: "revolute" or "prismatic" of each.
        t: times (T,), s.
        q, qd, qdd: the motion (T, n), with numerical derivatives.
        measured: torques of the log (T, n), N m (N).
        model: torques of the arm (T, n), N m (N).
        window: of the differentiator, s.
        rows: number of rows of the log.
        pieces: number of pieces between gaps that are long enough.
        from_current: whether torques were computed from currents.
        is_longest: whether the chosen window is the longest one tried.
    """

    name: str
    joints: tuple[str, ...]
    kinds: tuple[str, ...]
    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    measured: Floats
    model: Floats
    window: float
    rows: int
    pieces: int
    from_current: bool
    is_longest: bool

    @property
    def residual(self) -> Floats:
        """Residuals, measured minus model, (T, n)."""
        return self.measured - self.model

    @property
    def rms(self) -> Floats:
        """Rms of the residuals, (n,)."""
        return np.asarray(np.sqrt(np.mean(self.residual**2, axis=0)))

    @property
    def largest(self) -> Floats:
        """Largest absolute residual, (n,)."""
        return np.asarray(np.abs(self.residual).max(axis=0))

    @property
    def mean(self) -> Floats:
        """Mean of the residuals, (n,): a weight or an offset that the model lacks."""
        return np.asarray(self.residual.mean(axis=0))

    @property
    def explained(self) -> Floats:
        """1 - var(residual) / var(measured), (n,)."""
        spread = self.measured.var(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0.0, 1.0 - self.residual.var(axis=0) / spread, np.nan)

    def table(self) -> str:
        """One row per joint, and how the values were computed."""
        header = [
            "joint",
            "unit",
            "measured rms",
            "residual rms",
            "residual max",
            "residual mean",
            "explained",
        ]
        rms = np.sqrt(np.mean(self.measured**2, axis=0))
        columns = np.stack([rms, self.rms, self.largest, self.mean], axis=1)
        rows = [
            [
                joint,
                "N m" if kind == "revolute" else "N",
                *(number(x, 4) for x in values),
                f"{100.0 * share:.2f} %",
            ]
            for joint, kind, values, share in zip(
                self.joints, self.kinds, columns.tolist(), self.explained, strict=True
            )
        ]
        return f"{text_table(header, rows)}\n{self.message}"

    @property
    def message(self) -> str:
        """Number of compared rows, and the window."""
        source = (
            "currents times gear ratio and torque constant" if self.from_current else "torques of the log"
        )
        parts = "" if self.pieces == 1 else f", in {self.pieces} pieces between gaps"
        longest = (
            " It is the longest one tried; give a longer window for less noise." if self.is_longest else ""
        )
        return (
            f"{len(self.t)} of {self.rows} rows compared{parts}; {source}; qd and qdd from q by polynomials "
            f"of degree 4 over {1e3 * self.window:.4g} ms.{longest}"
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of both torques and the residual; saved if a path is given."""
        from forearm.plots.logs import log_figure, save_figure

        figure = log_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure


@flat(form=LogFormat)
def compare_log(
    arm: Arm, log: Any, *, window: float | None = None, form: LogFormat | None = None
) -> LogComparison:
    """Compare a measured log with the arm model.

    Columns are found as in `forearm inverse` (q1, q_1, q[0], q_shoulder; likewise tau or current). Times may
    be uneven; a gap splits the log, and every piece loses half a window at each end.

    Args:
        arm: the arm.
        log: a file, arrays by name, t (T,), q (T, n) and tau or current (T, n), or a simulation result.
        window: length of the differentiation window, s; None: chosen from the noise of the positions.
        form: how its columns are to be understood.
    """
    measured = measured_log(arm, log, form or LogFormat())
    pieces = _pieces(measured)
    half, is_longest = _half(measured, pieces, window)
    kept = [piece for piece in pieces if piece.stop - piece.start >= 2 * half + 1]
    if not kept:
        raise InputError(
            f"no piece between gaps is long enough for the window of {2 * half + 1} samples; "
            "give a smaller window.",
            measured.name,
        )
    fits = [smoothed(measured.t[p], measured.q[p], half) for p in kept]
    inner = np.concatenate(
        [np.arange(p.start + f.first, p.start + f.last) for p, f in zip(kept, fits, strict=True)]
    )
    q, qd, qdd = (np.concatenate([getattr(f, x) for f in fits]) for x in ("q", "qd", "qdd"))
    model = compile_arm(arm).inverse_dynamics(q, qd, qdd)
    step = float(np.median(np.diff(measured.t)))
    return LogComparison(
        measured.name,
        tuple(j.name for j in arm.joints),
        tuple(j.kind for j in arm.joints),
        measured.t[inner],
        q,
        qd,
        qdd,
        measured.tau[inner],
        model,
        2 * half * step,
        len(measured.t),
        len(kept),
        measured.from_current,
        is_longest,
    )


def _pieces(measured: MeasuredLog) -> list[slice]:
    """The pieces of the log between gaps."""
    if len(measured.t) < LEAST:
        raise InputError(f"{len(measured.t)} rows; expected at least {LEAST} samples.", measured.name)
    steps = np.diff(measured.t)
    ends = [0, *(np.flatnonzero(steps > GAP * np.median(steps)) + 1).tolist(), len(measured.t)]
    pieces = [slice(a, b) for a, b in pairwise(ends)]
    longest = max(p.stop - p.start for p in pieces)
    if longest < LEAST:
        raise InputError(
            f"the longest of {len(pieces)} pieces between gaps has {longest} rows; expected "
            f"at least {LEAST} samples. A step of more than {GAP:g} times the usual one, "
            f"{np.median(steps):.4g} s, is a gap.",
            measured.name,
        )
    return pieces


def _half(measured: MeasuredLog, pieces: list[slice], window: float | None) -> tuple[int, bool]:
    if window is None:
        longest = max(pieces, key=lambda p: p.stop - p.start)
        return best_half(measured.t[longest], measured.q[longest])
    step = float(np.median(np.diff(measured.t)))
    half = round(check_number(window, "log, window", above=0.0) / (2.0 * step))
    if half < HALVES[0]:
        raise InputError(
            f"{window:g} s is {2 * half + 1} samples of {step:g} s; expected at least {LEAST}"
            f", {2 * HALVES[0] * step:g} s.",
            "log",
            "window",
        )
    return half, False
