"""Compare controllers on one motion of one arm: tracking error, operations, and robustness to an unknown
payload.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from forearm.arm.arm import Arm, check_arm
from forearm.arm.elastic import is_elastic
from forearm.control.actuators import DIRECT, Actuators
from forearm.control.bookkeeping import check_motion
from forearm.control.by_name import setting_for
from forearm.control.controller import Controller
from forearm.control.gains import bandwidth_said
from forearm.control.loop import run
from forearm.control.options import COMPARISON, PERIOD, ComparisonOptions
from forearm.control.reference import Reference, default_motion
from forearm.control.registry import ControllerTrial, Setting, left_out, trials
from forearm.control.sampling import sampling_period
from forearm.control.sensors import Sensors, all_of, exact_accelerations
from forearm.kinematics.limits import behind_limits
from forearm.progress import Progress
from forearm.records import flat
from forearm.simulation.controlled import Run
from forearm.tables import Report, number
from forearm.values import check_kind, chosen

LOAD = 0.05  # of the moving mass: the default payload
PAST = 1e-9  # rad (m): tolerance for a motion that ends at a limit


@dataclass(frozen=True)
class Row:
    """One controller of a comparison, without and with a payload. Errors are NaN if the run diverged.

    Attributes:
        name: name of the controller.
        operations: mean operations per period.
        operations_per_second: mean operations per second.
        rms, largest: joint errors, rad (m).
        hand_rms, hand_largest: hand position errors, m.
        torque_rms: rms torque, N m (N).
        saturated: share of commands that the drives could not deliver in full.
        loaded_rms, loaded_hand_rms, loaded_saturated: the same with the payload.
        stiffness: feedback stiffness as a share of w^2 M_jj, the smallest of any joint: below 1 where the
            full stiffness would be unstable.
        message: remarks, such as the time of divergence.
    """

    name: str
    operations: float
    operations_per_second: float
    rms: float
    largest: float
    hand_rms: float
    hand_largest: float
    torque_rms: float
    saturated: float
    loaded_rms: float
    loaded_hand_rms: float
    loaded_saturated: float
    stiffness: float = math.nan
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run without payload did not diverge."""
        return bool(np.isfinite(self.rms))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Controllers compared, and the conditions of the comparison.

    Attributes:
        arm: the controllers' model.
        duration: of the motion, s.
        period: sampling period, s.
        bandwidth: of the feedback, rad/s.
        payload: unknown point mass at the hand's origin, kg.
        shares: gains of independent joints as a share of M_jj (n,).
        beyond: names of joints that the motion takes beyond their limits.
        rows: a row per controller.
        left_out: controllers that do not suit the sensors or the motion, with what they require.
    """

    arm: Arm
    duration: float
    period: float
    bandwidth: float
    payload: float
    shares: tuple[float, ...]
    beyond: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Row:
        """The row of a controller."""
        return chosen({row.name: row for row in self.rows}, name, "comparison, controller")

    @property
    def longest_period(self) -> float:
        """Longest period for this bandwidth by the rule of twenty samples, s. Dhanaraj 1.1."""
        return sampling_period(self.bandwidth)

    def document(self) -> dict[str, Any]:
        """All fields as a dictionary for JSON."""
        return {
            "arm": self.arm.name,
            "duration": self.duration,
            "period": self.period,
            "bandwidth": self.bandwidth,
            "longest_period": self.longest_period,
            "shares": list(self.shares),
            "beyond": list(self.beyond),
            "left_out": list(self.left_out),
            "payload": self.payload,
            "controllers": [asdict(row) for row in self.rows],
        }

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Plot each controller's error against its operations with matplotlib; save the figure if a path is
        given.
        """
        from forearm.plots.control import comparison_figure, save_figure

        figure = comparison_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(self) -> Report:
        """The rows, and remarks on unequal gains and saturation."""
        header = [
            "controller",
            "ops",
            "kops/s",
            "joints",
            "hand mm",
            "most mm",
            "loaded mm",
            "N m (N)",
            "stiff",
        ]
        rows = [
            [
                row.name,
                number(row.operations, 4),
                number(1e-3 * row.operations_per_second, 4),
                number(row.rms, 2),
                *(number(1e3 * x, 3) for x in (row.hand_rms, row.hand_largest, row.loaded_hand_rms)),
                number(row.torque_rms, 3),
                "-" if math.isnan(row.stiffness) else f"{100.0 * row.stiffness:.3g} %",
            ]
            for row in self.rows
        ]
        before = (
            f"{self.arm.name}: motion of {self.duration:g} s, sampling period {1e3 * self.period:g} ms, "
            f"{bandwidth_said(self.bandwidth)} (rule of twenty samples: {1e3 * self.longest_period:.3g} ms)",
            f"rms errors of joints, rad (m), and hand; loaded: with {self.payload:.4g} kg unknown to the "
            "controllers; rms torque",
        )
        return Report(header, rows, before=before, after=list(self._held_back()))

    def __str__(self) -> str:
        return str(self.report())

    def _repr_html_(self) -> str:
        report = self.report()
        messages = [f"{row.name}: {row.message}." for row in self.rows if row.message]
        return replace(report, after=[*report.after, *messages]).html()

    def _held_back(self) -> Iterator[str]:
        """Remarks on reduced gains, and on commands that were not delivered in full."""
        if any(row.stiffness < 1.0 for row in self.rows):
            least = ", ".join(
                f"{j.name} {100.0 * x:.3g} %"
                for j, x in zip(self.arm.joints, self.shares, strict=True)
                if x < 1.0
            )
            of_joints = (
                f"; full gains of independent joints would be unstable: {least} of M_jj" if least else ""
            )
            yield f"stiff: feedback stiffness as a share of w^2 M_jj, at the weakest joint{of_joints}"
        if self.left_out:
            yield f"left out: {'; '.join(self.left_out)}"
        for what, when in (("saturated", "alone"), ("loaded_saturated", "under load")):
            shares = [(row.name, getattr(row, what)) for row in self.rows]
            listed = [f"{name} {100.0 * share:.1f} %" for name, share in shares if share]
            if listed:
                yield f"saturated commands, {when}: {', '.join(listed)}"


@flat(actuators=Actuators, options=ComparisonOptions)
def compare(
    arm: Arm,
    motion: Any = None,
    controllers: Iterable[str | Controller] | None = None,
    *,
    plant: Arm | None = None,
    sensors: Sensors | None = None,
    actuators: Actuators = DIRECT,
    progress: Progress | None = None,
    options: ComparisonOptions = COMPARISON,
) -> Comparison:
    """Compare controllers on one motion. Each runs twice, the second time with an unknown payload. Waters IV.

    All get the same gains; joint gains are reduced by `stable_inertias`.

    Args:
        arm: the controllers' model.
        motion: the reference motion; None: `default_motion` of 2 s, of continuous snap if joints are elastic.
        controllers: names, or controller objects; None: all that suit the arm, the motion and the sensors.
        plant: the simulated arm; None: `arm`.
        sensors: what the controllers measure; None: the full state, including motors behind springs and
            accelerations.
        actuators: how commands reach the plant.
        progress: called before each controller with the number done, the total, and its name.
        options: period, bandwidth and payload.
    """
    true = arm if plant is None else plant
    check_arm(arm, "compare, arm")
    check_arm(true, "compare, plant")
    motion = default_motion(true if is_elastic(true) else arm) if motion is None else motion
    check_motion(arm, motion)
    dac, bandwidth, mass = actuators.dac, options.bandwidth, options.payload
    T = options.period or PERIOD if dac is None else dac.period
    mass = LOAD * sum(body.mass for body in arm.moving.bodies) if mass is None else mass
    sensors = all_of(true, exact_accelerations) if sensors is None else sensors
    check_kind(sensors, Sensors, "compare, sensors")
    setting = setting_for(arm, motion, T, bandwidth, actuators.delay, side=sensors.side)
    reference = setting.reference
    how = {"period": options.period, "sensors": sensors, "actuators": actuators}
    tried = trials(setting, controllers)
    rows: list[Row] = []
    for name, trial in tried:
        if progress is not None:
            progress(len(rows), len(tried), name)
        alone = _run(trial, setting, true, how)
        loaded = alone if mass == 0.0 else _run(trial, setting, true.with_payload(mass), how)
        rows.append(_row(name, trial, alone, loaded))
    shares = tuple(float(x) for x in setting.shares)
    missing = left_out(setting) if controllers is None else {}
    return Comparison(
        arm,
        float(reference.t[-1]),
        T,
        bandwidth,
        mass,
        shares,
        _beyond(arm, reference),
        tuple(rows),
        tuple(f"{name} {why}" for name, why in missing.items()),
    )


def _beyond(arm: Arm, reference: Reference) -> tuple[str, ...]:
    """Joints that the motion takes beyond their limits."""
    past = behind_limits(arm, reference.q).max(axis=0) > PAST
    return tuple(joint.name for joint, is_past in zip(arm.joints, past, strict=True) if is_past)


def _run(trial: ControllerTrial, setting: Setting, plant: Arm, options: dict[str, Any]) -> Run:
    w = setting.reference
    motion = (
        setting.motion
        if trial.moved is None
        else [np.ascontiguousarray(x[:, trial.moved]) for x in (w.q, w.qd, w.qdd)]
    )
    if not trial.sees_accelerations:
        options = options | {"sensors": replace(options["sensors"], accelerometers=None)}
    return run(trial.arm, trial.controller, motion, plant=trial.alter(plant), **options)


def _row(name: str, trial: ControllerTrial, alone: Run, loaded: Run) -> Row:
    said = "" if loaded.ok else f"under load {loaded.message}"
    said = said if alone.ok else alone.message
    return Row(
        name,
        alone.operations,
        alone.operations_per_second,
        alone.rms,
        alone.largest,
        alone.hand_rms,
        alone.hand_largest,
        float(np.sqrt(np.mean(alone.tau[:-1] ** 2))) if alone.ok else math.nan,
        float(alone.saturated[:-1].mean()),
        loaded.rms,
        loaded.hand_rms,
        float(loaded.saturated[:-1].mean()),
        trial.stiffness,
        "; ".join(filter(None, (said, trial.note))),
    )
