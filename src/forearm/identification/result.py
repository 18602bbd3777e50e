"""What an identification found: the arm with its new values, how sure they are, what the data cannot tell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.samples import LogSignals
from forearm.spatial import Floats
from forearm.tables import Report

if TYPE_CHECKING:
    from forearm.identification.validation import Validation


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of the estimation.

    Attributes:
        name: "linear", "friction" or "consistent".
        parameters: its values.
        std: their standard deviations; infinite where the data say nothing.
        rms: what it leaves of the efforts (n,).
        message: what it did, in words.
    """

    name: str
    parameters: ParameterSet
    std: ParameterSet
    rms: Floats
    message: str


@dataclass(frozen=True, eq=False)
class UsedLog:
    """A log, what was known of it, and what was found about it.

    Attributes:
        signals: what is known of it.
        shift: efforts came so much later than the motion, s.
        shift_std: its standard deviation, s; 0: the shift was given.
        rms: what the model leaves of its efforts (n,).
        rms_before: what the arm as given leaves (n,).
        rms_left_out: what a model leaves that was fitted to the rest of the data (n,).
    """

    signals: LogSignals
    shift: float
    shift_std: float
    rms: Floats
    rms_before: Floats
    rms_left_out: Floats


@dataclass(frozen=True)
class ResidualTest:
    """Whether what is left of a joint's effort still hangs together with something that the model lacks.

    Attributes:
        joint: name of the joint.
        against: what it was held against: "speed", "load", "position", "acceleration".
        p_value: probability of more, were the model right.
        share: of what is left, by variance, that it would explain.
        message: a sentence, empty where nothing was found.
    """

    joint: str
    against: str
    p_value: float
    share: float
    message: str


@dataclass(frozen=True, eq=False)
class Identification:
    """What logs say of an arm.

    Attributes:
        arm: the arm with the new values, physically consistent, with their `deviations`.
        before: the arm as it was given.
        parameters: base inertial parameters ("link2.Izz", named after the parameter that leads each), figures
            of drives ("joint2.friction.viscous") and sensors ("joint2.offset"), from the data alone.
        std: their standard deviations; infinite where the data say nothing.
        covariance: of the parameters (p, p).
        labels: what each of the parameters is: for a base parameter the combination.
        confidence: that intervals have.
        unidentifiable: sentences on what the data, or no data, can tell.
        torque_side: "motor" or "link".
        t: times (T,) of samples that residuals are kept at, one log after the other, s; at most some ten
            thousand, evenly spread.
        log_of: which log each belongs to (T,).
        speed: qd at them (T, n).
        measured: efforts at them as torques (forces) (T, n), N m (N), whatever was logged.
        predicted: the same of the new arm.
        predicted_before: the same of the arm as it was given.
        noise: standard deviation of a row of the fit (n,).
        logs: the logs.
        stages: the estimation, stage by stage.
        tests: of the residuals.
        findings: sentences on the data as a whole.
    """

    arm: Arm
    before: Arm
    parameters: ParameterSet
    std: ParameterSet
    covariance: Floats
    labels: tuple[str, ...]
    confidence: float
    unidentifiable: tuple[str, ...]
    torque_side: str
    t: Floats
    log_of: Floats
    speed: Floats
    measured: Floats
    predicted: Floats
    predicted_before: Floats
    noise: Floats
    logs: tuple[UsedLog, ...]
    stages: tuple[Stage, ...]
    tests: tuple[ResidualTest, ...]
    findings: tuple[str, ...]

    @property
    def residual(self) -> Floats:
        """Measured less predicted, (T, n)."""
        return self.measured - self.predicted

    @property
    def rms(self) -> Floats:
        """What is left at all samples, (n,)."""
        return _rms_of([log.rms for log in self.logs], self.logs)

    @property
    def rms_before(self) -> Floats:
        """What the arm as it was given leaves, (n,)."""
        return _rms_of([log.rms_before for log in self.logs], self.logs)

    @property
    def rms_left_out(self) -> Floats:
        """What models leave of data that they were not fitted to, (n,)."""
        return _rms_of([log.rms_left_out for log in self.logs], self.logs)

    @property
    def measure_next(self) -> tuple[str, ...]:
        """Sentences on what another log should show: the poorest parameters, and which joints show them."""
        from forearm.identification.report.advice import measure_next

        return tuple(measure_next(self))

    def report(self) -> Report:
        """Headline, joints, parameters with intervals, logs, stages, and what is in doubt."""
        from forearm.identification.report.summary import report

        return report(self)

    def table(self) -> str:
        """The report as text."""
        return self.report().text()

    def to_json(self) -> dict[str, Any]:
        """Everything but the samples as plain lists, texts and numbers; None where a number is not finite."""
        from forearm.identification.report.document import document

        return document(self)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one page for a browser, without network: efforts, residuals and their spectra, friction,
        parameters with intervals, what the data cannot tell and what to measure next.
        """
        from forearm.identification.report.page import write_page

        write_page(self, path)

    def validate(self, log: Any, **options: Any) -> Validation:
        """What the new arm and the one before leave of a log that nothing was fitted to.

        Args:
            log: as in `identify`.
            **options: `shift`, `cutoff`, `derivatives`, `effort`, `columns`, `units`, `period`, as there.
        """
        from forearm.identification.validation import validate

        return validate(self, log, **options)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of measured and predicted efforts and what is left; saved if a path is
        given.
        """
        from forearm.plots.logs import identified_figure, save_figure

        figure = identified_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arm file of the new arm, with the deviations of its numbers."""
        self.arm.save(path)

    def __repr__(self) -> str:
        return (
            f"<Identification of {self.arm.name!r}: {len(self.parameters)} parameters, {len(self.logs)} logs>"
        )

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return self.report().html()


def _rms_of(values: list[Floats], logs: tuple[UsedLog, ...]) -> Floats:
    """The rms over logs, each by its number of samples."""
    weights = np.array([log.signals.used for log in logs], dtype=np.float64)
    return np.asarray(np.sqrt(weights @ np.square(np.array(values)) / weights.sum()))
