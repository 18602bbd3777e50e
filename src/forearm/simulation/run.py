"""`simulate`: the motion of an arm from a state under torques, voltages or a controller."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.records import flat
from forearm.simulation.adaptive_run import adaptive_run
from forearm.simulation.arguments import (
    ACCURACY,
    ENDING,
    RUN,
    SAMPLING,
    Accuracy,
    Ending,
    RunOptions,
    Sampling,
    condition_of,
)
from forearm.simulation.energy_balance import evaluated
from forearm.simulation.fixed import fixed_run
from forearm.simulation.inputs import input_of
from forearm.simulation.machine import simulator_of
from forearm.simulation.methods import ADAPTIVE, FIXED
from forearm.simulation.result import Simulation
from forearm.simulation.start import Setup, beginning, going_on
from forearm.simulation.symplectic import symplectic_run
from forearm.simulation.track import Course, Track, changing_flanks, drive_states, passing_limits, sticking
from forearm.simulation.windings import has_inductance
from forearm.values import check_number

Result = TypeVar("Result", bound=Simulation)


@flat(options=RunOptions, sampling=Sampling, accuracy=Accuracy, ending=Ending)
def simulate(
    arm: Arm,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    options: RunOptions = RUN,
    sampling: Sampling = SAMPLING,
    accuracy: Accuracy = ACCURACY,
    ending: Ending = ENDING,
) -> Simulation:
    """Simulate the motion of an arm from a state under torques, voltages or a controller: at most one of
    them.

    Args:
        arm: the arm.
        q0, qd0: joint coordinates and velocities (n,) at the start; not used with `continued`.
        duration: length of the run, s.
        options: the input, the method and its steps, as a record.
        sampling: the converter that samples and holds the input, and which fixed steps are recorded.
        accuracy: error tolerance of adaptive methods.
        ending: what ends the run early, a joint limit or a condition.
    """
    check_arm(arm, "simulate, arm")
    duration, method = check_number(duration, "simulate, duration", minimum=0.0), options.method
    drive, is_fixed = input_of(arm, options, sampling.dac), method in FIXED
    simulator = simulator_of(
        arm,
        drive.voltage,
        method if is_fixed else "rk4",
        windings=is_fixed and has_inductance(arm),
        is_limited=options.effort_limits,
    )
    start = (
        beginning(arm, simulator, q0, qd0, options.motor0)
        if options.continued is None
        else going_on(arm, simulator, options.continued)
    )
    q, qd, joint_of = start.state.q[0], start.state.qd[0], simulator.coordinates.joint_of
    track = Track(arm, start.t, q, qd, ending.stops, condition_of(ending), joint_of)
    setup = Setup(drive, simulator, start, track, duration, options, sampling.record, accuracy)
    run = fixed_run if is_fixed else adaptive_run if method in ADAPTIVE else symplectic_run
    step = None if method in ADAPTIVE else options.step
    return simulation_of(run(setup), Simulation, arm=arm, method=method, step=step)


def simulation_of(course: Course, kind: type[Result], **fields: Any) -> Result:
    """The result of a run, with further `fields` of its kind; expensive fields are computed on demand."""
    track, simulator, n = course.track, course.simulator, course.simulator.arm.n
    events = [*track.events, *sticking(simulator, course.t, course.qd)]
    events += changing_flanks(simulator, course.t, course.q, course.qd)
    if not track.stops:  # where a limit ends the run, that is the event
        events += passing_limits(simulator, course.t, course.q)
    found = kind.of_motion(
        evaluated(course),
        t=course.t,
        q=np.ascontiguousarray(course.q[:, :n]),
        qd=np.ascontiguousarray(course.qd[:, :n]),
        drives=drive_states(course),
        events=tuple(sorted(events, key=lambda event: event.t)),
        message=track.message,
        status=track.status,
        checkpoint=course.checkpoint,
        **fields,
    )
    if course.is_asking:  # while the user's function may still be called
        found.energy  # noqa: B018
    return found
