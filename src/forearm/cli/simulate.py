"""`forearm simulate`: simulate an arm driven by torques, voltages or a controller."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command
from forearm.cli.loading import load
from forearm.cli.loop_options import (
    CHANGES,
    DELAY,
    ERRORS,
    GAINS,
    INERTIAS,
    SAMPLING,
    SENSORS,
    WITH_PERIOD,
    changed_arm,
    converter,
    plant_options,
    read_dac,
)
from forearm.cli.motions import MOTION_HELP, columns_of, read_plan
from forearm.cli.options import ARM, DEGREES, JSON, RIGID, Group, Option, derived, finish, plot, state
from forearm.cli.outputs import PAGES
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_per_joint, read_state
from forearm.cli.terminal import complain
from forearm.drives.motor import constants_of
from forearm.errors import InputError, located, shorten
from forearm.interpreter.listing import energies_at_end, events_listed
from forearm.logs.table import ENDINGS
from forearm.reading.fields import FlagField, NumberField
from forearm.simulation.arguments import Accuracy, Ending, RunOptions, Sampling
from forearm.simulation.controlled import Run
from forearm.simulation.joining import joined
from forearm.simulation.methods import METHODS
from forearm.simulation.npz import load_simulation
from forearm.simulation.result import Simulation
from forearm.simulation.run import simulate
from forearm.simulation.schedule import How, Quantity, Schedule
from forearm.simulation.windings import without_inductance
from forearm.tables import Report, number
from forearm.trajectories.planning import Plan

FLAG, FILE = FlagField(), "FILE"
OF_CONTROLLERS = tuple(option.dest for option in (GAINS, SAMPLING, *SENSORS, DELAY, INERTIAS) + ERRORS[:1])
INPUTS = (
    state("torque", "constant torques (forces), N m (N)"),
    state("voltage", "constant motor voltages, V"),
    Option(
        "--torque-file",
        "torques over time: .csv or .parquet with t, s, and one column per joint, N m (N); - is CSV on "
        "standard input",
        FILE,
    ),
    Option("--voltage-file", "voltages over time, V, in the same format", FILE),
    Option(
        "--plan",
        f"{MOTION_HELP}: the torques that it takes of this arm, computed from q, qd and qdd, are the input "
        "(--torque-file takes those of a table), or a --controller tracks it",
        FILE,
    ),
    Option("--plan-voltage", "the same; the voltages for these torques are the input", FILE),
)
TABLE = (
    Option("--linear", "interpolate linearly between rows of the file, instead of holding", reads=FLAG),
    Option(
        "--columns",
        "map column names, such as angle=q,load=tau (position, effort... are recognised)",
        "THEIRS=OURS,...",
    ),
    Option("--units", "units of the file: rad or deg, and s, ms, us or ns (default: rad,s)", "NAME,..."),
)
FILES = Group(
    "files",
    (
        Option(
            "--to",
            "write the motion: .csv, .parquet, .json, or .npz, which contains everything",
            short="-o",
            endings=(*ENDINGS, ".npz", ".json"),
        ),
        plot("the motion"),
        Option("--html", "write a page that plays it in a browser: .html", endings=PAGES),
    ),
)


def _run(given: argparse.Namespace) -> int:
    _check(given)
    arm = _arm(given)
    if given.controller is None:
        return finish_run(given, _simulated(given, arm))
    with ProgressBar(f"running {given.controller} on {arm.name}"):
        run = _controlled(given, arm)
    return finish_run(given, run)


def _controlled(given: argparse.Namespace, arm: Arm) -> Run:
    from forearm.cli.controlled import controlled

    given.period = given.dac_period or 1e-3 if given.period is None else given.period
    if given.dac_period not in (None, given.period):
        raise InputError(
            "--period and --dac-period: controller and converter share one period; give one of them."
        )
    path = given.plan or given.plan_voltage
    return controlled(given, arm, read_plan(given, arm, path), given.plan_voltage is not None, given.step)


def _simulated(given: argparse.Namespace, arm: Arm) -> Simulation:
    path = vars(given)["continue"]
    before = None if path is None else load_simulation(path, arm)
    drive, motion = _drive(given, arm)
    table = next((x for x in drive.values() if isinstance(x, Schedule)), motion)
    duration = _duration(given, table, 0.0 if before is None else float(before.t[-1]))
    usual = (np.zeros(arm.n),) * 2 if motion is None else (motion.q[0], motion.qd[0])
    q, qd = (
        at if text is None else read_state(arm, text, name, given.degrees)
        for name, text, at in (("q", given.q, usual[0]), ("qd", given.qd, usual[1]))
    )
    with ProgressBar(f"compiling the equations of {arm.name}") as bar:
        run = simulate(
            arm,
            q,
            qd,
            duration,
            **drive,
            dac=read_dac(given, arm),
            continued=before,
            **{name: getattr(given, name) for name in ("record", "rtol", "atol", "stops", "effort_limits")},
            **_method(given, before),
            progress=bar,
        )
    return run if before is None else joined(before, run)


def _arm(given: argparse.Namespace) -> Arm:
    arm = load(given.arm, hand=given.hand)
    arm = without_inductance(arm) if given.no_inductance else arm
    arm = arm.rigid() if given.rigid else arm
    return arm if given.controller is not None else changed_arm(given, arm)


def _check(given: argparse.Namespace) -> None:
    """Refuse impossible requests before the work starts."""
    if given.linear and given.torque_file is None and given.voltage_file is None:
        raise InputError("only for rows of a file; give one by --voltage-file or --torque-file.", "--linear")
    before = vars(given)["continue"]
    if before is not None and (given.q is not None or given.qd is not None):
        raise InputError(
            "it continues from the end state of the other simulation; leave --q and --qd out.", "--continue"
        )
    has_plan = given.plan is not None or given.plan_voltage is not None
    if given.controller is not None:
        if not has_plan:
            raise InputError("it needs a motion; give it by --plan FILE.", "--controller")
        for name in ("q", "qd", "continue", "duration", "method"):
            if getattr(given, name) is not None:
                raise InputError(
                    "a controller follows the plan from its start to its end; leave it out.", f"--{name}"
                )
    elif given.duration is None and not (has_plan or given.torque_file or given.voltage_file):
        raise InputError(
            "required without a --plan or a file of inputs, but not given. See 'forearm simulate --help'.",
            "--duration",
        )
    else:
        for name in OF_CONTROLLERS:
            if value := getattr(given, name):
                got = f", got {shorten(value)}" if isinstance(value, str) else ""
                raise InputError(
                    f"only for a controller; give one by --controller{got}.", f"--{name.replace('_', '-')}"
                )


def _drive(given: argparse.Namespace, arm: Arm) -> tuple[dict[str, Any], Plan | None]:
    """What drives the arm, as keyword arguments, and the plan that it is from; nothing is zero torque."""
    option = next((option for option in INPUTS if getattr(given, option.dest) is not None), None)
    if option is None:
        return {}, None
    drive, motion = _read_drive(given, arm, option.dest)
    if "voltage" in drive:
        with located(option.name):
            constants_of(arm)  # raises an error that names joints without them
    return drive, motion


def _read_drive(given: argparse.Namespace, arm: Arm, name: str) -> tuple[dict[str, Any], Plan | None]:
    """The same from the option of this name."""
    value = getattr(given, name)
    if name in ("plan", "plan_voltage"):
        motion: Plan = read_plan(given, arm, value)
        return {"torque" if name == "plan" else "voltage": motion}, motion
    if name.endswith("_file"):
        how: How = "linear" if given.linear else "hold"
        quantity: Quantity = "torque" if name == "torque_file" else "voltage"
        return {quantity: Schedule.read(value, arm, how, quantity, columns_of(given))}, None
    return {name: read_per_joint(arm, value, name)}, None


def _duration(given: argparse.Namespace, inputs: Schedule | Plan | None, start: float) -> float:
    """As given, or that of the plan, or from the start to the last row of the file."""
    if given.duration is not None:
        return float(given.duration)
    if not isinstance(inputs, Schedule):
        return 0.0 if inputs is None else inputs.duration
    end = float(inputs.times[-1])
    if end <= start:
        raise InputError(
            f"the last row of the file is at {end:g} s, the simulation begins at {start:g} s; "
            "add a later row, or give the duration.",
            "--duration",
        )
    return end - start


def _method(given: argparse.Namespace, before: Simulation | None) -> dict[str, Any]:
    """Method and step: as given, or those of the simulation that is continued, or Swartz's."""
    usual = (
        ("rk3", 1e-3)
        if before is None or before.method not in METHODS
        else (before.method, before.step or 1e-3)
    )
    return {"method": given.method or usual[0], "step": usual[1] if given.step is None else given.step}


def finish_run(given: argparse.Namespace, run: Simulation) -> int:
    """Write the files of --to, --plot and --html; how it ended, as a table and sentences, or as JSON."""
    if not run.ok:
        complain(f"{run.message}: {run.status.value}.")
    rows = [
        [joint.name, *(number(float(x)) for x in values), "rad, N m" if joint.kind == "revolute" else "m, N"]
        for joint, *values in zip(
            run.arm.joints, run.q[-1], run.qd[-1], run.qdd[-1], run.tau[-1], strict=True
        )
    ]
    step = "" if run.step is None else f" in steps of {number(run.step)} s"
    at = (
        f"{run.arm.name} at {number(float(run.t[-1]))} s, by {run.method}{step}, {len(run.t)} "
        f"samples: {run.message}"
    )
    table = Report(["joint", "q", "qd", "qdd", "tau", "unit"], rows)
    said = [*_tracking(run), *energies_at_end(run).splitlines(), *events_listed(run)]
    report = Report(before=[at], parts=[table, Report(after=said, under="    ")])
    finish(given, report, _document(run), {"to": run.save, "plot": run.plot, "html": run.to_html})
    return 0 if run.ok else 1


def _tracking(run: Simulation) -> list[str]:
    if not isinstance(run, Run):
        return []
    from forearm.cli.controlled import tracking

    return [f"under {run.controller}, sampled every {number(1e3 * run.period)} ms", *tracking(run)]


def _document(run: Simulation) -> dict[str, Any]:
    last = {name: getattr(run, name)[-1] for name in ("t", "q", "qd", "qdd", "tau")}
    blocks = ("energy", "lost", "drives")
    document = {
        "name": run.arm.name,
        "method": run.method,
        "step": run.step,
        "rows": len(run.t),
        **last,
        "voltage": None if run.voltage is None else run.voltage[-1],
        **{name: {key: x[-1] for key, x in getattr(run, name).items()} for name in blocks},
        "events": [{"t": e.t, "kind": e.kind, "joint": e.joint, "text": e.text} for e in run.events],
        "status": run.status.name.lower(),
        "message": run.message,
    }
    if isinstance(run, Run):
        from forearm.cli.controlled import tracking_document

        document |= tracking_document(run)
    return document


COMMAND = Command(
    "forearm simulate puma560 --duration 2 --q 0,0.8,-1.6,0,0.5,0 --to motion.csv --html motion.html\n"
    "forearm simulate cmu-dd --duration 1 --voltage 0,9,0,4,0,0 --method dp45 --plot motion.png\n"
    "forearm simulate panda --plan plan.csv --controller computed_torque --encoder-bits 16 --to run.npz",
    (
        *ARM,
        Option(
            "--duration",
            "duration, s, at least 0 (default: the plan's, or to the last row of the file)",
            reads=NumberField(minimum=0.0, unit="s"),
        ),
        state("q", "initial joint positions, rad (m) (default: zero)", "q0"),
        state("qd", "initial joint velocities, rad/s (m/s) (default: zero)", "qd0"),
        DEGREES,
        Option(
            "--continue", "continue from the end of a simulation saved as .npz", FILE, keyword="continued"
        ),
        RIGID,
        Option(
            "--no-inductance", "ignore motor inductance: currents follow the voltages at once", reads=FLAG
        ),
        JSON,
        Group("input (default: none)", INPUTS, exclusive=True),
        Group("rows of a file", TABLE),
        converter(WITH_PERIOD),
        Group(
            "a controller, with --plan",
            (
                Option(
                    "--controller", "such as computed_torque; 'forearm control compare' lists all", "NAME"
                ),
                replace(SAMPLING, default=None),
                GAINS,
                INERTIAS,
                DELAY,
                *SENSORS,
            ),
        ),
        Group("the simulated arm", (*plant_options("none"), *CHANGES)),
        Group(
            "integration",
            (
                *derived(
                    RunOptions,
                    "method",
                    "step",
                    "effort_limits",
                    method={"default": None},
                    step={"default": None},
                ),
                *derived(Accuracy),
                *derived(Sampling, "record"),
                *derived(Ending, "stops"),
            ),
        ),
        FILES,
    ),
    _run,
)
