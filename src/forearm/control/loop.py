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
from forearm.drives.motor import DAC, Constants, constants_of
from forearm.errors import InputError, shorten
from forearm.kernels.rollout import Simulator, State
from forearm.kinematics.arguments import states_of
from forearm.simulation.clock import Clock
from forearm.simulation.controlled import Run
from forearm.simulation.converter import Converter, converter_of
from forearm.simulation.fixed import Plant, SampledLoop
from forearm.simulation.machine import simulator_of
from forearm.simulation.run import simulation_of
from forearm.simulation.solution import Status
from forearm.simulation.stability import fastest_decay, longest_step, warn_of_long_steps
from forearm.simulation.track import Track
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
    for some, name in ((arm, "arm"), (plant, "plant")):
        check_kind(some, Arm, f"run, {name}")
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
    simulator = drive.simulator
    track = Track(plant, 0.0, start[0], start[1], stops=False, until=None)
    state = simulator.at_rest_or_moving(start[0][None], start[1][None])
    told = _Told(drive, controller, reference, Sensors() if sensors is None else sensors, delay, track)
    moved = Plant(simulator, track, state, Clock(0.0, T), substeps=substeps, bound=BEYOND)
    loop = SampledLoop(moved, told.ask)
    controller.reset()
    loop.run(len(reference.t) - 1)
    given = loop.rows()
    volts = given if drive.believed is None else drive.bounded(given)
    course = moved.course(lambda: volts)
    return simulation_of(
        course,
        Run,
        arm=plant,
        method=METHOD,
        step=T / substeps,
        controller=controller.name,
        period=T,
        operations=float(controller.operations),
        **told.fields(moved.state, given[: len(loop.answers)]),
    )


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

    def bounded(self, given: Floats) -> Floats:
        """Voltages as the plant's motors take them, (m, n)."""
        most = constants_of(self.plant).most_voltage
        return np.clip(given, -most, most)

    def is_short(self, commands: Floats, asked: Floats, given: Floats, qd: Floats) -> NDArray[np.bool_]:
        """Where less was given than asked for at the start of each period, (m, n)."""
        if self.believed is None:
            return np.asarray(np.abs(asked - given) > 0.0)
        c = constants_of(self.plant)
        over = (np.abs(commands) > self.allowed) | (np.abs(given) > c.most_voltage)
        over |= np.abs((self.bounded(given) - c.K * qd) / c.R) > c.most_current
        if self.converter is not None:
            over |= self.converter.out(asked)[1]
        return over


class _Told:
    """What passes between plant and controller, period after period: measured, asked for, given."""

    def __init__(
        self,
        drive: _Drive,
        controller: Controller,
        reference: Reference,
        sensors: Sensors,
        delay: int,
        track: Track,
    ) -> None:
        self.drive, self.controller, self.reference, self.track = drive, controller, reference, track
        self.sensors, self.delay = sensors, delay
        self.is_exact = sensors.encoder is None and sensors.tachometer is None and not sensors.differences
        self.reader = sensors.reader(drive.plant, float(reference.t[1]))
        self.q, self.qd = np.empty(reference.q.shape), np.empty(reference.q.shape)  # measured
        self.commands, self.requests = np.empty(reference.q.shape), np.empty(reference.q.shape)
        self.rows = list(zip(reference.q, reference.qd, reference.qdd, strict=True))
        self.shape = (drive.plant.n,)
        self.k = 0  # commands so far
        self.waiting: Floats | None = None  # what was asked for and acts a period later
        self.u: Floats | None = None  # what the machine code has

    def ask(self, t: float, state: State) -> Floats:
        """What the controller makes of a state, as the machine code takes it."""
        k, drive, q, qd = self.k, self.drive, state.q[0], state.qd[0]
        told = self.reader.read(q, qd)
        if not self.is_exact:
            self.q[k], self.qd[k] = told
        qdd = None if self.sensors.accelerometers is None else self._accelerations(q, qd, state)
        command = self.controller.command(Sample.quickly(k, t, *told, qdd, self.rows[k], self.rows[k + 1]))
        _check(command, self.shape, is_first=k == 0)
        self.commands[k], self.k = command, k + 1
        if not math.isfinite(sum(command.tolist())) and not np.isfinite(command).all():
            self._refuse(t, command)
            return command
        request = drive.asking(command, told[1])
        if self.delay:  # the first command, which is known before the start, acts twice
            request, self.waiting = request if self.waiting is None else self.waiting, request
        if drive.believed is not None:
            self.requests[k] = request
        self.u = drive.giving(request)
        return self.u

    def fields(self, state: State, given: Floats) -> dict[str, Any]:
        """Of a `Run` that ended in a state, after these inputs (m, n) to its periods."""
        T, m, w = len(self.track), len(given), self.reference
        _, q, qd = self.track.samples()
        if self.k < T:  # the end is measured too, but nothing is commanded there
            self.q[self.k], self.qd[self.k] = self.reader.read(state.q[0], state.qd[0])
            self.commands[self.k] = self.commands[self.k - 1]
        late = (
            np.concatenate([self.commands[:1], self.commands[: m - 1]]) if self.delay else self.commands[:m]
        )
        requests = late if self.drive.believed is None else self.requests[:m]
        short = self.drive.is_short(late, requests, given, qd[:m])
        return {
            "wanted": (w.q[:T], w.qd[:T], w.qdd[:T]),
            "measured": (q, qd) if self.is_exact else (self.q[:T], self.qd[:T]),
            "asked": self.commands[:T],
            "saturated": short if m == T else np.concatenate([short, short[-1:]]),
        }

    def _accelerations(self, q: Floats, qd: Floats, state: State) -> Floats:
        """As accelerometers tell them; before the first command the brakes are on."""
        assert self.sensors.accelerometers is not None
        true = (
            np.zeros(len(q))
            if self.u is None
            else self.drive.simulator.accelerations(q, qd, self.u, state.way[0], state.free[0])
        )
        return self.sensors.accelerometers(q.copy(), qd.copy(), true)

    def _refuse(self, t: float, command: Floats) -> None:
        joint = self.drive.plant.joints[int(np.argmin(np.isfinite(command)))].name
        text = f"the controller asked for a torque that is no finite number at {t:.6g} s"
        self.track.end(t, Status.DIVERGED, "diverged", joint, text, text)


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


def _check(command: Any, shape: tuple[int], is_first: bool) -> None:
    """Numbers in a shape that fits at every sample, finite ones at the first;
    later ones end the run with a message.
    """
    is_array = isinstance(command, np.ndarray) and command.shape == shape and command.dtype.kind in "fiu"
    if not is_array or (is_first and not np.isfinite(command).all()):
        raise InputError(
            f"run: expected {shape[0]} finite torques, ({shape[0]},), from the controller, got "
            f"{shorten(command)}."
        )
