"""`forearm check`: errors and implausible values of an arm file."""

from __future__ import annotations

import argparse
import warnings

from forearm.arm.arm import Arm
from forearm.checking import Balance, Finding, balance, check
from forearm.checking.balancing import SAMPLES
from forearm.cli.command import ARM_HELP, Command, add_json, complain, show_json, width
from forearm.cli.loading import add_reading, reading_of
from forearm.cli.numbers import POSITIVE
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.errors import ForearmError, ModelWarning, PartsWarning, RepairWarning
from forearm.files.load import load
from forearm.spatial import Floats
from forearm.tables import Report, filled, number


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=ARM_HELP)
    add_reading(parser)
    parser.add_argument(
        "--counterweights",
        type=POSITIVE,
        default=0.2,
        metavar="M",
        help="distance of suggested counterweights from the joint's axis, m, above 0 (default: 0.2)",
    )
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            arm = load(given.file, **reading_of(given))
        except ForearmError as error:
            return _refused(given, Finding("error", "cannot-load", given.file, str(error)))
    # What loading warned of the model is found again by the checks; the rest is of the file.
    ignored = [w for w in caught if not issubclass(w.category, ModelWarning)]
    codes: dict[type[Warning], str] = {PartsWarning: "parts-changed", RepairWarning: "repaired"}
    findings = [
        Finding("warning", codes.get(w.category, "ignored"), given.file, str(w.message)) for w in ignored
    ]
    with ProgressBar(f"searching for the largest gravity torques of {arm.name}"):
        cost = balance(arm, given.counterweights)
        findings += check(arm, cost)
    if given.json:
        show_json({"name": arm.name, "findings": _plain(findings), "balance": _plain_balance(arm, cost)})
        return 0
    _show(findings)
    if arm.n:
        print()
        show(_gravity(arm, cost))
    return 0


def _refused(given: argparse.Namespace, finding: Finding) -> int:
    if given.json:
        show_json({"name": None, "findings": _plain([finding]), "balance": None})
    complain(finding.text, kind="error")
    return 2


def _show(findings: list[Finding]) -> None:
    warned = [f for f in findings if f.level == "warning"]
    print(f"errors: 0   warnings: {len(warned)}")
    for finding in warned:
        print(filled(f"warning [{finding.code}] {finding.text}", width(), "    "))
    if not warned:
        print("Nothing implausible found.")
    for finding in findings:
        if finding.level == "note" and finding.code != "gravity":  # which has a table of its own
            print(filled(f"note [{finding.code}] {finding.text}", width(), "    "))


def _gravity(arm: Arm, cost: Balance) -> Report:
    rows = [
        [
            j.name,
            number(cost.worst[i], 4) if not cost.balanced[i] else "0",
            *(number(round(float(v), 3)) for v in cost.postures[i]),
        ]
        for i, j in enumerate(arm.joints)
    ]
    how = "" if cost.climbed else f" (largest of {SAMPLES} configurations: the true worst case may be larger)"
    title = f"Largest gravity torques{how}, and the configuration of each, rad (m)"
    weights = [
        [w.joint, w.link, number(w.mass, 4), _vector(w.position), number(w.moment, 4)]
        for w in cost.counterweights
    ]
    header = ["joint", "on link", "kg", "at m, in the link", "kg m"]
    hopeless = [f"{joint}: no fixed counterweight helps: {why}." for joint, why in cost.hopeless]
    parts = [Report(header, weights, "Counterweights that would cancel it")] if weights else []
    parts += [Report(after=hopeless)] if hopeless else []
    return Report(["joint", "N m (N)", *(j.name for j in arm.joints)], rows, title, parts=parts)


def _vector(values: Floats) -> str:
    return " ".join(number(round(float(v), 3)) for v in values)


def _plain(findings: list[Finding]) -> list[dict[str, str]]:
    return [{"level": f.level, "code": f.code, "place": f.place, "text": f.text} for f in findings]


def _plain_balance(arm: Arm, cost: Balance) -> dict[str, object]:
    return {
        "joints": [j.name for j in arm.joints],
        "tau": cost.worst,
        "q": cost.postures,
        "balanced": cost.balanced,
        "climbed": cost.climbed,
        "counterweights": [
            {"joint": w.joint, "link": w.link, "mass": w.mass, "position": w.position, "moment": w.moment}
            for w in cost.counterweights
        ],
        "hopeless": dict(cost.hopeless),
    }


COMMAND = Command(
    "forearm check puma560\nforearm check my_arm.urdf --counterweights 0.3", _add_arguments, _run
)
