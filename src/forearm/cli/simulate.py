"""`forearm simulate`: simulate an arm driven by torques, voltages or a controller."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, add_rigid, complain, group, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.loop_options import (
    add_bandwidth,
    add_changes,
    add_dac,
    add_delay,
    add_inertias,
    add_plant,
    add_sensors,
    changed_arm,
    read_dac,
)
from forearm.cli.motions import MOTION_HELP, add_columns, columns_of, read_plan
from forearm.cli.numbers import NOT_NEGATIVE, POSITIVE, Real, Whole
from forearm.cli.outputs import add_plot, check_output, check_page, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_per_joint, read_state
from forearm.cli.terminal import show
from forearm.errors import InputError, shorten
from forearm.interpreter.listing import energies_at_end, events_listed
from forearm.logs.table import ENDINGS
from forearm.simulation.arguments import Accuracy, Ending, Sampling
from forearm.simulation.controlled import Run
from forearm.simulation.joining import joined
from forearm.simulation.npz import load_simulation
from forearm.simulation.result import Simulation
from forearm.simulation.run import ALL as METHODS
from forearm.simulation.run import simulate
from forearm.simulation.schedule import How, Quantity, Schedule
from forearm.simulation.windings import without_inductance
from forearm.tables import Report, number
from forearm.trajectories.planning import Plan

DRIVES = ("torque", "voltage", "torque_file", "voltage_file", "plan", "plan_voltage")
OF_CONTROLLERS = (
    "bandwidth",
    "period",
    "encoder_bits",
    "sensor_side",
    "tachometer_bits",
    "tachometer_range",
    "accelerometer_step",
    "lever",
    "differences",
    "delay",
    "error",
    "inertias",
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--duration",
        type=NOT_NEGATIVE,
        metavar="S",
        help="duration, s, at least 0 (default: the plan's, or to the last row of the file)",
    )
    for name, what in (("q", "positions, rad (m)"), ("qd", "velocities, rad/s (m/s)")):
        add_state(parser, name, f"initial joint {what} (default: zero)")
    parser.add_argument(
        "--continue",
        dest="before",
        metavar="FILE",
        help="continue from the end of a simulation saved as .npz",
    )
    add_rigid(parser)
    parser.add_argument(
        "--no-inductance",
        action="store_true",
        help="ignore motor inductance: currents follow the voltages at once",
    )
    add_json(parser)
    _add_input(parser)
    _add_loop(parser)
    _add_integration(parser)
    add_files(parser)


def _add_input(parser: argparse.ArgumentParser) -> None:
    """What drives the arm."""
    inputs = group(parser, "input (default: none)")
    drive = inputs.add_mutually_exclusive_group()
    drive.add_argument(
        "--torque", metavar="A,B,...", help="constant torques (forces), N m (N); one value per joint"
    )
    drive.add_argument("--voltage", metavar="A,B,...", help="constant motor voltages, V; one value per joint")
    drive.add_argument(
        "--torque-file",
        metavar="FILE",
        help=(
            "torques over time: .csv or .parquet with t, s, and one column per joint, N m (N); - "
            "is CSV on standard input"
        ),
    )
    drive.add_argument("--voltage-file", metavar="FILE", help="voltages over time, V, in the same format")
    drive.add_argument(
        "--plan",
        metavar="FILE",
        help=(
            f"{MOTION_HELP}: the torques that it takes of this arm, computed from q, qd and qdd, are the "
            "input (--torque-file takes those of a table), or a --controller tracks it"
        ),
    )
    drive.add_argument(
        "--plan-voltage", metavar="FILE", help="the same; the voltages for these torques are the input"
    )
    inputs.add_argument(
        "--linear",
        action="store_true",
        help="interpolate linearly between rows of the file, instead of holding",
    )
    add_columns(inputs)
    add_dac(parser)


def _add_loop(parser: argparse.ArgumentParser) -> None:
    """A controller, and effects it does not model."""
    loop = group(parser, "a controller, with --plan")
    loop.add_argument(
        "--controller", metavar="NAME", help="such as computed_torque; 'forearm control compare' lists all"
    )
    loop.add_argument(
        "--period", type=POSITIVE, metavar="S", help="sampling period, s, above 0 (default: 0.001)"
    )
    add_bandwidth(loop)
    add_inertias(loop)
    add_delay(loop)
    add_sensors(loop)
    changes = group(parser, "the simulated arm")
    add_plant(changes, "none")
    add_changes(changes)


def _add_integration(parser: argparse.ArgumentParser) -> None:
    """Method, steps and tolerances."""
    how = group(parser, "integration")
    how.add_argument("--method", metavar="NAME", help=names_of(METHODS, "rk3"))
    how.add_argument(
        "--step",
        type=POSITIVE,
        metavar="S",
        help="step of rk3, rk4, gill, midpoint, gauss4, s, above 0 (default: 0.001)",
    )
    how.add_argument(
        "--rtol",
        type=Real(least=1e-14, most=0.1),
        default=1e-6,
        metavar="X",
        help="relative error per step of dp45, dp87, radau, 1e-14 to 0.1 (default: 1e-6)",
    )
    how.add_argument(
        "--atol",
        type=POSITIVE,
        default=1e-9,
        metavar="X",
        help="absolute error per step of the same, rad (m), above 0 (default: 1e-9)",
    )
    how.add_argument(
        "--record",
        type=Whole(1),
        default=1,
        metavar="N",
        help="record every N-th step, N from 1 (default: 1)",
    )
    how.add_argument("--stops", action="store_true", help="stop when a joint reaches its limit")
    how.add_argument(
        "--effort-limits", action="store_true", help="limit motor torques to max_effort of their joints"
    )


def add_files(parser: argparse.ArgumentParser) -> None:
    """Output of a simulation."""
    files = group(parser, "files")
    files.add_argument(
        "--to",
        "-o",
        dest="target",
        metavar="FILE",
        help="write the motion: .csv, .parquet, .json, or .npz, which contains everything",
    )
    add_plot(files, "the motion")
    files.add_argument("--html", metavar="FILE", help="write a page that plays it in a browser: .html")


def _run(given: argparse.Namespace) -> int:
    _check(given)
    arm = _arm(given)
    if given.controller is not None:
        with ProgressBar(f"running {given.controller} on {arm.name}"):
            whole: Simulation = _controlled(given, arm)
    else:
        whole = _simulated(given, arm)
    with ProgressBar("writing files"):
        write_files(given, whole)
    tell(given, whole)
    return 0 if whole.ok else 1


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
    before = None if given.before is None else load_simulation(given.before, arm)
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
            sampling=Sampling(read_dac(given, arm), given.record),
            accuracy=Accuracy(given.rtol, given.atol),
            ending=Ending(given.stops),
            continued=before,
            effort_limits=given.effort_limits,
            **_method(given, before),
            progress=bar,
        )
    return run if before is None else joined(before, run)


def _arm(given: argparse.Namespace) -> Arm:
    arm = load(given.arm, hand=given.hand)
    arm = without_inductance(arm) if given.no_inductance else arm
    arm = arm.rigid() if given.rigid else arm
    return arm if given.controller is not None else changed_arm(given, arm)


def check_files(given: argparse.Namespace) -> None:
    """Refuse files that could not be written."""
    check_output("--to", given.target, (*ENDINGS, ".npz", ".json"))
    check_picture("--plot", given.plot)
    check_page("--html", given.html)


def _check(given: argparse.Namespace) -> None:
    """Refuse impossible requests before the work starts."""
    if given.linear and given.torque_file is None and given.voltage_file is None:
        raise InputError("only for rows of a file; give one by --voltage-file or --torque-file.", "--linear")
    if given.before is not None and (given.q is not None or given.qd is not None):
        raise InputError(
            "it continues from the end state of the other simulation; leave --q and --qd out.", "--continue"
        )
    has_plan = given.plan is not None or given.plan_voltage is not None
    if given.controller is not None:
        if not has_plan:
            raise InputError("it needs a motion; give it by --plan FILE.", "--controller")
        for name in ("q", "qd", "before", "duration", "method"):
            if getattr(given, name) is not None:
                option = "--continue" if name == "before" else f"--{name}"
                raise InputError(
                    "a controller follows the plan from its start to its end; leave it out.", option
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
    check_files(given)


def _drive(given: argparse.Namespace, arm: Arm) -> tuple[dict[str, Any], Plan | None]:
    """What drives the arm, as keyword arguments, and the plan that it is from; nothing is zero torque."""
    name = next((name for name in DRIVES if getattr(given, name) is not None), None)
    if name is None:
        return {}, None
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


def write_files(given: argparse.Namespace, run: Simulation) -> None:
    """Write the files of --to, --plot and --html."""
    if given.target is not None:
        run.save(given.target)
    if given.plot is not None:
        run.plot(given.plot)
    if given.html is not None:
        run.to_html(given.html)


def tell(given: argparse.Namespace, run: Simulation) -> None:
    """How it ended, as a table and sentences, or as JSON."""
    if not run.ok:
        complain(f"{run.message}: {run.status.value}.")
    if given.json:
        show_json(_document(given, run))
        return
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
    show(Report(before=[at], parts=[table, Report(after=said, under="    ")]))
    tell_written((given.target, given.plot, given.html))


def _tracking(run: Simulation) -> list[str]:
    if not isinstance(run, Run):
        return []
    from forearm.cli.controlled import tracking

    return [f"under {run.controller}, sampled every {number(1e3 * run.period)} ms", *tracking(run)]


def _document(given: argparse.Namespace, run: Simulation) -> dict[str, Any]:
    return {
        "name": run.arm.name,
        "method": run.method,
        "step": run.step,
        "t": run.t[-1],
        "rows": len(run.t),
        "q": run.q[-1],
        "qd": run.qd[-1],
        "qdd": run.qdd[-1],
        "tau": run.tau[-1],
        "voltage": None if run.voltage is None else run.voltage[-1],
        "energy": {name: column[-1] for name, column in run.energy.items()},
        "lost": {name: block[-1] for name, block in run.lost.items()},
        "drives": {name: block[-1] for name, block in run.drives.items()},
        "events": [{"t": e.t, "kind": e.kind, "joint": e.joint, "text": e.text} for e in run.events],
        "status": run.status.name.lower(),
        "message": run.message,
        "to": given.target,
        "plot": given.plot,
        "html": given.html,
    } | (_tracking_document(run) if isinstance(run, Run) else {})


def _tracking_document(run: Run) -> dict[str, Any]:
    from forearm.cli.controlled import tracking_document

    return tracking_document(run)


COMMAND = Command(
    "forearm simulate puma560 --duration 2 --q 0,0.8,-1.6,0,0.5,0 --to motion.csv --html motion.html\n"
    "forearm simulate cmu-dd --duration 1 --voltage 0,9,0,4,0,0 --method dp45 --plot motion.png\n"
    "forearm simulate panda --plan plan.csv --controller computed_torque --encoder-bits 16 --to run.npz",
    _add_arguments,
    _run,
)
