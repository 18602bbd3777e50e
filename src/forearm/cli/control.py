"""`forearm control`: compare controllers, evaluate simplifications, estimate the payload,
compare a log with the model.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli import control_compare, control_run
from forearm.cli.command import Command
from forearm.cli.loading import load
from forearm.cli.motions import COLUMNS, read_table
from forearm.cli.options import (
    ARM,
    DEGREES,
    JSON,
    NOT_NEGATIVE,
    POSITIVE,
    SECONDS,
    Option,
    finish,
    plot,
    state,
)
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers, read_state
from forearm.control.controllers.simplified import savings
from forearm.control.sampling import natural_frequencies, sampling_period
from forearm.errors import InputError
from forearm.kinematics.limits import middle
from forearm.logs.columns import Columns, Question, find_columns
from forearm.logs.stream import reading
from forearm.reading.fields import ChoiceField, NumberField, WholeField
from forearm.spatial import Floats
from forearm.tables import Report

MOST_TESTS = 100_000
TESTS = ("q", "tau", "qdd", "qd")


def _savings(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"counting simplifications of {arm.name}"):
        found = savings(arm, locked=given.locked, distance=given.distance)
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
    title = f"{arm.name}: torque error and torque as shares of the whole model's"
    document = {"name": arm.name, "savings": [vars(saving) for saving in found]}
    return finish(given, Report(header, rows, title), document)


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
    document = {"name": arm.name, "q": q, "frequencies": found / (2.0 * math.pi), "period": T}
    listed = ", ".join("unstable" if math.isnan(w) else f"{w / (2.0 * math.pi):.4g} Hz" for w in found)
    lines = [
        f"{arm.name}: natural frequencies {listed}",
        f"sampling period for twenty samples of the fastest: {1e3 * T:.4g} ms",
    ]
    return finish(given, Report(before=lines), document)


def _payload(given: argparse.Namespace) -> int:
    from forearm.identification.payload.estimate import Noise, estimate_payload
    from forearm.identification.payload.from_log import payload_from_log

    arm = load(given.arm, hand=given.hand)
    com = None if given.com is None else read_numbers(given.com, "com", 3, "a place has")
    asked = {"shape": given.shape, "mass": given.mass, "com": com, "confidence": given.confidence}
    noise = {name: getattr(given, f"noise_{name}") for name in NOISES}
    if (given.tests is None) == (given.log is None):
        raise InputError("give a file of tests, or a log of a motion by --log FILE.", "control payload")
    if given.log is None:
        tests = _read_tests(arm, given.tests)
        with ProgressBar(f"fitting a load to {len(tests['q'])} tests"):
            blocks = (tests["q"], tests["tau"], tests["qdd"], tests.get("qd"))
            found = estimate_payload(arm, *blocks, **asked, noise=Noise(**noise))
    else:
        for name in (name for name, size in noise.items() if size):
            raise InputError("the noise of a log is estimated from the log; leave it out.", f"noise_{name}")
        with ProgressBar(f"fitting a load to {given.log}"):
            log = read_table(given, arm, given.log, used=("q", "measured_q", "tau", "current"))
            found = payload_from_log(arm, log, **asked, units="rad,s")
    return finish(given, Report(before=[found.table()]), vars(found))


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


def _log(given: argparse.Namespace) -> int:
    from forearm.identification.logs_against_model import compare_log

    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"comparing {given.log} with the model"):
        used = ("q", "measured_q", "tau", "current")
        log = read_table(given, arm, given.log, period=given.period, used=used)
        found = compare_log(arm, log, window=given.window, units="rad,s")
    names = ("name", "joints", "rms", "largest", "mean", "explained", "window", "message", "t", "model")
    document = {name: getattr(found, name) for name in names} | {"tau": found.measured}
    return finish(given, Report(before=[found.table()]), document, {"plot": found.plot})


NOISES = {"qdd": "accelerations, rad/s^2 (m/s^2)", "tau": "torques, N m (N)", "q": "positions, rad (m)"}
SAVINGS = Command(
    "forearm control savings stanford",
    (
        *ARM,
        Option(
            "--locked",
            "number of last joints to lock, fewer than all (default: half)",
            reads=WholeField("", 0),
        ),
        Option(
            "--distance",
            "of counterweights from the axes, m, above 0 (default: 0.2)",
            "M",
            reads=POSITIVE,
            default=0.2,
        ),
        JSON,
    ),
    _savings,
    "Operations saved and torque error caused by dropping terms, locking joints and counterbalancing.",
)
PERIOD = Command(
    "forearm control period puma560 --stiffness 20000",
    (
        *ARM,
        state("q", "configuration that the arm oscillates about, rad (m) (default: mid-range)"),
        DEGREES,
        Option(
            "--stiffness",
            "stiffness of joints or gains, N m/rad (N/m), one, or one per joint (default: gravity only)",
            "A,B,...",
        ),
        JSON,
    ),
    _period,
    "Natural frequencies of an arm about a configuration, and the sampling period for them.",
)
PAYLOAD = Command(
    "forearm control payload panda tests.csv --noise-qdd 0.01\nforearm control payload panda --log log.csv",
    (
        *ARM,
        Option(
            "tests",
            "tests, .csv or .parquet: columns q1.., tau1.., qdd1.., and qd1.. if it moved; - "
            "is CSV on standard input",
            "FILE",
            count="?",
        ),
        Option(
            "--log",
            "instead, a log of a motion (.csv, .parquet, .npz, .json): t, q1.., tau1.. or current1..",
            "FILE",
        ),
        *COLUMNS,
        Option(
            "--shape",
            "body (ten unknowns) or point (default: body)",
            reads=ChoiceField(("body", "point")),
            default="body",
        ),
        Option("--mass", "mass of the payload, if known, kg, above 0", "KG", reads=POSITIVE),
        Option("--com", "its centre of mass in the hand frame, m, if known", "X,Y,Z"),
        *(
            Option(
                f"--noise-{name}",
                f"standard deviation of {what}, at least 0 (default: 0)",
                reads=NOT_NEGATIVE,
                default=0.0,
            )
            for name, what in NOISES.items()
        ),
        Option(
            "--confidence",
            "confidence level of the intervals, above 0 and below 1 (default: 0.95)",
            "P",
            reads=NumberField(above=0.0),
            default=0.95,
        ),
        JSON,
    ),
    _payload,
    "The payload, from small test torques and the accelerations they cause.",
)
LOG = Command(
    "forearm control log panda log.csv --plot left.png",
    (
        *ARM,
        Option(
            "log",
            "a measured log, .csv, .parquet, .npz or .json: t, q1.., and tau1.. or current1..; - is CSV on "
            "standard input",
            "FILE",
        ),
        Option("--window", "time window for velocities, s, above 0 (default: from the noise)", reads=SECONDS),
        Option("--period", "time between rows, s, above 0, if the log has no times", reads=SECONDS),
        *COLUMNS,
        plot("measured and model torques, and residuals"),
        JSON,
    ),
    _log,
    "A measured log compared with the model: torque residuals joint by joint.",
)
ACTIONS = {
    "run": control_run.COMMAND,
    "compare": control_compare.COMMAND,
    "savings": SAVINGS,
    "period": PERIOD,
    "payload": PAYLOAD,
    "log": LOG,
}
COMMAND = Command("\n".join(action.example for action in ACTIONS.values()), (), None, actions=ACTIONS)
