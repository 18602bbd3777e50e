"""`forearm simulate`: the motion of an arm over time, driven by torques or voltages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, complain, show_json, width
from forearm.cli.progress import Progress
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.files.load import load
from forearm.interpreter.listing import energies_at_end, events_listed
from forearm.logs.table import ENDINGS
from forearm.simulation.joining import joined
from forearm.simulation.result import Simulation
from forearm.simulation.running import ALL as METHODS
from forearm.simulation.running import simulate
from forearm.simulation.schedule import Schedule
from forearm.simulation.stored import load_simulation
from forearm.simulation.windings import without_inductance
from forearm.tables import number, text_table

PICTURES = (".png", ".svg", ".pdf")
DRIVES = ("torque", "voltage", "torque_file", "voltage_file")


def add_dac(parser: argparse.ArgumentParser, period: bool = True) -> None:
    """The options of the converter in front of the motors."""
    if period:
        parser.add_argument("--dac-period", type=float, metavar="S", help="what drives is sampled and held for this time, s")
    parser.add_argument("--dac-bits", type=int, metavar="N", help="the converter's steps; needs --dac-range")
    parser.add_argument("--dac-range", type=float, metavar="V", help="the converter gives from -V to V")
    parser.add_argument(
        "--dac-gain", type=float, metavar="X", help="of the amplifiers behind the converter; unless given the arm file's, or 1"
    )


def read_dac(given: argparse.Namespace, arm: Arm) -> DAC | None:
    """The converter, where one of its options is given."""
    period = getattr(given, "dac_period", None)
    if all(value is None for value in (period, given.dac_bits, given.dac_range, given.dac_gain)):
        return None
    if given.dac_bits is not None and given.dac_range is None:
        raise InputError("--dac-bits: the steps divide a range; give it by --dac-range V.")
    if given.dac_gain is not None and any(j.motor is not None and j.motor.amplifier_gain is not None for j in arm.joints):
        raise InputError(f"--dac-gain: motors of {arm.name!r} have an amplifier_gain in the arm file; leave the option out.")
    return DAC(
        1e-3 if period is None else period, given.dac_bits, given.dac_range, 1.0 if given.dac_gain is None else given.dac_gain
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument("--duration", type=float, required=True, metavar="S", help="how long, s")
    for name, what in (("q", "positions"), ("qd", "velocities")):
        add_state(parser, name, f"joint {what} at the start, SI; zero unless given")
    drive = parser.add_mutually_exclusive_group()
    drive.add_argument("--torque", metavar="A,B,...", help="torques (forces) held all the time, N m (N); one number a joint")
    drive.add_argument("--voltage", metavar="A,B,...", help="voltages of the motors held all the time, V; one number a joint")
    drive.add_argument("--torque-file", metavar="FILE", help="torques over time: .csv or .parquet with t and a column a joint")
    drive.add_argument("--voltage-file", metavar="FILE", help="voltages over time, in the same form")
    parser.add_argument("--linear", action="store_true", help="rows of the file are joined by straight lines, not held")
    parser.add_argument("--method", metavar="NAME", help=f"one of {', '.join(METHODS)} (rk3 unless given)")
    parser.add_argument("--step", type=float, metavar="S", help="of rk3, rk4, gill, midpoint, gauss4, s; 0.001 unless given")
    parser.add_argument(
        "--rtol", type=float, default=1e-6, metavar="X", help="of dp45, dp87, radau: relative error a step; 1e-6"
    )
    parser.add_argument("--atol", type=float, default=1e-9, metavar="X", help="of the same: absolute error a step; 1e-9")
    parser.add_argument("--record", type=int, default=1, metavar="N", help="keep every N-th step; 1 unless given")
    parser.add_argument("--stops", action="store_true", help="end where a joint reaches its limit")
    add_dac(parser)
    parser.add_argument("--rigid", action="store_true", help="without motors and friction")
    parser.add_argument("--no-inductance", action="store_true", help="currents follow the voltages at once")
    parser.add_argument("--continue", dest="before", metavar="FILE", help="go on from the end of a simulation kept as .npz")
    parser.add_argument("--to", dest="target", metavar="FILE", help="keep it: .csv, .parquet, or .npz, which holds everything")
    parser.add_argument("--plot", metavar="FILE", help="a picture: .png, .svg or .pdf")
    parser.add_argument("--html", metavar="FILE", help="a page that plays it in a browser")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    _check(given)
    arm = _arm(given)
    before = None if given.before is None else load_simulation(given.before, arm)
    q, qd = (
        np.zeros(arm.n) if text is None else read_state(arm, text, name, given.degrees)
        for name, text in (("q", given.q), ("qd", given.qd))
    )
    start = 0.0 if before is None else float(before.t[-1])
    with Progress() as bar:
        run = simulate(
            arm, q, qd, given.duration, **_drive(given, arm), dac=read_dac(given, arm), record=given.record, rtol=given.rtol,
            atol=given.atol, stops=given.stops, continued=before, **_method(given, before),
            progress=lambda t, steps: bar.show(steps, (t - start) / given.duration),
        )  # fmt: skip
    whole = run if before is None else joined(before, run)
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
        raise InputError("--linear: it is about the rows of a file; give one by --voltage-file or --torque-file.")
    if given.before is not None and (given.q is not None or given.qd is not None):
        raise InputError("--continue: it goes on from where the other simulation ended; leave --q and --qd out.")
    for option, endings in (("target", (*ENDINGS, ".npz")), ("plot", PICTURES), ("html", (".html", ".htm"))):
        path = getattr(given, option)
        if path is not None and Path(path).suffix.lower() not in endings:
            name = "to" if option == "target" else option
            raise InputError(f"--{name} {path}: the name must end in one of {', '.join(endings)}.")


def _drive(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    """What drives the arm, as keyword arguments; nothing is zero torque."""
    name = next((name for name in DRIVES if getattr(given, name) is not None), None)
    if name is None:
        return {}
    value = getattr(given, name)
    if name.endswith("_file"):
        return {name.removesuffix("_file"): Schedule.read(value, arm, how="linear" if given.linear else "hold")}
    return {name: read_numbers(value, name, arm.n, f"{arm.name} needs")}


def _method(given: argparse.Namespace, before: Simulation | None) -> dict[str, Any]:
    """Method and step: as given, or those of the simulation that is continued, or Swartz's."""
    usual = ("rk3", 1e-3) if before is None or before.method not in METHODS else (before.method, before.step or 1e-3)
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
        for joint, *values in zip(run.arm.joints, run.q[-1], run.qd[-1], run.qdd[-1], run.tau[-1], strict=True)
    ]
    step = "" if run.step is None else f" in steps of {number(run.step)} s"
    print(f"{run.arm.name} at {number(float(run.t[-1]))} s, by {run.method}{step}, {len(run.t)} samples: {run.message}")
    print(f"\n{text_table(['joint', 'q', 'qd', 'qdd', 'tau', 'unit'], rows, width())}\n\n{energies_at_end(run)}")
    for line in (*events_listed(run), *(f"written: {path}" for path in (given.target, given.plot, given.html) if path)):
        print(line)


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
    "  forearm simulate cmu-dd --duration 1 --voltage 0,9,0,4,0,0 --method dp45 --plot motion.png",
    _add_arguments,
    _run,
)
