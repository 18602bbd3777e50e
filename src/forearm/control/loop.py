"""The closed loop, sampled: sensors are read, the controller is asked, its torques or voltages
are held for a period.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Controller, Sample, most_torques
from forearm.control.reference import Reference, sampled
from forearm.control.sensors import Sensors
from forearm.drives.motor import DAC, Constants, constants_of, torque_of
from forearm.errors import InputError, shorten
from forearm.kernels.rollout import Simulator, State
from forearm.kinematics.arguments import states_of
from forearm.simulation.converter import Converter, converter_of
from forearm.simulation.machine import kernel_of, simulator_of
from forearm.simulation.stability import fastest_decay, longest_step, warn_of_long_steps
from forearm.simulation.windings import has_inductance
from forearm.values import check_kind, check_number, check_whole

Floats = NDArray[np.float64]
STEP = 2.5e-4  # s: the plant is integrated in steps no longer than that,
OF_DECAY = 1.0  # nor than this share of the time in which a drive brakes its joint,
MANY_STEPS = 200  # unless that takes more than so many a period: then they are
STABLE = 0.8  # of the longest that do not grow,
MOST_STEPS = 1000  # but in no case more than so many
METHOD = "rk4"
BEYOND = 1e9  # a run has diverged whose positions and velocities are longer than that as one vector


@dataclass(frozen=True, eq=False)
class Run:
    """A motion under control: samples t (m + 1,), q, qd and error, (m + 1, n);
    tau at the start of each period, (m, n).

    `asked` (m, n) is what the controller wanted, `voltage` what the motors got where voltages drive,
    `saturated` (m, n) where less was given than asked for. A run that diverged has NaN from there on, and
    its `message` says when.
    """

    plant: Arm
    controller: str
    period: float
    t: Floats
    q: Floats
    qd: Floats
    tau: Floats
    asked: Floats
    voltage: Floats | None
    saturated: NDArray[np.bool_]
    wanted: tuple[Floats, Floats, Floats]
    operations: float
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run did not diverge."""
        return not self.message

    @cached_property
    def error(self) -> Floats:
        """Wanted - reached, (m + 1, n)."""
        return self.wanted[0] - self.q

    @cached_property
    def hand_error(self) -> Floats:
        """The distance of the hand from where it should be, (m + 1,), m."""
        kernel = kernel_of(self.plant)
        there, here = (
            kernel.forward_kinematics(np.ascontiguousarray(q))[:, :3, 3] for q in (self.wanted[0], self.q)
        )
        return np.asarray(np.linalg.norm(there - here, axis=1))

    @property
    def rms(self) -> float:
        """Of all joints at all samples, rad (m); NaN where the run diverged."""
        return float(np.sqrt(np.mean(self.error**2)))

    @property
    def largest(self) -> float:
        """The largest error of any joint, rad (m)."""
        return float(np.max(np.abs(self.error)))

    @property
    def hand_rms(self) -> float:
        """In m."""
        return float(np.sqrt(np.mean(self.hand_error**2)))

    @property
    def hand_largest(self) -> float:
        """In m."""
        return float(np.max(self.hand_error))

    @property
    def operations_per_second(self) -> float:
        """Multiplications and additions that the controller takes."""
        return self.operations / self.period


def run(
    arm: Arm,
    controller: Controller,
    motion: Any,
    *,
    period: float | None = None,
    plant: Arm | None = None,
    sensors: Sensors | None = None,
    delay: int = 0,
    dac: DAC | None = None,
    voltage: bool = False,
    step: float | None = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
) -> Run:
    """An arm under a controller along a motion: torques held for a period (1 ms),
    or voltages where a `dac` or `voltage` asks.

    `arm` is what the controller believes, whose motors make voltages of its torques: V = R tau / K + K qd,
    Swartz (11); `plant` what is moved, by default the same. It begins on the motion unless q0, qd0 (n,)
    are given. With a `delay` of 1 a command acts a period after its sample was taken. The plant is
    integrated by fourth-order steps of `step` s or a little less; by default 0.25 ms, or what a drive
    needs that brakes its joint sooner.
    """
    plant = arm if plant is None else plant
    for given, name in ((arm, "arm"), (plant, "plant")):
        check_kind(given, Arm, f"run, {name}")
    if not all(hasattr(controller, name) for name in ("name", "operations", "reset", "command")):
        raise InputError(
            "run: a controller must have name, operations, reset() and command(sample), got "
            f"{shorten(controller)}."
        )
    if plant.n != arm.n:
        raise InputError(
            f"run: the plant has {plant.n} joints, the arm that the controller believes in {arm.n}."
        )
    check_whole(delay, "run, delay, in periods", 0, 1)
    check_kind(sensors, (Sensors, type(None)), "run, sensors")
    check_kind(dac, (DAC, type(None)), "run, dac")
    T = _period(period, dac)
    reference = sampled(arm, motion, T)
    drive = _Drive.of(arm, plant, dac, voltage)
    start = states_of(
        plant, q0=reference.q[0] if q0 is None else q0, qd0=reference.qd[0] if qd0 is None else qd0
    )
    if start[0].ndim != 1 or not all(np.isfinite(x).all() for x in start):
        raise InputError(f"run: expected one state of finite numbers, ({arm.n},), to begin with.")
    by_voltage = voltage or dac is not None
    h = _step(plant, start[0], by_voltage, T) if step is None else check_number(step, "run, step", above=0.0)
    substeps = max(1, math.ceil(T / h - 1e-9))
    warn_of_long_steps(plant, by_voltage, METHOD, T / substeps, [start[0]], "run")
    loop = _Loop(drive, controller, reference, Sensors() if sensors is None else sensors, delay, T, substeps)
    return loop.run(*start)


def _step(plant: Arm, q: Floats, by_voltage: bool, period: float) -> float:
    """How long steps of the plant are unless they are given."""
    rate, _ = fastest_decay(plant, q, by_voltage)
    if not rate:
        return STEP
    bearable = min(STABLE * longest_step(METHOD, rate), period / MANY_STEPS)
    return max(min(STEP, max(OF_DECAY / rate, bearable)), period / MOST_STEPS)


@dataclass(frozen=True, eq=False)
class _Drive:
    """From a torque that is asked for to what the machine code of the plant takes."""

    plant: Arm
    simulator: Simulator
    believed: Constants | None  # of the motors, where voltages drive
    converter: Converter | None
    most: Floats  # torques, (n,), that the plant's joints bear
    allowed: Floats  # (n,): those that the controller knows of

    @staticmethod
    def of(arm: Arm, plant: Arm, dac: DAC | None, voltage: bool) -> _Drive:
        by_voltage = voltage or dac is not None
        if by_voltage and has_inductance(plant):
            raise InputError(
                f"run: motors of {plant.name!r} have inductance, which steps of fixed length leave out; take "
                "forearm.simulation.without_inductance(arm) for the plant."
            )
        believed = constants_of(arm) if by_voltage else None
        if by_voltage:
            constants_of(plant)
        converter = None if dac is None else converter_of(plant, dac)
        return _Drive(
            plant,
            simulator_of(plant, by_voltage, METHOD),
            believed,
            converter,
            most_torques(plant),
            most_torques(arm),
        )

    @cached_property
    def asking(self) -> Callable[[Floats, Floats], Floats]:
        """What is asked of the converter for a torque, within what the joint bears,
        at a measured velocity.
        """
        if self.believed is None:
            return lambda tau, qd: tau
        share, K = self.believed.R / self.believed.K, self.believed.K
        return lambda tau, qd: share * _within(tau, self.allowed) + K * qd

    @cached_property
    def giving(self) -> Callable[[Floats], Floats]:
        """What comes of it: the converter's steps and bounds, or the largest torques."""
        if self.converter is not None:
            return self.converter.limited
        if self.believed is not None or not np.isfinite(self.most).any():
            return lambda u: u
        return lambda u: _within(u, self.most)

    def outcome(
        self, commands: Floats, asked: Floats, given: Floats, qd: Floats
    ) -> tuple[Floats, Floats | None, NDArray[np.bool_]]:
        """Torques at the start of each period, voltages, and where less was given than
        asked for, (m, n) each.
        """
        if self.believed is None:
            return given, None, np.asarray(np.abs(asked - given) > 0.0)
        c = constants_of(self.plant)
        voltage = np.clip(given, -c.most_voltage, c.most_voltage)
        over = (np.abs(commands) > self.allowed) | (np.abs(given) > c.most_voltage)
        over |= np.abs((voltage - c.K * qd) / c.R) > c.most_current
        if self.converter is not None:
            over |= self.converter.out(asked)[1]
        return torque_of(self.plant, given, qd), voltage, over


@dataclass(frozen=True, eq=False)
class _Loop:
    """All that stays the same while a run goes on."""

    drive: _Drive
    controller: Controller
    reference: Reference
    sensors: Sensors
    delay: int
    period: float
    substeps: int

    def run(self, q0: Floats, qd0: Floats) -> Run:
        wanted, drive, m = self.reference, self.drive, len(self.reference.t) - 1
        q, qd = (np.full(wanted.q.shape, np.nan) for _ in range(2))
        commands, asked, given = (np.full((m, len(q0)), np.nan) for _ in range(3))
        simulator = drive.simulator
        state = simulator.at_rest_or_moving(q0[None].copy(), qd0[None].copy())
        q[0], qd[0] = q0, qd0
        reader = self.sensors.reader(drive.plant, self.period)
        times, h = wanted.t.tolist(), self.period / self.substeps
        self.controller.reset()
        message, waiting, u = "", None, None
        for k in range(m):
            sample = self._sample(k, times[k], state, reader.read(state.q[0], state.qd[0]), u)
            command = self.controller.command(sample)
            _check(command, drive.plant, is_first=k == 0)
            commands[k] = command
            if not all(map(math.isfinite, command.tolist())):
                message = f"the controller asked for a torque that is no finite number at {times[k]:.6g} s"
                break
            request = drive.asking(command, sample.qd)
            # Under a delay the first command, which is known before the start, acts twice.
            acting, waiting = (
                (request, None) if self.delay == 0 else (request if waiting is None else waiting, request)
            )
            asked[k] = acting
            u = drive.giving(acting)
            given[k] = u
            simulator.run(state, u, self.substeps, h, self.substeps, False)
            if not math.hypot(*state.q[0].tolist(), *state.qd[0].tolist()) < BEYOND:
                message = f"diverged at t = {times[k]:.6g} s; reduce the bandwidth or the sampling period"
                break
            q[k + 1], qd[k + 1] = state.q[0], state.qd[0]
        late = commands if self.delay == 0 else np.concatenate([commands[:1], commands[:-1]])
        tau, volts, over = drive.outcome(late, asked, given, qd[:-1])
        return Run(
            drive.plant,
            self.controller.name,
            self.period,
            wanted.t,
            q,
            qd,
            tau,
            commands,
            volts,
            over,
            (wanted.q, wanted.qd, wanted.qdd),
            float(self.controller.operations),
            message,
        )

    def _sample(
        self, k: int, t: float, state: State, told: tuple[Floats, Floats], u: Floats | None
    ) -> Sample:
        w = self.reference
        qdd = None
        if self.sensors.accelerometers is not None:
            q, qd = state.q[0], state.qd[0]
            # Before the first command the brakes are on.
            true = (
                np.zeros(len(q))
                if u is None
                else self.drive.simulator.accelerations(q, qd, u, state.way[0], state.free[0])
            )
            qdd = self.sensors.accelerometers(q.copy(), qd.copy(), true)
        return Sample(k, t, *told, qdd, (w.q[k], w.qd[k], w.qdd[k]), (w.q[k + 1], w.qd[k + 1], w.qdd[k + 1]))


def _period(period: float | None, dac: DAC | None) -> float:
    """The converter's, or the one that is given."""
    if dac is not None and period is not None and period != dac.period:
        raise InputError(
            f"run: the DAC holds for {dac.period:g} s and the period is {period:g} s; give one of them."
        )
    return check_number(
        dac.period if dac is not None else 1e-3 if period is None else period, "run, period", above=0.0
    )


def _within(tau: Floats, most: Floats) -> Floats:
    return np.minimum(np.maximum(tau, -most), most)


def _check(command: Any, plant: Arm, is_first: bool) -> None:
    """Numbers in a shape that fits at every sample, finite ones at the first;
    later ones end the run with a message.
    """
    is_array = isinstance(command, np.ndarray) and command.shape == (plant.n,) and command.dtype.kind in "fiu"
    if not is_array or (is_first and not np.isfinite(command).all()):
        raise InputError(
            f"run: expected {plant.n} finite torques, ({plant.n},), from the controller, got "
            f"{shorten(command)}."
        )
