"""Result of an identification: the arm with its new values, their uncertainty, and what the data cannot
determine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forearm.arm.arm import Arm
from forearm.identification.agreement import Agreement
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.requests import LogReading
from forearm.identification.samples import LogSignals
from forearm.records import flat
from forearm.spatial import Floats
from forearm.tables import Report
from forearm.values import frozen

if TYPE_CHECKING:
    from forearm.identification.validation import Validation


@frozen
class Stage:
    """One stage of the estimation.

    Attributes:
        name: "linear", "friction" or "consistent".
        parameters: its values.
        std: their standard deviations; infinite without information.
        rms: rms residual of the efforts (n,).
        message: summary in words.
    """

    name: str
    parameters: ParameterSet
    std: ParameterSet
    rms: Floats
    message: str


@frozen
class UsedLog:
    """A log, its properties, and results about it.

    Attributes:
        signals: its properties.
        shift: delay of efforts after the motion, s.
        shift_std: its standard deviation, s; 0: the shift was given.
        agreement: of its efforts with those of the arms, over its usable rows.
    """

    signals: LogSignals
    shift: float
    shift_std: float
    agreement: Agreement


@dataclass(frozen=True)
class ResidualTest:
    """Test whether the residual of a joint's effort still depends on something missing from the model.

    Attributes:
        joint: name of the joint.
        against: the tested quantity: "speed", "load", "position", "acceleration".
        p_value: probability of a larger statistic if the model is correct.
        share: fraction of the residual variance that it would explain.
        message: a sentence, empty if not significant.
    """

    joint: str
    against: str
    p_value: float
    share: float
    message: str


@frozen
class Identification:
    """Result of an identification from logs.

    Attributes:
        arm: the arm with the new values, physically consistent, with their `deviations`.
        before: the arm as given.
        parameters: base inertial parameters ("link2.Izz", named after the leading parameter of each), drive
            parameters ("joint2.friction.viscous") and sensor parameters ("joint2.offset"), from the data
            alone.
        std: their standard deviations; infinite without information.
        covariance: of the parameters (p, p).
        labels: description of each parameter; for a base parameter the combination.
        confidence: confidence level of the intervals.
        unidentifiable: sentences on parameters that these data, or any data, cannot determine.
        torque_side: "motor" or "link".
        t: times (T,) of the stored residual samples, one log after the other, s; at most some ten thousand,
            evenly spread.
        log_of: log index of each sample (T,).
        speed: qd at them (T, n).
        measured: efforts at them, converted to torques (forces) (T, n), N m (N).
        predicted: the same for the new arm.
        predicted_before: the same for the arm as given.
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
        """Residuals, measured minus predicted, (T, n)."""
        return self.measured - self.predicted

    @property
    def agreement(self) -> Agreement:
        """Agreement of measured efforts with those of the arms, over all usable rows."""
        return sum((log.agreement for log in self.logs[1:]), self.logs[0].agreement)

    @property
    def rms(self) -> Floats:
        """Rms residual of the new arm, (n,)."""
        return self.agreement.rms

    @property
    def rms_before(self) -> Floats:
        """Rms residual of the arm as given, (n,)."""
        return self.agreement.rms_before

    @property
    def rms_left_out(self) -> Floats:
        """Rms residual on held-out data, (n,)."""
        return self.agreement.rms_left_out

    @property
    def measure_next(self) -> tuple[str, ...]:
        """What to measure next, as sentences: the poorest parameters, and joints that would improve them."""
        from forearm.identification.report.advice import measure_next

        return tuple(measure_next(self))

    def report(self) -> Report:
        """Headline, joints, parameters with intervals, logs, stages, and doubts."""
        from forearm.identification.report.summary import report

        return report(self)

    def table(self) -> str:
        """The report as text."""
        return self.report().text()

    def to_json(self) -> dict[str, Any]:
        """Everything but the samples as plain lists, texts and values; non-finite values are None."""
        from forearm.identification.report.document import document

        return document(self)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: efforts, residuals and their spectra, friction, parameters with
        intervals, what the data cannot determine, and what to measure next.
        """
        from forearm.identification.report.page import write_page

        write_page(self, path)

    @flat(reading=LogReading)
    def validate(
        self, log: Any, *, shift: float | None = None, reading: LogReading | None = None
    ) -> Validation:
        """Evaluate the new arm and the one before on a log that was not used in the fit; identified offsets
        and gains are attributed to the sensors, and no payload is assumed beyond the arm's.

        Args:
            log: as in `identify`.
            shift: delay of efforts after positions, s; None: as in the logs of the fit.
            reading: how the log is read.
        """
        from forearm.identification.validation import validate

        return validate(self, log, shift, reading)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of measured and predicted efforts and residuals; saved if a path is given."""
        from forearm.plots.logs import identified_figure, save_figure

        figure = identified_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arm file of the new arm, with standard deviations of its values."""
        self.arm.save(path)

    def __repr__(self) -> str:
        return (
            f"<Identification of {self.arm.name!r}: {len(self.parameters)} parameters, {len(self.logs)} logs>"
        )

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return self.report().html()
