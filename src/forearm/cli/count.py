"""`forearm count`: exact operation counts of every formulation, general and customised,
and compared with the printed values.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import Command, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.options import ARM, JSON, Option, plot
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.counting.counts import METHODS, Convention, CountedRun, count, run
from forearm.counting.fewest import fewest, steps_to_fewest, table_210
from forearm.counting.matrices import MatrixCounts, count_matrices
from forearm.counting.models import chain
from forearm.counting.printed import CountComparison, compare, compare_steps, compare_table29, printed
from forearm.counting.stored import fewest_general, stored
from forearm.errors import InputError, ModelError
from forearm.reading.fields import ChoiceField, FlagField
from forearm.symbols.counts import Counts
from forearm.tables import Report
from forearm.values import check_choice

TITLES = {"inverse": "Inverse dynamics", "inertia_matrix": "Inertia matrix", "forward": "Forward dynamics"}
OWN = Convention(customised=True, own_gravity=True)  # as 'forearm generate --rigid'
MOST = 3_000_000  # operations that are run for an arm; beyond it only the polynomial is given


def _run(given: argparse.Namespace) -> int:
    if given.arm is None and not (given.printed or given.plot):
        raise InputError("expected an ARM, --printed or --plot FILE. See 'forearm count --help'.", "count")
    if given.arm is None and (given.formulation or given.function or given.explain):
        raise InputError("--formulation, --function and --explain need an ARM.", "count")
    document: dict[str, Any] = {}
    blocks: list[Report] = []
    with ProgressBar() as bar:
        if given.arm is not None:
            _count_arm(load(given.arm), given, document, blocks, bar)
        if given.printed:
            bar.say("counting what the documents print")
            _beside_printed(document, blocks)
        if given.plot:
            from forearm.plots.costs import save_cost_picture

            bar.say("counting every formulation for several n")
            save_cost_picture(given.plot)
            document["plot"] = given.plot
    if given.json:
        show_json(document)
        return 0
    if blocks:
        show(Report(parts=blocks))
    tell_written([given.plot])
    return 0


def _count_arm(
    arm: Arm, given: argparse.Namespace, document: dict[str, Any], blocks: list[Report], bar: ProgressBar
) -> None:
    name = given.formulation
    chosen = _chosen(name, given.function)
    document |= {"arm": arm.name, "n": arm.n, "gravity": arm.gravity.tolist()}
    if not arm.n:
        raise ModelError(f"{arm.name!r} has no movable joint, so there is nothing to count.", "count")
    if given.explain and name is None:
        bar.say(f"following the steps to the fewest operations of {arm.name}")
        _explain_steps(arm, given.function or "inverse", document, blocks)
        return
    if given.explain:
        function = next(iter(chosen))
        _explain(arm, function, chosen[function][0], document, blocks)
        return
    rows = {
        function: [_row(arm, name, function, bar) for name in names] for function, names in chosen.items()
    }
    document["methods"] = [row for group in rows.values() for row in group]
    for row in document["methods"] if given.json else []:
        adds = stored(row["name"], row["function"]).per_joint
        row["per_joint"] = {kind: asdict(counts) for kind, counts in adds.items()}
    lines = (
        f"{arm.name}, n = {arm.n}: multiplications + additions of one evaluation",
        "general: a chain of revolute joints with symbolic parameters, gravity along z0; customised: "
        f"this arm's numbers, rigid, {_gravity(arm)}; code with drives takes more ('forearm generate' says "
        "how much). 4x4: Waters' count for the general chain, m matrix products and a operations of order "
        "16.",
    )
    blocks.append(Report(before=lines))
    header = ["method", f"general n = {arm.n}", "customised", "div", "trig", "4x4"]
    if name is None:
        document["fewest"] = {function: _fewest_row(arm, function, bar) for function in rows}
    for function, group in rows.items():
        cells = [_cells(row) for row in group]
        if name is None:
            few = {"name": "generated code", "matrices": None} | document["fewest"][function]
            cells.append(_cells(few))
        blocks.append(Report(header, cells, TITLES[function]))
    reasons = {row["reason"] for row in document["methods"] if row["customised"] is None}
    if reasons:
        blocks.append(Report(before=[f"-: {reason}" for reason in sorted(reasons)]))
    title = "General n, fitted to exact counts and confirmed at further n"
    blocks.append(Report(before=[title, *map(_general_lines, document["methods"])]))


def _gravity(arm: Arm) -> str:
    """The arm's own gravity, and a hint where the counts of docs/counts.md have another."""
    x, y, z = arm.gravity
    if z and not (x or y):
        return "gravity along z0"
    return f"its own gravity ({x:g}, {y:g}, {z:g}) m/s^2, where fa.counting.count has gravity along z0"


def _fewest_row(arm: Arm, function: str, bar: ProgressBar) -> dict[str, Any]:
    """The generated code's counts, for this arm and for the general chain of as many revolute joints."""
    bar.say(f"finding the fewest operations: {TITLES[function].lower()}")
    return {
        "customised": asdict(fewest(arm, function, own_gravity=True)),
        "general_at_n": asdict(fewest_general(arm.n, function)),
    }


def _explain_steps(arm: Arm, function: str, document: dict[str, Any], blocks: list[Report]) -> None:
    """Operations saved by each optimisation step."""
    steps = steps_to_fewest(arm, function, own_gravity=True)
    sums = [step.counts.operations for step in steps]
    saved = ["", *(str(before - after) for before, after in pairwise(sums))]
    rows = [
        [step.title, str(step.counts.mul), str(step.counts.add), str(total), less, str(step.counts.trig)]
        for step, total, less in zip(steps, sums, saved, strict=True)
    ]
    document["steps"] = [{"title": step.title, **asdict(step.counts)} for step in steps]
    title = (
        f"{TITLES[function]} of {arm.name}, rigid, {_gravity(arm)}: what each step leaves, and what it saved"
    )
    blocks.append(Report(["step", "mul", "add", "together", "saved", "trig"], rows, title))


def _chosen(name: str | None, function: str | None) -> dict[str, tuple[str, ...]]:
    """The requested methods, by function."""
    among = METHODS if function is None else {function: METHODS[function]}
    if name is None:
        return among
    known = sorted({n for names in among.values() for n in names})
    check_choice(name, known, "--formulation" if function is None else f"--formulation of {function}")
    return {f: (name,) for f, names in among.items() if name in names}


def _row(arm: Arm, name: str, function: str, bar: ProgressBar) -> dict[str, Any]:
    bar.say(f"counting {TITLES[function].lower()} by {name}")
    known = stored(name, function)
    by = known.operations
    row: dict[str, Any] = {
        "function": function,
        "name": name,
        "general": {"mul": str(by.mul), "add": str(by.add), "div": str(by.div), "from": by.start},
        "general_at_n": {kind: getattr(by.at(arm.n), kind) for kind in ("mul", "add", "div")},
        "matrices": None,
    }
    if known.matrices is not None:
        m, a = known.matrices
        is_counted = arm.n < max(m.start, a.start)
        at_n = count_matrices(chain(arm.n), name) if is_counted else MatrixCounts(m(arm.n), a(arm.n))
        row["matrices"] = {"m": at_n.m, "a": at_n.a, "general_m": str(m), "general_a": str(a)}
    customised, row["reason"] = _customised(arm, name, function, by.at(arm.n))
    row["customised"] = None if customised is None else asdict(customised)
    return row


def _customised(arm: Arm, name: str, function: str, expected: Counts) -> tuple[Counts | None, str]:
    if expected.mul + expected.add > MOST:
        return None, f"more than {MOST:,} operations by the polynomial, not run"
    try:
        return count(arm, name, function, OWN), ""
    except ModelError as error:
        return None, str(error)


def _cells(row: dict[str, Any]) -> list[str]:
    own, matrices = row["customised"], row["matrices"]
    return [
        row["name"],
        _sum(row["general_at_n"]),
        _sum(own),
        *(str(own[kind]) if own else "-" for kind in ("div", "trig")),
        f"{matrices['m']}m+{matrices['a']}a" if matrices else "-",
    ]


def _general_lines(row: dict[str, Any]) -> str:
    by = row["general"]
    div = "" if by["div"] == "0" else f"\n    div  {by['div']}"
    return (
        f"{row['name']}, {TITLES[row['function']].lower()}\n    mul  {by['mul']}\n    add  {by['add']}{div}"
    )


def _sum(counts: dict[str, int] | None) -> str:
    return f"{counts['mul']} + {counts['add']}" if counts else "-"


def _explain(arm: Arm, function: str, name: str, document: dict[str, Any], blocks: list[Report]) -> None:
    """Counts by the symbol and link for which an operation was first done."""
    if function == "forward":
        raise InputError(
            "--explain is for inverse dynamics and inertia matrices, not for forward "
            f"dynamics by {name}; without it the whole count is given.",
            "count",
        )
    result: CountedRun = run(arm, name, function, OWN)
    table = result.by_quantity()
    links = [body.joint.child for body in arm.moving.bodies]
    rows = [
        (symbol or "rest", links[link] if link >= 0 else "", counts)
        for (symbol, link), counts in table.items()
        if symbol or counts != Counts()
    ]
    total = result.counts
    document["explain"] = {
        "function": function,
        "name": name,
        "total": asdict(total),
        "quantities": [{"symbol": symbol, "link": link, **asdict(counts)} for symbol, link, counts in rows],
    }
    shown = [*rows, ("total", "", total)]
    cells = [[symbol, link, *map(str, (c.mul, c.add, c.div, c.trig))] for symbol, link, c in shown]
    title = (
        f"{name} on {arm.name}, customised, {_gravity(arm)}: an operation belongs to the first quantity that "
        "needs it"
    )
    blocks.append(Report(["quantity", "link", "mul", "add", "div", "trig"], cells, title))


def _beside_printed(document: dict[str, Any], blocks: list[Report]) -> None:
    groups = {
        "Printed counts and ours (n = 6 unless said otherwise; ours: the code as it is)": compare(),
        "Mata 4.1, each step for one link": compare_steps(),
        "Dhanaraj Table 2.9, an interior joint": compare_table29(),
    }
    document["printed"] = [asdict(c) for group in groups.values() for c in group]
    cited = [(table["place"], *row[:3]) for table in printed()["cited"] for row in table["rows"]]
    document["cited"] = [dict(zip(("place", "row", "mul", "add"), row, strict=True)) for row in cited]
    for title, group in groups.items():
        blocks.append(Report(before=[title, *map(_line, group)], under="    "))
    methods, rows = table_210()
    document["table_210"] = [
        {"robot": robot, **dict(zip(methods, pairs, strict=True))} for robot, pairs in rows
    ]
    cells = [[robot, *(" + ".join(map(str, pair)) or "-" for pair in pairs)] for robot, pairs in rows]
    title = "Dhanaraj Table 2.10, mul + add of customised inverse dynamics, and ours"
    blocks.append(Report(["robot", *methods], cells, title, after=[printed()["table_210"]["note"]]))
    lines = [f"{place}: {row}: {mul} mul, {add} add" for place, row, mul, add in cited]
    title = "Cited by the documents from other papers; 'forearm reproduce mata' compares them with ours"
    blocks.append(Report(before=[title, *lines]))


def _line(c: CountComparison) -> str:
    differs = c.by_convention not in (None, c.ours)
    by = f", by convention {_figure(c.by_convention, c.unit)}" if differs else ""
    return (
        f"{c.place}, {c.what}: printed {_figure(c.printed, c.unit)}, ours "
        f"{_figure(c.ours, c.unit)}{by}: {c.sentence}"
    )


def _figure(pair: tuple[int, ...] | None, unit: tuple[str, ...]) -> str:
    if pair is None:
        return "-"
    if "m" in unit or "a" in unit:
        return "+".join(f"{k}{u}" for k, u in zip(pair, unit, strict=True))
    return "/".join(map(str, pair))


COMMAND = Command(
    (
        "forearm count puma560-akb --explain\nforearm count stanford --formulation newton-euler\n"
        "forearm count --printed"
    ),
    (
        replace(ARM[0], count="?"),
        Option(
            "--formulation",
            "only this formulation or method; 'forearm inverse --help' and 'forearm forward "
            "--help' list them",
            "NAME",
        ),
        Option(
            "--function",
            f"only what computes this, {names_of(METHODS)} (default: all)",
            reads=ChoiceField(tuple(METHODS)),
        ),
        Option(
            "--explain",
            "operations saved by each optimisation step; with a formulation, its cost by quantity and link",
            reads=FlagField(),
        ),
        Option(
            "--printed",
            "our counts compared with those printed in the documents; needs no ARM",
            reads=FlagField(),
        ),
        plot("cost against n for every formulation; needs no ARM"),
        JSON,
    ),
    _run,
)
