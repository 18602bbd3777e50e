"""Identifiability of an arm's parameters from a motion: the information in its torques."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.trajectories.drive_limits import LimitUse
from forearm.values import frozen

POOR = 0.3  # of a parameter's value: a larger standard deviation counts as poorly excited
FAR_BEYOND = 10.0  # times the value: a larger standard deviation says only that the value is near 0
UNSEEN = 1e-12  # of the largest eigenvalue of the scaled information: directions below are unobservable
TAKES_PART = 1e-6  # of a direction: share above which a parameter is part of it


@frozen
class Excitation:
    """Expected accuracy of an arm's parameters from noisy torques along a motion.

    Attributes:
        names: of the p parameters: base inertial ones ("link2.Izz"), then those of drives
            ("joint2.friction.viscous").
        labels: description of each; for a base parameter the combination.
        values: values in the arm (p,); NaN where undefined.
        information: sum of W^T W / noise^2 over all samples (p, p), W the torque regressor.
        start_information: the same for the random motion that the search began with, within the same limits.
        scale: factor of each parameter for `condition` and `log_det` (p,): the inverse of the typical size of
            its column over the noise.
        noise: standard deviation of one sample of each torque (n,), N m (N), uncorrelated.
        noise_note: how the noise was assumed, if it was; else empty.
        samples: number of samples.
        earlier: number of earlier motions included.
        criterion: "d" or "condition".
        torque_side: "motor" or "link".
        uses: largest use of each limit.
        never_seen: sentences on parameters that no motion can distinguish.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    values: Floats
    information: Floats
    start_information: Floats
    scale: Floats
    noise: Floats
    noise_note: str
    samples: int
    earlier: int
    criterion: str
    torque_side: str
    uses: tuple[LimitUse, ...]
    never_seen: tuple[str, ...]

    @cached_property
    def std(self) -> Floats:
        """Expected standard deviation of each parameter (p,); infinite if unobservable."""
        return _deviations(self.information, self.scale)

    @cached_property
    def start_std(self) -> Floats:
        """The same for the random motion."""
        return _deviations(self.start_information, self.scale)

    @cached_property
    def eigenvalues(self) -> Floats:
        """Eigenvalues of the scaled information (p,), ascending."""
        return _eigenvalues(self.information, self.scale)

    @property
    def condition(self) -> float:
        """Condition number of the scaled columns: largest over smallest singular value."""
        return _condition(self.eigenvalues)

    @property
    def start_condition(self) -> float:
        """The same for the random motion."""
        return _condition(_eigenvalues(self.start_information, self.scale))

    @property
    def log_det(self) -> float:
        """Natural logarithm of the determinant of the scaled information."""
        return _log_det(self.eigenvalues)

    @property
    def start_log_det(self) -> float:
        """The same for the random motion."""
        return _log_det(_eigenvalues(self.start_information, self.scale))

    @property
    def gain(self) -> float:
        """Ratio of the deviations from the random motion to those from this one, geometric mean over all
        directions.
        """
        return float(np.exp((self.log_det - self.start_log_det) / (2.0 * len(self.names))))

    @cached_property
    def poor(self) -> tuple[str, ...]:
        """Sentences on poorly excited parameters: unobservable, or with an expected deviation above 30 % of
        the value in the arm.
        """
        found = []
        for name, value, std in zip(self.names, self.values.tolist(), self.std.tolist(), strict=True):
            if not np.isfinite(std):
                found.append(f"{name} is not excited by this motion.")
            elif value != 0.0 and std > POOR * abs(value):
                share = f"{std / abs(value):.0%} of" if std < FAR_BEYOND * abs(value) else "far more than"
                found.append(
                    f"{name} has an expected deviation of +-{std:.2g}, {share} the arm's {value:.3g}."
                )
        return tuple(found)

    def report(self) -> Report:
        """Expected deviations, and use of each limit."""
        columns = (self.values.tolist(), self.std.tolist(), self.start_std.tolist())
        rows = [
            [
                name,
                "-" if np.isnan(value) else number(value, 4),
                _sized(std),
                _share(std, abs(value)),
                _sized(random),
            ]
            for name, value, std, random in zip(self.names, *columns, strict=True)
        ]
        uses = [
            [f"{use.joint} {use.quantity}", number(use.needed, 4), number(use.allowed, 4), f"{use.share:.1%}"]
            for use in self.uses
        ]
        noise = ", ".join(number(x, 3) for x in self.noise.tolist())
        more = f"{self.earlier} earlier motion{'s' if self.earlier > 1 else ''}"
        earlier = f", including {more}" if self.earlier else ""
        return Report(
            ["parameter", "in the arm", "expected std", "share", "std if random"],
            rows,
            f"expected accuracy from {self.samples} samples of the torques at the {self.torque_side} "
            f"side{earlier}",
            after=[
                f"noise of one sample: {noise} N m (N){self.noise_note and f'; {self.noise_note}'}",
                f"condition number {self.condition:.4g} (random motion: {self.start_condition:.4g}); "
                f"deviations are {self.gain:.3g} times smaller than with that one, in the geometric mean",
                *self.poor,
                *self.never_seen,
            ],
            parts=[Report(["limit", "largest", "allowed", "used"], uses, "limits")],
        )

    def document(self) -> dict[str, Any]:
        """Fields for a JSON document."""
        return {
            "criterion": self.criterion,
            "torque_side": self.torque_side,
            "condition": self.condition,
            "log_det": self.log_det,
            "random": {"condition": self.start_condition, "log_det": self.start_log_det},
            "gain": self.gain,
            "noise": self.noise,
            "noise_note": self.noise_note,
            "samples": self.samples,
            "earlier": self.earlier,
            "parameters": [
                {"name": name, "label": label, "value": value, "std": std, "std_random": random}
                for name, label, value, std, random in zip(
                    self.names, self.labels, self.values, self.std, self.start_std, strict=True
                )
            ],
            "poor": list(self.poor),
            "never_seen": list(self.never_seen),
            "limits": [asdict(use) for use in self.uses],
        }

    def __repr__(self) -> str:
        return f"<Excitation of {len(self.names)} parameters: condition number {self.condition:.4g}>"


def _share(std: float, size: float) -> str:
    """A deviation as a percentage; '-' if there is none."""
    if not size > 0.0 or not np.isfinite(std):
        return "-"
    return f"{100.0 * std / size:.3g} %" if std < FAR_BEYOND * size else f"> {100.0 * FAR_BEYOND:.0f} %"


def _sized(std: float) -> str:
    return f"{std:.3g}" if np.isfinite(std) else "unobservable"


def _eigenvalues(information: Floats, scale: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(information * np.outer(scale, scale)))


def _condition(eigenvalues: Floats) -> float:
    least, most = float(eigenvalues[0]), float(eigenvalues[-1])
    return float(np.sqrt(most / least)) if least > UNSEEN * most else np.inf


def _log_det(eigenvalues: Floats) -> float:
    """Unobservable directions count with the smallest resolvable value."""
    return float(np.log(np.maximum(eigenvalues, UNSEEN * eigenvalues[-1])).sum())


def _deviations(information: Floats, scale: Floats) -> Floats:
    values, directions = np.linalg.eigh(information * np.outer(scale, scale))
    seen = values > UNSEEN * values[-1]
    variance = np.square(directions[:, seen]) @ (1.0 / values[seen])
    unseen = np.square(directions[:, ~seen]).sum(axis=1) > TAKES_PART**2
    return np.where(unseen, np.inf, scale * np.sqrt(variance))
