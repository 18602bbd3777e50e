"""`forearm calibrate`: estimate geometry from measured poses or points of the hand."""

from __future__ import annotations

import argparse

from forearm.cli.command import Command, add_arm, add_json, show_json
from forearm.cli.convert import WRITERS
from forearm.cli.loading import load
from forearm.cli.motions import columns_of
from forearm.cli.numbers import Real, Whole
from forearm.cli.outputs import check_output, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers
from forearm.cli.terminal import show
from forearm.spatial import Floats
from forearm.tables import Report, number


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "data",
        metavar="DATA",
        help=(
            "measurements, .csv, .parquet, .npz or .json: q1.., x, y, z, and of poses qx, qy, qz, qw, or "
            "roll, pitch, yaw, or rx, ry, rz (rotation vector); - is CSV on standard input"
        ),
    )
    parser.add_argument("--columns", metavar="THEIRS=OURS,...", help="map column names, such as angle=q,X=x")
    parser.add_argument(
        "--units", metavar="NAME,...", help="units of the file: rad or deg, and m or mm (default: rad,m)"
    )
    parser.add_argument(
        "--unknowns",
        metavar="NAME,...",
        help=(
            "names such as joint2.a, joints, hand, or groups: offsets (zeros of the joints), dh, frames, all "
            "(default: all)"
        ),
    )
    parser.add_argument(
        "--base-known", action="store_true", help="the device measures in the base frame of the arm"
    )
    parser.add_argument(
        "--hand-point",
        metavar="X,Y,Z",
        help="the measured point in the hand frame, m (default: unknown, estimated)",
    )
    parser.add_argument(
        "--noise",
        metavar="M[,RAD]",
        help=(
            "standard deviation of a measured coordinate, m, and of poses of a turn, rad (default: from what "
            "the fit leaves)"
        ),
    )
    parser.add_argument(
        "--prior", metavar="M,RAD", help="prior standard deviations of the file's values (default: none)"
    )
    parser.add_argument(
        "--confidence",
        type=Real(above=0.0, below=1.0),
        default=0.95,
        metavar="P",
        help="confidence level of the intervals, above 0 and below 1 (default: 0.95)",
    )
    parser.add_argument(
        "--suggest",
        type=Whole(1, 1000),
        metavar="N",
        help="suggest N configurations to measure next, for the least certain parameters",
    )
    parser.add_argument(
        "-o", "--to", metavar="FILE", help="write the calibrated arm (.toml, .urdf, .xml or .mjcf)"
    )
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    from forearm.identification.calibration.calibrate import calibrated
    from forearm.identification.calibration.reading import read_measurements
    from forearm.identification.calibration.suggest import suggest_postures

    check_output("--to", given.to, tuple(WRITERS))
    arm = load(given.arm, hand=given.hand)
    asked = {
        "hand_point": None
        if given.hand_point is None
        else read_numbers(given.hand_point, "hand-point", 3, "a place has"),
        "unknowns": given.unknowns,
        "base": not given.base_known,
    }
    noise, prior = _numbers(given.noise, "noise"), _numbers(given.prior, "prior")
    with ProgressBar(f"fitting the geometry of {arm.name}"):
        found = read_measurements(arm, given.data, columns=columns_of(given), units=given.units or "")
        result = calibrated(arm, found, **asked, noise=noise, prior=prior, confidence=given.confidence)
        postures = None
        if given.suggest is not None:
            postures = suggest_postures(arm, found.q, given.suggest, poses=found.poses is not None, **asked)
    if given.to is not None:
        from pathlib import Path

        WRITERS[Path(given.to).suffix.lower()](result.arm, given.to)
    if given.json:
        more = {} if postures is None else {"postures": postures}
        show_json(result.document() | more | {"written": given.to})
        return 0
    show(result.report())
    if postures is not None:
        print()
        rows = [[str(k + 1), *(number(float(v), 4) for v in row)] for k, row in enumerate(postures)]
        show(Report(["next", *(j.name for j in arm.joints)], rows, "Configurations to measure next, rad (m)"))
    tell_written([given.to])
    return 0


def _numbers(text: str | None, option: str) -> list[float] | None:
    if text is None:
        return None
    count = text.count(",") + 1
    values: Floats = read_numbers(text, option, min(count, 2), "it has")
    return [float(v) for v in values]


COMMAND = Command(
    "forearm calibrate panda poses.csv --unknowns offsets -o calibrated.toml\n"
    "forearm calibrate panda poses.csv --suggest 5 --json",
    _add_arguments,
    _run,
)
