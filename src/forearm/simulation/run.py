"""`simulate`: the motion of an arm from a state under torques, voltages or a controller."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.progress import Progress
from forearm.simulation.adaptive_run import adaptive_run
from forearm.simulation.arguments import (
    ACCURACY,
    ENDING,
    SAMPLING,
    Accuracy,
    Ending,
    OldArguments,
    Sampling,
    check_function,
    condition_of,
    with_old,
)
from forearm.simulation.energy_balance import EnergyBalance
from forearm.simulation.fixed import fixed_run
from forearm.simulation.inputs import Controller, Driving, input_of
from forearm.simulation.machine import simulator_of
from forearm.simulation.many import FIXED
from forearm.simulation.methods import METHODS
from forearm.simulation.result import Simulation
from forearm.simulation.start import Setup, beginning, going_on
from forearm.simulation.symplectic import SYMPLECTIC as CONSERVING_TABLEAUS
from forearm.simulation.symplectic import symplectic_run
from forearm.simulation.track import Course, Track, changing_flanks, drive_states, passing_limits, sticking
from forearm.simulation.windings import has_inductance
from forearm.values import check_choice, check_kind, check_number

Floats = NDArray[np.float64]
Result = TypeVar("Result", bound=Simulation)
ADAPTIVE = ("dp45", "dp87", "radau")
SYMPLECTIC = tuple(tableau.name for tableau in CONSERVING_TABLEAUS)
ALL = (*FIXED, *ADAPTIVE, *SYMPLECTIC)
RUNS: dict[str, Callable[[Setup], Course]] = {
    **dict.fromkeys(FIXED, fixed_run),
    **dict.fromkeys(ADAPTIVE, adaptive_run),
    **dict.fromkeys(SYMPLECTIC, symplectic_run),
}


def simulate(
    arm: Arm,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    torque: Driving | None = None,
    voltage: Driving | None = None,
    controller: Controller | None = None,
    method: str = "rk3",
    step: float = 1e-3,
    sampling: Sampling = SAMPLING,
    accuracy: Accuracy = ACCURACY,
    ending: Ending = ENDING,
    continued: Simulation | None = None,
    motor0: tuple[ArrayLike, ArrayLike] | None = None,
    effort_limits: bool = False,
    progress: Progress | None = None,
    **old: Unpack[OldArguments],
) -> Simulation:
    """Simulate the motion of an arm from a state under torques, voltages or a controller: at most one of
    them.

    Args:
        arm: the arm.
        q0, qd0: joint coordinates and velocities (n,) at the start; not used with `continued`.
        duration: length of the run, s.
        torque, voltage: a value (n,), a `Schedule`, or a function of time, in N m (N) or V.
        controller: function of (t, q, qd) that returns torques (n,).
        method: "rk3" (Swartz's), "rk4" and "gill" take fixed steps; "dp45", "dp87" and "radau" (for stiff
            drives) are adaptive; "midpoint" and "gauss4" are symplectic, for arms without input and friction.
        step: size of a fixed or symplectic step, s.
        sampling: the converter that samples and holds the input, and which fixed steps are recorded.
        accuracy: error tolerance of adaptive methods.
        ending: what ends the run early, a joint limit or a condition.
        continued: a simulation to continue from its end as if it had not stopped.
        motor0: positions and speeds of the motors over their gear ratios (n,) each, if joints are elastic;
            None: springs hold the links at q0 against gravity, and motors move with the joints.
        effort_limits: whether motor torques are limited to max_effort of their joints.
        progress: function of (done, total, what), called from time to time; counts seconds of the run.
        **old: fields of `sampling`, `accuracy` and `ending` as separate arguments; deprecated.
    """
    sampling, accuracy, ending = (
        with_old("simulate", old, sampling=sampling, accuracy=accuracy, ending=ending)
        if old
        else (sampling, accuracy, ending)
    )
    check_arm(arm, "simulate, arm")
    check_kind(effort_limits, bool, "simulate, effort_limits")
    check_choice(method, ALL, "simulate, method")
    for record, kind, name in (
        (sampling, Sampling, "sampling"),
        (accuracy, Accuracy, "accuracy"),
        (ending, Ending, "ending"),
    ):
        check_kind(record, kind, f"simulate, {name}")
    drive = input_of(arm, torque, voltage, controller, sampling.dac)
    duration = check_number(duration, "simulate, duration", minimum=0.0)
    step = check_number(step, "simulate, step", above=0.0)
    if progress is not None:
        check_function(progress, "simulate, progress", "(done, total, what)")
    if motor0 is not None and continued is not None:
        raise InputError(
            "with continued= the motors continue from their last state; give only one of the two.",
            "simulate",
            "motor0",
        )
    simulator = simulator_of(
        arm,
        drive.voltage,
        method if method in FIXED else "rk4",
        windings=method in FIXED and has_inductance(arm),
        is_limited=effort_limits,
    )
    start = (
        beginning(arm, simulator, q0, qd0, motor0)
        if continued is None
        else going_on(arm, simulator, continued)
    )
    until = None if ending.until is None else condition_of(ending.until)
    first, joint_of = (start.state.q[0], start.state.qd[0]), simulator.coordinates.joint_of
    track = Track(arm, start.t, *first, ending.stops, until, joint_of)
    setup = Setup(
        arm, method, drive, simulator, start, track, duration, step, sampling.record, accuracy, progress
    )
    course = RUNS[method](setup)
    return simulation_of(
        course, Simulation, arm=arm, method=method, step=None if method in ADAPTIVE else step
    )


def simulation_of(course: Course, kind: type[Result], **fields: Any) -> Result:
    """The result of a run, with further `fields` of its kind; expensive fields are computed on demand."""
    track = course.track

    @cache
    def books() -> EnergyBalance:
        return EnergyBalance(course)

    found = [*track.events, *sticking(course.simulator, course.t, course.qd)]
    found += changing_flanks(course.simulator, course.t, course.q, course.qd)
    if not track.stops:  # where a limit ends the run, that is the event
        found += passing_limits(course.simulator, course.t, course.q)
    events = sorted(found, key=lambda e: e.t)
    made = kind.of_motion(
        lambda name: getattr(books(), name),
        t=course.t,
        q=np.ascontiguousarray(course.q[:, : course.simulator.arm.n]),
        qd=np.ascontiguousarray(course.qd[:, : course.simulator.arm.n]),
        drives=drive_states(course),
        events=tuple(events),
        message=track.message,
        status=track.status,
        checkpoint=course.checkpoint,
        **fields,
    )
    if course.is_asking:
        made.energy  # noqa: B018
    return made


assert set(ALL) <= set(METHODS)
