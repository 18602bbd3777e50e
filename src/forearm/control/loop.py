"""The sampled closed loop: read sensors, call the controller, hold its torques or voltages for a period."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm, check_arm
from forearm.control.actuators import DIRECT, METHOD, Actuators, Amplifiers
from forearm.control.controller import Controller, Pair, Sample, check_controller
from forearm.control.hand_force import AppliedForce, HandForce
from forearm.control.options import LOOP, LoopOptions
from forearm.control.reference import Reference, sampled
from forearm.control.sensors import EXACT, Readings, Sensors, all_of
from forearm.errors import InputError, shorten
from forearm.kernels.rollout import Simulator, State
from forearm.records import flat
from forearm.simulation.controlled import Run
from forearm.simulation.fixed import SampledLoop, SimulatedPlant
from forearm.simulation.run import simulation_of
from forearm.simulation.solution import Status
from forearm.simulation.stability import fastest_decay, longest_step, warn_of_long_steps
from forearm.simulation.start import Clock, loaded
from forearm.simulation.track import Track
from forearm.spatial import Floats
from forearm.values import as_finite, check_kind

STEP = 2.5e-4  # s: maximum integration step of the plant,
OF_DECAY = 1.0  # reduced to this share of the time in which a drive brakes its joint,
OF_SWING = 0.25  # and to this phase, rad, of a spring mode, which steps then neither damp nor slow down,
MANY_STEPS = 200  # unless that takes more than this many steps per period: then they are
STABLE = 0.8  # this share of the longest stable step,
MOST_STEPS = 1000  # but never more than this many per period
BEYOND = 1e9  # norm of (q, qd) beyond which a run has diverged


@flat(actuators=Actuators, options=LoopOptions)
def run(
    arm: Arm,
    controller: Controller,
    motion: Any,
    *,
    plant: Arm | None = None,
    sensors: Sensors | None = None,
    actuators: Actuators = DIRECT,
    hand_force: HandForce | None = None,
    options: LoopOptions = LOOP,
) -> Run:
    """Simulate an arm under a controller along a motion, its torques, or the voltages for them, held for a
    period.

    Args:
        arm: the controller's model, whose motors convert its torques to voltages: V = R tau / K + K qd,
            Swartz (11).
        controller: called for torques once per period.
        motion: the reference, with .duration and .at(t), or samples (q, qd, qdd).
        plant: the simulated arm; None: `arm`.
        sensors: what the controller measures; None: the full state, including motors behind springs, except
            accelerations.
        actuators: how commands reach the plant, by default as torques without delay.
        hand_force: external force and moment (6,) at the hand's origin, base axes, constant or a function of
            t, q, qd evaluated once per period; the controller receives it, and `tau` of the result includes
            J^T times it; refused for elastic joints. None: no force.
        options: period, step and initial state.
    """
    plant = arm if plant is None else plant
    sensors = (all_of(plant) if isinstance(plant, Arm) else EXACT) if sensors is None else sensors
    _check_given(arm, plant, controller, sensors)
    T = actuators.period(options.period)
    reference = sampled(arm, motion, T)
    drive = Amplifiers.of(arm, plant, actuators)
    push = None if hand_force is None else AppliedForce.of(plant, hand_force, actuators)
    simulator, (q, qd) = drive.simulator, _start(plant, reference, options)
    h = _step(simulator, q, T) if options.step is None else options.step
    substeps = max(1, math.ceil(T / h - 1e-9))
    warn_of_long_steps(simulator, METHOD, T / substeps, [q], "run")
    state = simulator.at_rest_or_moving(*loaded(simulator, q[None], qd[None]))
    joint_of = simulator.coordinates.joint_of
    track = Track(plant, 0.0, state.q[0], state.qd[0], stops=False, until=None, joint_of=joint_of)
    moved = SimulatedPlant(simulator, track, state, Clock(0.0, T), substeps=substeps, bound=BEYOND)
    told = _Exchange(drive, controller, reference, sensors, actuators.delay, track, push)
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


def _check_given(arm: Arm, plant: Arm, controller: object, sensors: object) -> None:
    for some, name in ((arm, "arm"), (plant, "plant")):
        check_arm(some, f"run, {name}")
    check_controller(controller, "run, controller")
    if plant.n != arm.n:
        raise InputError(
            f"the plant has {plant.n} joints, the controller's model {arm.n}; they must be equal.", "run"
        )
    check_kind(sensors, Sensors, "run, sensors")


def _start(plant: Arm, reference: Reference, options: LoopOptions) -> Pair:
    """The initial state (n,): as given, or that of the motion."""
    pairs = {"q0": (options.q0, reference.q[0]), "qd0": (options.qd0, reference.qd[0])}
    q, qd = (
        as_finite(usual if given is None else given, (plant.n,), f"run, {name}")
        for name, (given, usual) in pairs.items()
    )
    return q, qd


def _step(simulator: Simulator, q: Floats, period: float) -> float:
    """Default integration step of the plant."""
    rate, _ = fastest_decay(simulator.coordinates, simulator.voltage, q)
    if not rate:
        return STEP
    bearable = min(STABLE * longest_step(METHOD, rate), period / MANY_STEPS)
    exact = (OF_SWING if isinstance(rate, complex) else OF_DECAY) / abs(rate)
    return max(min(STEP, max(exact, bearable)), period / MOST_STEPS)


@dataclass(eq=False)
class _Exchange:
    """Exchange between plant and controller, period by period: measurements, commands, inputs."""

    drive: Amplifiers
    controller: Controller
    reference: Reference
    sensors: Sensors
    delay: int
    track: Track
    push: AppliedForce | None

    def __post_init__(self) -> None:
        plant, w, motors = self.drive.plant, self.reference, self.drive.simulator.motors
        self.readings = Readings(self.sensors, plant, motors, float(w.t[1]), len(w.t))
        self.commands, self.requests = np.empty(w.q.shape), np.empty(w.q.shape)
        self.rows = list(zip(w.q, w.qd, w.qdd, strict=True))
        self.shape = (plant.n,)
        self.sees_links = self.sensors.side != "motor"
        self.now: Pair | None = None  # the plant's coordinates and velocities
        self.k = 0  # commands so far
        self.waiting: Floats | None = None  # command that acts one period later
        self.u: Floats | None = None  # input of the machine code
        self.drives: list[Floats] = []  # its part from the drives, if a force acts on the hand

    def ask(self, t: float, state: State) -> Floats:
        """The controller's answer to a state, as input of the machine code."""
        k, drive, (x, xd) = self.k, self.drive, self.now or self._first(state)
        n = self.shape[0]
        told, motor = self.readings.at(k, x, xd)
        qdd = None if self.sensors.accelerometers is None else self._accelerations(x, xd, state)
        force, push = (None, None) if self.push is None else self.push.at(t, x[:n], xd[:n])
        now, ahead = self.rows[k], self.rows[k + 1]
        sample = Sample(k, t, *told, qdd, now, ahead, force, motor, self.sees_links)
        answer = self.controller.command(sample)
        _check(answer, self.shape, is_first=k == 0)
        self.commands[k], self.k = answer, k + 1
        command: Floats = self.commands[k]  # the controller may reuse its array
        if not math.isfinite(sum(command.tolist())) and not np.isfinite(command).all():
            self._refuse(t, command)
            return command
        request = drive.asking(command, told[1] if motor is None else motor[1])
        if self.delay:  # the first command, known before the start, acts twice
            request, self.waiting = request if self.waiting is None else self.waiting, request
        if drive.believed is not None:
            self.requests[k] = request
        self.u = drive.giving(request)
        if push is not None:
            self.drives.append(self.u)
            self.u = self.u + push
        return self.u

    def fields(self, state: State, given: Floats) -> dict[str, Any]:
        """Fields of a `Run` that ended in a state, after these inputs (m, n) for its periods."""
        T, m, w = len(self.track), len(given), self.reference
        _, x, xd = self.track.samples()
        if self.k < T:  # the end is measured too, but nothing is commanded there
            self.readings.at(self.k, state.q[0], state.qd[0])
            self.commands[self.k] = self.commands[self.k - 1]
        late = (
            np.concatenate([self.commands[:1], self.commands[: m - 1]]) if self.delay else self.commands[:m]
        )
        requests = late if self.drive.believed is None else self.requests[:m]
        given = given if self.push is None else np.array(self.drives[:m])
        short = self.drive.is_short(late, requests, given, xd[:m])
        measured, motors = self.readings.all(x, xd)
        return {
            "wanted": (w.q[:T], w.qd[:T], w.qdd[:T]),
            "measured": measured,
            "measured_motor": motors,
            "asked": self.commands[:T],
            "saturated": short if m == T else np.concatenate([short, short[-1:]]),
        }

    def _first(self, state: State) -> Pair:
        """Coordinates and velocities (m,) of the state, as views."""
        self.now = state.q[0], state.qd[0]
        return self.now

    def _accelerations(self, x: Floats, xd: Floats, state: State) -> Floats:
        """Accelerations as measured by accelerometers on the links; before the first command the brakes are
        engaged.
        """
        assert self.sensors.accelerometers is not None
        (n,), true = self.shape, np.zeros(len(x))
        if self.u is not None:
            ways = state.friction_sign[0], state.is_free[0], state.contact[0]
            true = self.drive.simulator.accelerations(x, xd, self.u, *ways)
        return self.sensors.accelerometers(x[:n].copy(), xd[:n].copy(), true[:n])

    def _refuse(self, t: float, command: Floats) -> None:
        joint = self.drive.plant.joints[int(np.argmin(np.isfinite(command)))].name
        text = f"the controller commanded a non-finite torque at {t:.6g} s"
        self.track.end(t, Status.DIVERGED, "diverged", joint, text, text)


def _check(command: Any, shape: tuple[int], is_first: bool) -> None:
    """Check the shape at every sample, and that values are finite at the first; later ones end the run with a
    message.
    """
    is_array = isinstance(command, np.ndarray) and command.shape == shape and command.dtype.kind in "fiu"
    if not is_array or (is_first and not np.isfinite(command).all()):
        raise InputError(
            f"expected {shape[0]} finite torques, ({shape[0]},), from the controller, got "
            f"{shorten(command)}.",
            "run",
        )
