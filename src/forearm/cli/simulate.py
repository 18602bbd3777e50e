"""`forearm simulate`: the motion of an arm over time, driven by torques or voltages."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, add_rigid, complain, group, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.numbers import ANY, NOT_NEGATIVE, POSITIVE, Real, Whole
from forearm.cli.outputs import add_plot, check_output, check_page, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.cli.terminal import show
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.interpreter.listing import energies_at_end, events_listed
from forearm.logs.table import ENDINGS
from forearm.simulation.arguments import Accuracy, Ending, Sampling
from forearm.simulation.joining import joined
from forearm.simulation.npz import load_simulation
from forearm.simulation.result import Simulation
from forearm.simulation.run import ALL as METHODS
from forearm.simulation.run import simulate
from forearm.simulation.schedule import Schedule
from forearm.simulation.windings import without_inductance
from forearm.tables import Report, number

MOST_BITS = 52  # what a float64 holds
DRIVES = ("torque", "voltage", "torque_file", "voltage_file")


def add_dac(parser: argparse.ArgumentParser, period: bool = True) -> None:
    """The options of the converter in front of the motors."""
    dac = group(parser, "the converter in front of the motors")
    if period:
        dac.add_argument(
            "--dac-period",
            type=POSITIVE,
            metavar="S",
            help="what drives is sampled and held for this time, s, above 0",
        )
    dac.add_argument(
        "--dac-bits",
        type=Whole(1, MOST_BITS),
        metavar="N",
        help=f"it has 2^N steps, N from 1 to {MOST_BITS}; needs --dac-range",
    )
    dac.add_argument("--dac-range", type=POSITIVE, metavar="V", help="it gives from -V to V, above 0")
    dac.add_argument(
        "--dac-gain",
        type=ANY,
        metavar="X",
        help="of the amplifiers behind it, not 0 (default: the arm file's, or 1)",
    )


def read_dac(given: argparse.Namespace, arm: Arm) -> DAC | None:
    """The converter, where one of its options is given."""
    period = getattr(given, "dac_period", None)
    if all(value is None for value in (period, given.dac_bits, given.dac_range, given.dac_gain)):
        return None
    if given.dac_bits is not None and given.dac_range is None:
        raise InputError("--dac-bits: the steps divide a range; give it by --dac-range V.")
    if given.dac_gain is not None and any(
        j.motor is not None and j.motor.amplifier_gain is not None for j in arm.joints
    ):
        raise InputError(
            f"--dac-gain: motors of {arm.name!r} have an amplifier_gain in the arm "
            "file; leave the option out."
        )
    return DAC(
        1e-3 if period is None else period,
        given.dac_bits,
        given.dac_range,
        1.0 if given.dac_gain is None else given.dac_gain,
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--duration", type=NOT_NEGATIVE, required=True, metavar="S", help="how long, s, at least 0"
    )
    for name, what in (("q", "positions, rad (m),"), ("qd", "velocities, rad/s (m/s),")):
        add_state(parser, name, f"joint {what} at the start (default: zero)")
    parser.add_argument(
        "--continue", dest="before", metavar="FILE", help="go on from the end of a simulation kept as .npz"
    )
    add_rigid(parser)
    parser.add_argument("--no-inductance", action="store_true", help="currents follow the voltages at once")
    add_json(parser)
    inputs = group(parser, "what drives it (default: nothing)")
    drive = inputs.add_mutually_exclusive_group()
    drive.add_argument(
        "--torque", metavar="A,B,...", help="torques (forces) held all the time, N m (N); one value per joint"
    )
    drive.add_argument(
        "--voltage",
        metavar="A,B,...",
        help="voltages of the motors held all the time, V; one value per joint",
    )
    drive.add_argument(
        "--torque-file",
        metavar="FILE",
        help=(
            "torques over time: .csv or .parquet with t, s, and one column per joint, N m (N); - "
            "is CSV on standard input"
        ),
    )
    drive.add_argument("--voltage-file", metavar="FILE", help="voltages over time, V, in the same form")
    inputs.add_argument(
        "--linear", action="store_true", help="rows of the file are joined by straight lines, not held"
    )
    add_dac(parser)
    how = group(parser, "how it is integrated")
    how.add_argument("--method", metavar="NAME", help=names_of(METHODS, "rk3"))
    how.add_argument(
        "--step",
        type=POSITIVE,
        metavar="S",
        help="of rk3, rk4, gill, midpoint, gauss4, s, above 0 (default: 0.001)",
    )
    how.add_argument(
        "--rtol",
        type=Real(least=1e-14, most=0.1),
        default=1e-6,
        metavar="X",
        help="of dp45, dp87, radau: relative error per step, 1e-14 to 0.1 (default: 1e-6)",
    )
    how.add_argument(
        "--atol",
        type=POSITIVE,
        default=1e-9,
        metavar="X",
        help="of the same: absolute error per step, rad (m), above 0 (default: 1e-9)",
    )
    how.add_argument(
        "--record", type=Whole(1), default=1, metavar="N", help="keep every N-th step, N from 1 (default: 1)"
    )
    how.add_argument("--stops", action="store_true", help="end where a joint reaches its limit")
    files = group(parser, "files")
    files.add_argument(
        "--to",
        "-o",
        dest="target",
        metavar="FILE",
        help="write the motion: .csv, .parquet, or .npz, which holds everything",
    )
    add_plot(files, "the motion")
    files.add_argument("--html", metavar="FILE", help="write a page that plays it in a browser: .html")


def _run(given: argparse.Namespace) -> int:
    _check(given)
    arm = _arm(given)
    before = None if given.before is None else load_simulation(given.before, arm)
    q, qd = (
        np.zeros(arm.n) if text is None else read_state(arm, text, name, given.degrees)
        for name, text in (("q", given.q), ("qd", given.qd))
    )
    with ProgressBar(f"compiling the equations of {arm.name}") as bar:
        run = simulate(
            arm,
            q,
            qd,
            given.duration,
            **_drive(given, arm),
            sampling=Sampling(read_dac(given, arm), given.record),
            accuracy=Accuracy(given.rtol, given.atol),
            ending=Ending(given.stops),
            continued=before,
            **_method(given, before),
            progress=bar,
        )
    whole = run if before is None else joined(before, run)
    with ProgressBar("writing files"):
        _write(given, whole)
    _tell(given, whole)
    return 0 if whole.ok else 1


def _arm(given: argparse.Namespace) -> Arm:
    arm = load(given.arm, hand=given.hand)
    arm = without_inductance(arm) if given.no_inductance else arm
    return arm.rigid() if given.rigid else arm


def _check(given: argparse.Namespace) -> None:
    """Refuse before the work what could not be done after it."""
    if given.linear and given.torque_file is None and given.voltage_file is None:
        raise InputError(
            "--linear: it is about the rows of a file; give one by --voltage-file or --torque-file."
        )
    if given.before is not None and (given.q is not None or given.qd is not None):
        raise InputError(
            "--continue: it goes on from where the other simulation ended; leave --q and --qd out."
        )
    check_output("--to", given.target, (*ENDINGS, ".npz"))
    check_picture("--plot", given.plot)
    check_page("--html", given.html)


def _drive(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    """What drives the arm, as keyword arguments; nothing is zero torque."""
    name = next((name for name in DRIVES if getattr(given, name) is not None), None)
    if name is None:
        return {}
    value = getattr(given, name)
    if name.endswith("_file"):
        return {
            name.removesuffix("_file"): Schedule.read(value, arm, how="linear" if given.linear else "hold")
        }
    return {name: read_numbers(value, name, arm.n, f"{arm.name} needs")}


def _method(given: argparse.Namespace, before: Simulation | None) -> dict[str, Any]:
    """Method and step: as given, or those of the simulation that is continued, or Swartz's."""
    usual = (
        ("rk3", 1e-3)
        if before is None or before.method not in METHODS
        else (before.method, before.step or 1e-3)
    )
    return {"method": given.method or usual[0], "step": usual[1] if given.step is None else given.step}


def _write(given: argparse.Namespace, run: Simulation) -> None:
    if given.target is not None:
        run.save(given.target)
    if given.plot is not None:
        run.plot(given.plot)
    if given.html is not None:
        run.to_html(given.html)


def _tell(given: argparse.Namespace, run: Simulation) -> None:
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
    more = Report(after=[*energies_at_end(run).splitlines(), *events_listed(run)], under="    ")
    show(Report(before=[at], parts=[table, more]))
    tell_written((given.target, given.plot, given.html))


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
        "events": [{"t": e.t, "kind": e.kind, "joint": e.joint, "text": e.text} for e in run.events],
        "status": run.status.name.lower(),
        "message": run.message,
        "to": given.target,
        "plot": given.plot,
        "html": given.html,
    }


COMMAND = Command(
    "forearm simulate puma560 --duration 2 --q 0,0.8,-1.6,0,0.5,0 --to motion.csv --html motion.html\n"
    "forearm simulate cmu-dd --duration 1 --voltage 0,9,0,4,0,0 --method dp45 --plot motion.png",
    _add_arguments,
    _run,
)
