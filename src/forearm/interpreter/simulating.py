"""The command `simulate`: its prompts, the run, and the resulting variables."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics.reference import inverse
from forearm.errors import IgnoredWarning, InputError, StepWarning, shorten
from forearm.interpreter.lines import Answers, whole_number
from forearm.interpreter.session import Session
from forearm.interpreter.sets import plain
from forearm.interpreter.variables import DIGITS, Variables
from forearm.logs.motion import MotionLog, read_motion_log
from forearm.simulation.arguments import Sampling
from forearm.simulation.joining import joined
from forearm.simulation.machine import simulator_of
from forearm.simulation.result import Simulation
from forearm.simulation.run import simulate
from forearm.simulation.schedule import Schedule
from forearm.simulation.stability import warn_of_long_steps
from forearm.spatial import Floats
from forearm.tables import number

ROWS, SAME = 21, 1e-6  # rows of a motion that are compared, and their largest error, of its largest torque
METHOD, STEP = "rk3", 1e-3  # s. Swartz: third-order Runge-Kutta with a fixed stepsize of 1 millisecond
MOST_STEPS = 1_000_000
ELSEWHERE = ", or method 'radau', with forearm simulate: those of sim are fixed"
NEW = {"new": True, "yes": True, "continue": False, "no": False}
YES_NO = {"yes": True, "no": False}


def simulated(session: Session, answers: Answers) -> tuple[Simulation, Variables]:
    """Prompt, simulate, and return the simulation, joined with the earlier one if it is continued, and the
    variables at its end.
    """
    is_new = answers.choice("New simulation, or continue the last one? (new or continue)", NEW)
    before = None if is_new else _to_go_on(session)
    v = session.variables
    if is_new and answers.choice("Set theta and omega to zero first? (yes or no)", YES_NO):
        zero = np.zeros(v.arm.n)
        v = replace(v, theta=zero, omega=zero).tied()
    drive, steps, file = _drive(answers, v)
    v = _under_its_gravity(session, v, file, is_new) if file else v
    start = 0.0 if before is None else float(before.t[-1])
    duration = _duration(drive, start) if isinstance(drive, Schedule) else STEP * steps
    run = _run(v, drive, duration, before)
    return (run if before is None else joined(before, run)), _at_the_end(v, run, drive)


def _to_go_on(session: Session) -> Simulation:
    """The last simulation, if its final variables were not changed since."""
    before, v = session.run_so_far("simulate, continue"), session.variables
    changed = [
        n
        for n, now, then in (("theta", v.theta, before.q), ("omega", v.omega, before.qd))
        if (now != then[-1]).any()
    ]
    if v.arm != before.arm:
        changed.append("gravity")
    if changed:
        raise InputError(
            f"{' and '.join(changed)} changed since the last simulation, so it cannot be "
            "continued; start a new one.",
            "simulate",
        )
    return before


def _drive(answers: Answers, v: Variables) -> tuple[Floats | Schedule, int, str]:
    """A schedule and its file, or the held input and its number of steps."""
    text = answers.text("Is a voltage schedule file used? (yes, its name, no, or the number of timesteps)")
    if text and "yes".startswith(text.lower()):
        text = answers.text("Name of the voltage schedule file?")
        return _schedule(text, v), 0, text
    if text and "no".startswith(text.lower()):
        text = answers.text("Number of timesteps?")
        return _held(v), _steps(text), ""
    if whole_number(text) is not None:
        return _held(v), _steps(text), ""
    if "." not in text and not os.path.exists(text):
        raise InputError(
            f"expected an existing file, or a whole number of timesteps from 1 to {MOST_STEPS}"
            f", got {shorten(text)}. Give a voltage schedule file with its extension, such as "
            "volts.csv.",
            "simulate",
        )
    return _schedule(text, v), 0, text


def _schedule(text: str, v: Variables) -> Schedule:
    """The schedule in a file; for the table of a motion its voltages, or torques if there are no motors."""
    return Schedule.read(plain(text), v.arm, quantity="torque" if v.voltage is None else "voltage")


def _under_its_gravity(session: Session, v: Variables, file: str, is_new: bool) -> Variables:
    """The variables with the gravity of a motion that is replayed: that of the arm file, if the torques in
    its table are those of the arm under it and not under the session's. A gravity that was set stays.
    """
    motion = _motion_in(file, v.arm)
    own = v.arm.replace(gravity=v.file_gravity)
    if motion is None or _is_of(motion, v.arm) or not _is_of(motion, own):
        return v
    gravity = -float(v.file_gravity[2])
    if v.file_gravity[:2].any():
        said, is_used = " along another axis than z; 'forearm simulate' replays it", False
    else:
        is_used = is_new and not session.has_set_gravity
        said = f" = {number(gravity, DIGITS)}, {'used from here on' if is_used else 'unlike here'}"
    session.output.show(f"note: the motion in {file} is one under gravity{said}")
    return v.set("gravity", [gravity]) if is_used else v


def _motion_in(file: str, arm: Arm) -> MotionLog | None:
    """The motion with its torques in a table; None in one that has inputs alone."""
    names = ("q", "qd", "qdd", "tau")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IgnoredWarning)  # the schedule has told them
            log = read_motion_log(file, [joint.name for joint in arm.joints], used=names)
    except InputError:
        return None
    return log if set(names) <= set(log.blocks) else None


def _is_of(motion: MotionLog, arm: Arm) -> bool:
    """Whether the torques of a motion are those of the arm, in most of its rows."""
    rows = np.linspace(0, len(motion.t) - 1, min(len(motion.t), ROWS)).astype(int)
    q, qd, qdd, tau = (motion.blocks[name][rows] for name in ("q", "qd", "qdd", "tau"))
    off = np.abs(inverse(arm, q, qd, qdd) - tau).max(axis=1)
    return bool(np.median(off) <= SAME * np.abs(tau).max())


def _held(v: Variables) -> Floats:
    return v.torque if v.voltage is None else v.voltage


def _steps(text: str) -> int:
    steps = whole_number(text)
    if steps is None or not 1 <= steps <= MOST_STEPS:
        raise InputError(
            f"expected a whole number of timesteps from 1 to {MOST_STEPS}, got {shorten(text)}.", "simulate"
        )
    return steps


def _duration(schedule: Schedule, start: float) -> float:
    end = float(schedule.times[-1])
    if end <= start:
        raise InputError(
            f"the simulation is at {start:g} s, but the schedule ends with its last row at "
            f"{end:g} s; add a later row.",
            "simulate",
        )
    if end - start > MOST_STEPS * STEP:
        raise InputError(
            f"the schedule ends at {end:g} s; at most {MOST_STEPS * STEP:g} s are simulated at a time.",
            "simulate",
        )
    return end - start


def _run(v: Variables, drive: Floats | Schedule, duration: float, before: Simulation | None) -> Simulation:
    is_torque = _is_torque(drive, v)
    if before is None:
        simulator = simulator_of(v.arm, not is_torque, METHOD)
        warn_of_long_steps(simulator, METHOD, STEP, [v.theta], "simulate", ELSEWHERE)
    given = {("torque" if is_torque else "voltage"): drive}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepWarning)  # warned about already, with the applicable remedy
        return simulate(
            v.arm,
            v.theta,
            v.omega,
            duration,
            method=METHOD,
            step=STEP,
            sampling=Sampling(v.dac),
            continued=before,
            **given,
        )


def _is_torque(drive: Floats | Schedule, v: Variables) -> bool:
    """Whether torques are the input: by the schedule's quantity, or because motors are unknown."""
    said = drive.quantity if isinstance(drive, Schedule) else None
    return said == "torque" or (said is None and v.voltage is None)


def _at_the_end(v: Variables, run: Simulation, drive: Floats | Schedule) -> Variables:
    """The variables at the end of the simulation, with the last applied voltage."""
    end = replace(v, theta=run.q[-1].copy(), omega=run.qd[-1].copy(), alpha=run.qdd[-1].copy())
    if _is_torque(drive, v):
        return replace(end, torque=run.tau[-1].copy(), kept="torque").tied()
    assert run.voltage is not None
    last = drive.value(float(run.t[-1])) if isinstance(drive, Schedule) else v.asked
    return replace(end, voltage=run.voltage[-1].copy(), asked=last, kept="voltage").tied()
