"""How well a motion shows the parameters of an arm: what a fit to its torques would leave open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.tables import Report, number
from forearm.trajectories.drive_limits import LimitUse

Array = NDArray[np.float64]
POOR = 0.3  # of a parameter's value: a standard deviation above makes it poorly excited
UNSEEN = 1e-12  # of the largest eigenvalue of the scaled information: a direction below is not seen
TAKES_PART = 1e-6  # of a direction: what a parameter must share in to be counted to it


@dataclass(frozen=True, eq=False)
class Excitation:
    """How well torques along a motion, measured with noise, would tell the parameters of an arm.

    Attributes:
        names: of the p parameters: base inertial ones ("link2.Izz"), then those of drives
            ("joint2.friction.viscous").
        labels: what each is: of a base parameter the combination.
        values: in the arm as it is (p,); NaN where it does not say.
        information: sum of W^T W / noise^2 over all samples (p, p), W the torques' columns.
        start_information: the same of the random motion that the search began with, within the same limits.
        scale: what each parameter is multiplied by for `condition` and `log_det` (p,): the inverse of its
            column's usual size over the noise.
        noise: standard deviation of one sample of each torque (n,), N m (N), without correlation.
        noise_note: where the noise was assumed, how; else empty.
        samples: how many the motion has.
        earlier: how many motions before it are counted in.
        criterion: "d" or "condition".
        torque_side: "motor" or "link".
        uses: the largest use of each limit.
        never_seen: sentences on parameters that no motion can tell from the others.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    values: Array
    information: Array
    start_information: Array
    scale: Array
    noise: Array
    noise_note: str
    samples: int
    earlier: int
    criterion: str
    torque_side: str
    uses: tuple[LimitUse, ...]
    never_seen: tuple[str, ...]

    @cached_property
    def std(self) -> Array:
        """Expected standard deviation of each parameter (p,); infinite where it is not seen."""
        return _deviations(self.information, self.scale)

    @cached_property
    def start_std(self) -> Array:
        """The same after the random motion."""
        return _deviations(self.start_information, self.scale)

    @cached_property
    def eigenvalues(self) -> Array:
        """Of the scaled information (p,), rising."""
        return _eigenvalues(self.information, self.scale)

    @property
    def condition(self) -> float:
        """Condition number of the scaled columns: largest over least singular value."""
        return _condition(self.eigenvalues)

    @property
    def start_condition(self) -> float:
        """The same of the random motion."""
        return _condition(_eigenvalues(self.start_information, self.scale))

    @property
    def log_det(self) -> float:
        """Natural logarithm of the determinant of the scaled information."""
        return _log_det(self.eigenvalues)

    @property
    def start_log_det(self) -> float:
        """The same of the random motion."""
        return _log_det(_eigenvalues(self.start_information, self.scale))

    @property
    def gain(self) -> float:
        """How many times smaller deviations are than after the random motion, in the geometric mean of all
        directions.
        """
        return float(np.exp((self.log_det - self.start_log_det) / (2.0 * len(self.names))))

    @cached_property
    def poor(self) -> tuple[str, ...]:
        """Sentences on parameters that stay poorly excited: not seen, or with an expected deviation of more
        than 30 % of the value in the arm.
        """
        found = []
        for name, value, std in zip(self.names, self.values.tolist(), self.std.tolist(), strict=True):
            if not np.isfinite(std):
                found.append(f"{name} is not seen by this motion.")
            elif value != 0.0 and std > POOR * abs(value):
                found.append(
                    f"{name} is expected to +-{std:.2g}, {std / abs(value):.0%} of the arm's {value:.3g}."
                )
        return tuple(found)

    def report(self) -> Report:
        """Expected deviations, and how much of each limit is used."""
        columns = (self.values.tolist(), self.std.tolist(), self.start_std.tolist())
        rows = [
            [
                name,
                "-" if np.isnan(value) else number(value, 4),
                _sized(std),
                "-" if not abs(value) > 0.0 or not np.isfinite(std) else f"{100.0 * std / abs(value):.3g} %",
                _sized(random),
            ]
            for name, value, std, random in zip(self.names, *columns, strict=True)
        ]
        noise = ", ".join(number(x, 3) for x in self.noise.tolist())
        more = f"{self.earlier} earlier motion{'s' if self.earlier > 1 else ''}"
        earlier = f", {more} counted in" if self.earlier else ""
        return Report(
            ["parameter", "in the arm", "expected std", "share", "std if random"],
            rows,
            f"what {self.samples} samples of the torques at the {self.torque_side} side would tell{earlier}",
            after=[
                f"noise of one sample: {noise} N m (N){self.noise_note and f'; {self.noise_note}'}",
                f"condition number {self.condition:.4g} (random motion: {self.start_condition:.4g}); in the "
                f"mean deviations are {self.gain:.3g} times smaller than after that",
                *self.poor,
                *self.never_seen,
            ],
            parts=[self._uses_report()],
        )

    def _uses_report(self) -> Report:
        rows = [
            [f"{use.joint} {use.quantity}", number(use.needed, 4), number(use.allowed, 4), f"{use.share:.1%}"]
            for use in self.uses
        ]
        return Report(["limit", "largest", "allowed", "used"], rows, "limits")

    def document(self) -> dict[str, Any]:
        """Everything that a JSON document says of it."""
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
            "limits": [
                {
                    "joint": use.joint,
                    "quantity": use.quantity,
                    "needed": use.needed,
                    "allowed": use.allowed,
                    "time": use.time,
                }
                for use in self.uses
            ],
        }

    def __repr__(self) -> str:
        return f"<Excitation of {len(self.names)} parameters: condition number {self.condition:.4g}>"


def _sized(std: float) -> str:
    return f"{std:.3g}" if np.isfinite(std) else "not seen"


def _eigenvalues(information: Array, scale: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(information * np.outer(scale, scale)))


def _condition(eigenvalues: Array) -> float:
    least, most = float(eigenvalues[0]), float(eigenvalues[-1])
    return float(np.sqrt(most / least)) if least > UNSEEN * most else np.inf


def _log_det(eigenvalues: Array) -> float:
    """Directions that are not seen count with the least that can be told from nothing."""
    return float(np.log(np.maximum(eigenvalues, UNSEEN * eigenvalues[-1])).sum())


def _deviations(information: Array, scale: Array) -> Array:
    values, directions = np.linalg.eigh(information * np.outer(scale, scale))
    seen = values > UNSEEN * values[-1]
    variance = np.square(directions[:, seen]) @ (1.0 / values[seen])
    unseen = np.square(directions[:, ~seen]).sum(axis=1) > TAKES_PART**2
    return np.asarray(np.where(unseen, np.inf, scale * np.sqrt(variance)))
