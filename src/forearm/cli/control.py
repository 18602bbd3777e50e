"""`forearm control`: compare controllers, evaluate simplifications, estimate the payload,
compare a log with the model.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli import control_compare, control_run
from forearm.cli.command import Command, Formatter, Parser, add_arm, add_json, show_json, width, with_examples
from forearm.cli.loading import load
from forearm.cli.motions import add_columns, read_table
from forearm.cli.numbers import NOT_NEGATIVE, POSITIVE, Real, Whole
from forearm.cli.outputs import add_plot, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.cli.terminal import show
from forearm.control.controllers.simplified import savings
from forearm.control.sampling import natural_frequencies, sampling_period
from forearm.errors import InputError, shorten, suggest
from forearm.kinematics.limits import middle
from forearm.logs.columns import Columns, Question, find_columns
from forearm.logs.stream import reading
from forearm.spatial import Floats
from forearm.tables import Report, filled

MOST_TESTS = 100_000
TESTS = ("q", "tau", "qdd", "qd")


class _Action(Parser):
    """Options of an action, which reports unknown options itself."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as usual, but refuse unknown arguments."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].split("=")[0]
            known = [
                option
                for action in self._actions
                for option in action.option_strings
                if option.startswith("--")
            ]
            hint = (
                suggest(word, known)
                if word.startswith("-")
                else "one word too many, or a missing option before it."
            )
            self.error(f"there is no {shorten(word)} here: {hint}")
        return found, unknown


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{parser.epilog}\n\n'forearm control ACTION --help' explains each; all take --json."
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Action)
    for name, (summary, add, example, _) in ACTIONS.items():
        add(
            actions.add_parser(
                name,
                help=summary,
                description=summary,
                epilog=with_examples(example),
                formatter_class=Formatter,
            )
        )


def _run(given: argparse.Namespace) -> int:
    return ACTIONS[given.action][3](given)


def _add_savings(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--locked",
        type=Whole(0),
        metavar="N",
        help="number of last joints to lock, fewer than all (default: half)",
    )
    parser.add_argument(
        "--distance",
        type=POSITIVE,
        default=0.2,
        metavar="M",
        help="of counterweights from the axes, m, above 0 (default: 0.2)",
    )
    add_json(parser)


def _savings(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"counting simplifications of {arm.name}"):
        found = savings(arm, locked=given.locked, distance=given.distance)
    if given.json:
        show_json({"name": arm.name, "savings": [vars(saving) for saving in found]})
        return 0
    rows = [
        [
            s.name,
            str(s.operations),
            f"{100.0 * s.saved:.1f} %",
            f"{100.0 * s.torque_error:.2f} %",
            f"{s.torque:.3f}",
            s.cost,
        ]
        for s in found
    ]
    header = ["simplification", "operations", "saved", "torque error", "torque", "cost"]
    show(Report(header, rows, f"{arm.name}: torque error and torque as shares of the whole model's"))
    return 0


def _add_period(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_state(parser, "q", "configuration that the arm oscillates about, rad (m) (default: mid-range)")
    parser.add_argument(
        "--stiffness",
        metavar="A,B,...",
        help="stiffness of joints or gains, N m/rad (N/m), one, or one per joint (default: gravity only)",
    )
    add_json(parser)


def _period(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    q = middle(arm) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    stiffness = None
    if given.stiffness is not None:
        count = arm.n if "," in given.stiffness else 1
        stiffness = np.broadcast_to(
            read_numbers(given.stiffness, "stiffness", count, f"{arm.name} needs"), arm.n
        )
    with ProgressBar(f"compiling the equations of {arm.name}"):
        found = natural_frequencies(arm, q, stiffness)
    fastest = float(np.nanmax(found, initial=0.0))
    if fastest == 0.0:
        raise InputError("no restoring torque there, so no natural frequency; give --stiffness.", arm.name)
    T = sampling_period(fastest)
    if given.json:
        show_json({"name": arm.name, "q": q, "frequencies": found / (2.0 * math.pi), "period": T})
        return 0
    listed = ", ".join("unstable" if math.isnan(w) else f"{w / (2.0 * math.pi):.4g} Hz" for w in found)
    said = (
        f"{arm.name}: natural frequencies {listed}\n"
        f"sampling period for twenty samples of the fastest: {1e3 * T:.4g} ms"
    )
    print(filled(said, width()))
    return 0


def _add_payload(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "tests",
        nargs="?",
        metavar="FILE",
        help=(
            "tests, .csv or .parquet: columns q1.., tau1.., qdd1.., and qd1.. if it moved; - "
            "is CSV on standard input"
        ),
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="instead, a log of a motion (.csv, .parquet, .npz, .json): t, q1.., tau1.. or current1..",
    )
    add_columns(parser)
    parser.add_argument(
        "--shape",
        choices=("body", "point"),
        default="body",
        metavar="NAME",
        help="body (ten unknowns) or point (default: body)",
    )
    parser.add_argument(
        "--mass", type=POSITIVE, metavar="KG", help="mass of the payload, if known, kg, above 0"
    )
    parser.add_argument("--com", metavar="X,Y,Z", help="its centre of mass in the hand frame, m, if known")
    for name, what in (
        ("qdd", "accelerations, rad/s^2 (m/s^2)"),
        ("tau", "torques, N m (N)"),
        ("q", "positions, rad (m)"),
    ):
        text = f"standard deviation of {what}, at least 0 (default: 0)"
        parser.add_argument(f"--noise-{name}", type=NOT_NEGATIVE, default=0.0, metavar="X", help=text)
    parser.add_argument(
        "--confidence",
        type=Real(above=0.0, below=1.0),
        default=0.95,
        metavar="P",
        help="confidence level of the intervals, above 0 and below 1 (default: 0.95)",
    )
    add_json(parser)


def _payload(given: argparse.Namespace) -> int:
    from forearm.identification.payload.estimate import Noise, estimate_payload

    arm = load(given.arm, hand=given.hand)
    com = None if given.com is None else read_numbers(given.com, "com", 3, "a place has")
    asked = {"shape": given.shape, "mass": given.mass, "com": com, "confidence": given.confidence}
    if (given.tests is None) == (given.log is None):
        raise InputError("give a file of tests, or a log of a motion by --log FILE.", "control payload")
    if given.log is not None:
        return _payload_of_log(given, arm, asked)
    tests = _read_tests(arm, given.tests)
    with ProgressBar(f"fitting a load to {len(tests['q'])} tests"):
        found = estimate_payload(
            arm,
            tests["q"],
            tests["tau"],
            tests["qdd"],
            tests.get("qd"),
            **asked,
            noise=Noise(qdd=given.noise_qdd, tau=given.noise_tau, q=given.noise_q),
        )
    if given.json:
        show_json(vars(found))
    else:
        print(found.table())
    return 0


def _payload_of_log(given: argparse.Namespace, arm: Arm, asked: dict[str, Any]) -> int:
    from forearm.identification.payload.from_log import payload_from_log

    for name in ("qdd", "tau", "q"):
        if getattr(given, f"noise_{name}"):
            raise InputError("the noise of a log is estimated from the log; leave it out.", f"--noise-{name}")
    with ProgressBar(f"fitting a load to {given.log}"):
        log = read_table(given, arm, given.log, used=("q", "measured_q", "tau", "current"))
        found = payload_from_log(arm, log, **asked, units="rad,s")
    if given.json:
        show_json(vars(found))
    else:
        print(found.table())
    return 0


def _read_tests(arm: Arm, path: str) -> dict[str, Floats]:
    """q, tau, qdd (B, n), and qd where the file has it."""
    with reading(path) as log:
        columns = find_columns(
            log.header, Question(tuple(j.name for j in arm.joints), TESTS, "load"), log.name, is_written=False
        )
        missing = [x for x in TESTS[:3] if x in columns.absent]
        if missing:
            raise InputError(
                f"no columns for {' and '.join(missing)}; a test needs q, the torque and the acceleration.",
                log.name,
            )
        wanted = Columns({"all": columns.flat}, (), ("",) * len(columns.flat))
        rows: list[Floats] = []
        for block in log.blocks(wanted, whole=False):
            rows.append(block.states["all"])
            if sum(map(len, rows)) > MOST_TESTS:
                raise InputError(f"more than {MOST_TESTS} tests; a few hundred are enough.", log.name)
    table = np.concatenate(rows) if rows else np.zeros((0, len(columns.flat)))
    return {
        x: np.ascontiguousarray(table[:, k * arm.n : (k + 1) * arm.n]) for k, x in enumerate(columns.places)
    }


def _add_log(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "log",
        metavar="FILE",
        help=(
            "a measured log, .csv, .parquet, .npz or .json: t, q1.., and tau1.. or current1..; - is CSV on "
            "standard input"
        ),
    )
    parser.add_argument(
        "--window",
        type=POSITIVE,
        metavar="S",
        help="time window for velocities, s, above 0 (default: from the noise)",
    )
    parser.add_argument(
        "--period", type=POSITIVE, metavar="S", help="time between rows, s, above 0, if the log has no times"
    )
    add_columns(parser)
    add_plot(parser, "measured and model torques, and residuals")
    add_json(parser)


def _log(given: argparse.Namespace) -> int:
    from forearm.identification.logs_against_model import compare_log

    check_picture("--plot", given.plot)
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"comparing {given.log} with the model"):
        used = ("q", "measured_q", "tau", "current")
        log = read_table(given, arm, given.log, period=given.period, used=used)
        found = compare_log(arm, log, window=given.window, units="rad,s")
        if given.plot:
            found.plot(given.plot)
    if given.json:
        said = {
            x: getattr(found, x)
            for x in ("name", "joints", "rms", "largest", "mean", "explained", "window", "message")
        }
        show_json(said | {"t": found.t, "tau": found.measured, "model": found.model, "plot": given.plot})
        return 0
    print(found.table())
    tell_written([given.plot])
    return 0


Adding = Callable[[argparse.ArgumentParser], None]
ACTIONS: dict[str, tuple[str, Adding, str, Callable[[argparse.Namespace], int]]] = {
    "run": (
        "One controller along a motion: request, trajectory, torques, feedback.",
        control_run.add_arguments,
        "forearm control run puma560 request.toml --controller computed_torque --to run.npz --plot run.png",
        control_run.run,
    ),
    "compare": (
        "Every controller on one motion: tracking error, operations per second, effect of an unknown load.",
        control_compare.add_arguments,
        "forearm control compare puma560 --payload 2 --plot controllers.png",
        control_compare.run,
    ),
    "savings": (
        "Operations saved and torque error caused by dropping terms, locking joints and counterbalancing.",
        _add_savings,
        "forearm control savings stanford",
        _savings,
    ),
    "period": (
        "Natural frequencies of an arm about a configuration, and the sampling period for them.",
        _add_period,
        "forearm control period puma560 --stiffness 20000",
        _period,
    ),
    "payload": (
        "The payload, from small test torques and the accelerations they cause.",
        _add_payload,
        "forearm control payload panda tests.csv --noise-qdd 0.01\n"
        "forearm control payload panda --log log.csv",
        _payload,
    ),
    "log": (
        "A measured log compared with the model: torque residuals joint by joint.",
        _add_log,
        "forearm control log panda log.csv --plot left.png",
        _log,
    ),
}

COMMAND = Command("\n".join(action[2] for action in ACTIONS.values()), _add_arguments, _run)
