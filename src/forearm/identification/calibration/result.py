"""Result of a calibration: the arm with its new geometry, confidence intervals, and what the data cannot
determine.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.identification.parameter_set import ParameterSet
from forearm.spatial import Floats, rpy_of
from forearm.tables import Report, number
from forearm.values import frozen


@frozen
class Calibration:
    """Result of a kinematic calibration from measured poses or points.

    Attributes:
        arm: the arm with the new geometry, including its hand if that was unknown.
        before: the arm as given.
        parameters: values by name: new Denavit-Hartenberg parameters, or displacements of frames along and
            about their own axes.
        file_values: the same for the arm as given.
        std: standard deviations; infinite if the data do not determine a parameter by itself.
        covariance: of the parameters (m, m), within the observable directions.
        confidence: confidence level of the intervals.
        intervals: (lower, upper) of each (m, 2).
        units: of each, "m" or "rad".
        unobservable: sentences on parameters that the data do not determine; these keep the file's values.
        rows: which rows of the data were used (B,), counted from 0 in arrays and from 1 in tables.
        left_out: excluded rows: NaN, infinite or outliers.
        residual: measured minus predicted (B, 3), m, in base axes, or (B, 6) with rotations, rad, in hand
            axes.
        rms_before, rms, rms_left_out: rms position errors, m: arm as given, fit, and leave-one-out
            prediction.
        turn_before, turn, turn_left_out: the same for angles, rad; NaN if points were measured.
        noise: standard deviation of one measured coordinate, m, and of one rotation, rad (NaN for points).
        base: the base frame (4, 4) in the frame of the measuring device.
        hand_point: the measured point (3,) in the hand frame, m.
        singular_values: of the Jacobian over the noise, lengths scaled by the reach (m,), in descending
            order; the inverse of one is the standard deviation, in rad or fractions of the reach, along a
            direction of the unknowns.
        shown: number of fitted directions of the unknowns.
        findings: sentences on the data.
    """

    arm: Arm
    before: Arm
    parameters: ParameterSet
    file_values: ParameterSet
    std: ParameterSet
    covariance: Floats
    confidence: float
    intervals: Floats
    units: tuple[str, ...]
    unobservable: tuple[str, ...]
    rows: NDArray[np.intp]
    left_out: NDArray[np.intp]
    residual: Floats
    rms_before: float
    rms: float
    rms_left_out: float
    turn_before: float
    turn: float
    turn_left_out: float
    noise: tuple[float, float]
    base: Floats
    hand_point: Floats
    singular_values: Floats
    shown: int
    findings: tuple[str, ...]

    @property
    def least_singular_value(self) -> float:
        """Least singular value among the fitted directions."""
        return float(self.singular_values[self.shown - 1]) if self.shown else 0.0

    @property
    def condition(self) -> float:
        """Condition number: largest over least singular value of the fitted directions."""
        return float(self.singular_values[0] / self.least_singular_value) if self.shown else float("inf")

    @property
    def worst_row(self) -> int:
        """The row with the largest position error."""
        return int(self.rows[int(np.argmax(np.linalg.norm(self.residual[:, :3], axis=1)))])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arm file (TOML) of the arm with the new geometry."""
        self.arm.save(path)

    def report(self) -> Report:
        """The result as lines and tables."""
        percent = f"{100.0 * self.confidence:g} %"
        rows = []
        for k, name in enumerate(self.parameters):
            value, old, std = self.parameters[name], self.file_values[name], self.std[name]
            known = np.isfinite(std)
            half = 0.5 * float(self.intervals[k, 1] - self.intervals[k, 0]) if known else np.inf
            rows.append(
                [
                    name,
                    number(_tidy(old), 7),
                    number(_tidy(value), 7),
                    self.units[k],
                    number(_tidy(1e3 * (value - old)), 4),
                    number(1e3 * std, 3) if known else "not observable",
                    number(1e3 * half, 3) if known else "-",
                ]
            )
        header = ["parameter", "file", "found", "unit", "change, 1e-3", "std, 1e-3", f"{percent} +-, 1e-3"]
        title = f"{self.before.name}: geometry from {len(self.rows)} {'poses' if self._is_pose else 'points'}"
        hidden = [f"Not observable: {text}." for text in self.unobservable]
        return Report(header, rows, title, after=[*self._lines(), *hidden, *self.findings])

    @property
    def _is_pose(self) -> bool:
        return bool(self.residual.shape[1] == 6)

    def _lines(self) -> list[str]:
        def both(length: float, angle: float) -> str:
            return f"{1e3 * length:.4g} mm" + (f", {1e3 * angle:.4g} mrad" if self._is_pose else "")

        far = float(np.linalg.norm(self.residual[:, :3], axis=1).max())
        at = " ".join(number(_tidy(v), 6) for v in self.base[:3, 3])
        turned = " ".join(number(_tidy(v), 6) for v in rpy_of(self.base[:3, :3]))
        return [
            f"rms before: {both(self.rms_before, self.turn_before)}; after: {both(self.rms, self.turn)}; "
            f"leave-one-out: {both(self.rms_left_out, self.turn_left_out)}",
            f"largest: {1e3 * far:.4g} mm in row {self.worst_row}; noise of one coordinate: "
            f"{both(*self.noise)}",
            f"{self.shown} of {len(self.parameters)} directions observable; condition number "
            f"{self.condition:.3g}, smallest singular value {self.least_singular_value:.3g}",
            f"base in the device's frame: {at} m, roll pitch yaw {turned} rad",
        ]

    def document(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        plain = ("confidence", "unobservable", "findings", "rms_before", "rms", "rms_left_out", "turn_before",
                 "turn", "turn_left_out", "noise", "base", "hand_point", "condition", "least_singular_value",
                 "shown", "singular_values", "rows", "left_out", "worst_row", "residual")  # fmt: skip
        parameters = [
            {
                "name": name,
                "unit": self.units[k],
                "file": self.file_values[name],
                "value": self.parameters[name],
                "std": self.std[name],
                "lower": self.intervals[k, 0],
                "upper": self.intervals[k, 1],
            }
            for k, name in enumerate(self.parameters)
        ]
        return {"name": self.before.name, "parameters": parameters} | {x: getattr(self, x) for x in plain}

    def __repr__(self) -> str:
        return (
            f"<Calibration of {self.before.name!r}: {len(self.parameters)} unknowns from {len(self.rows)} "
            f"rows, rms {1e3 * self.rms_before:.3g} -> {1e3 * self.rms:.3g} mm>"
        )

    def __str__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()


def _tidy(value: float) -> float:
    """A value with rounding errors near 0 removed."""
    return 0.0 if abs(value) < 1e-12 else float(value)
