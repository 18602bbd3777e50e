"""`forearm calibrate`: estimate geometry from measured poses or points of the hand."""

from __future__ import annotations

import argparse
from pathlib import Path

from forearm.cli.command import Command
from forearm.cli.convert import WRITERS
from forearm.cli.loading import load
from forearm.cli.motions import columns_of
from forearm.cli.options import ARM, JSON, Option, derived, finish
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers
from forearm.identification.requests import GeometryModel, GeometryNoise
from forearm.reading.fields import FlagField, WholeField
from forearm.tables import Report, number


def _run(given: argparse.Namespace) -> int:
    from forearm.identification import calibrate, read_measurements, suggest_postures

    arm = load(given.arm, hand=given.hand)
    point = (
        None if given.hand_point is None else read_numbers(given.hand_point, "hand-point", 3, "a place has")
    )
    model = GeometryModel(hand_point=point, unknowns=given.unknowns, base=not given.base_known)
    noise, prior = (
        None if text is None else read_numbers(text, name, min(text.count(",") + 1, 2), "it has")
        for name, text in (("noise", given.noise), ("prior", given.prior))
    )
    with ProgressBar(f"fitting the geometry of {arm.name}"):
        found = read_measurements(arm, given.data, columns=columns_of(given), units=given.units or "")
        result = calibrate(arm, found, model=model, noise=noise, prior=prior, confidence=given.confidence)
        document, parts = result.document() | {"written": given.to}, [result.report()]
        if given.suggest is not None:
            postures = suggest_postures(
                arm, found.q, given.suggest, poses=found.poses is not None, model=model
            )
            document["postures"] = postures
            rows = [[str(k + 1), *(number(float(v), 4) for v in row)] for k, row in enumerate(postures)]
            title = "Configurations to measure next, rad (m)"
            parts.append(Report(["next", *(j.name for j in arm.joints)], rows, title))

    def write(path: str) -> None:
        WRITERS[Path(path).suffix.lower()](result.arm, path)

    return finish(given, Report(parts=parts), document, {"to": write})


COMMAND = Command(
    "forearm calibrate panda poses.csv --unknowns offsets -o calibrated.toml\n"
    "forearm calibrate panda poses.csv --suggest 5 --json",
    (
        *ARM,
        Option(
            "data",
            "measurements, .csv, .parquet, .npz or .json: q1.., x, y, z, and of poses qx, qy, qz, qw, or "
            "roll, pitch, yaw, or rx, ry, rz (rotation vector); - is CSV on standard input",
            "DATA",
        ),
        Option("--columns", "map column names, such as angle=q,X=x", "THEIRS=OURS,..."),
        Option("--units", "units of the file: rad or deg, and m or mm (default: rad,m)", "NAME,..."),
        *derived(GeometryModel, "unknowns", unknowns={"metavar": "NAME,...", "reads": None}),
        Option(
            "--base-known",
            "the device measures in the base frame of the arm",
            reads=FlagField(),
            keyword="base",
        ),
        *derived(GeometryModel, "hand_point", hand_point={"metavar": "X,Y,Z", "reads": None}),
        *derived(
            GeometryNoise,
            noise={"metavar": "M[,RAD]", "reads": None},
            prior={"metavar": "M,RAD", "reads": None},
            confidence={"metavar": "P"},
        ),
        Option(
            "--suggest",
            "suggest N configurations to measure next, for the least certain parameters",
            reads=WholeField("", 1, 1000),
            keyword="count",
        ),
        Option(
            "--to",
            "write the calibrated arm (.toml, .urdf, .xml or .mjcf)",
            short="-o",
            endings=tuple(WRITERS),
        ),
        JSON,
    ),
    _run,
)
