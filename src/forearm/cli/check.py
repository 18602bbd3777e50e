"""`forearm check`: errors and implausible values of an arm file."""

from __future__ import annotations

import argparse
import warnings

from forearm.arm.arm import Arm
from forearm.checking import Balance, Finding, balance, check
from forearm.checking.balancing import SAMPLES
from forearm.cli.command import ARM_HELP, Command, complain, show_json
from forearm.cli.loading import READING, reading_of
from forearm.cli.options import JSON, POSITIVE, Option, finish
from forearm.cli.progress import ProgressBar
from forearm.errors import ForearmError, ModelWarning, PartsWarning, RepairWarning
from forearm.files.load import load
from forearm.spatial import Floats
from forearm.tables import Report, number


def _run(given: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            arm = load(given.file, **reading_of(given))
        except ForearmError as error:
            if given.json:
                refused = Finding("error", "cannot-load", given.file, str(error))
                show_json({"name": None, "findings": _plain([refused]), "balance": None})
            complain(str(error), kind="error")
            return 2
    # What loading warned of the model is found again by the checks; the rest is of the file.
    ignored = [w for w in caught if not issubclass(w.category, ModelWarning)]
    codes: dict[type[Warning], str] = {PartsWarning: "parts-changed", RepairWarning: "repaired"}
    findings = [
        Finding("warning", codes.get(w.category, "ignored"), given.file, str(w.message)) for w in ignored
    ]
    with ProgressBar(f"searching for the largest gravity torques of {arm.name}"):
        cost = balance(arm, given.counterweights)
        findings += check(arm, cost)
    parts = [_list(findings), *([_gravity(arm, cost)] if arm.n else [])]
    document = {"name": arm.name, "findings": _plain(findings), "balance": _plain_balance(arm, cost)}
    return finish(given, Report(parts=parts), document)


def _list(findings: list[Finding]) -> Report:
    """Warnings, then notes; those about gravity have a table of their own."""
    warned = [f for f in findings if f.level == "warning"]
    notes = [f for f in findings if f.level == "note" and f.code != "gravity"]
    lines = [f"{f.level} [{f.code}] {f.text}" for f in (*warned, *notes)]
    if not warned:
        lines.insert(0, "Nothing implausible found.")
    return Report(before=[f"errors: 0   warnings: {len(warned)}", *lines], under="    ")


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
    return [{name: getattr(f, name) for name in ("level", "code", "place", "text")} for f in findings]


def _plain_balance(arm: Arm, cost: Balance) -> dict[str, object]:
    return {
        "joints": [j.name for j in arm.joints],
        "tau": cost.worst,
        "q": cost.postures,
        "balanced": cost.balanced,
        "climbed": cost.climbed,
        "counterweights": [
            {name: getattr(w, name) for name in ("joint", "link", "mass", "position", "moment")}
            for w in cost.counterweights
        ],
        "hopeless": dict(cost.hopeless),
    }


COMMAND = Command(
    "forearm check puma560\nforearm check my_arm.urdf --counterweights 0.3",
    (
        Option("file", ARM_HELP, "FILE"),
        *READING,
        Option(
            "--counterweights",
            "distance of suggested counterweights from the joint's axis, m, above 0 (default: 0.2)",
            "M",
            reads=POSITIVE,
            default=0.2,
        ),
        JSON,
    ),
    _run,
)
