"""`forearm optimise`: the best design of a study under constraints."""

from __future__ import annotations

import argparse

from forearm.cli.command import Command, add_json, show_json
from forearm.cli.numbers import Whole
from forearm.cli.outputs import check_output, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.studies.optimisation.goal import constraints_of
from forearm.studies.optimisation.search import FEWEST, MOST, optimise
from forearm.studies.study import Study


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a study file (.toml); its design does not matter")
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument(
        "--minimise", metavar="FIGURE", help="minimise this figure of the study, such as required_energy"
    )
    goal.add_argument(
        "--maximise", metavar="FIGURE", help="maximise this figure of the study, such as manipulability"
    )
    parser.add_argument(
        "--subject-to",
        action="append",
        default=[],
        metavar="TEXT",
        help="a constraint, such as 'required_voltage_margin >= 0.05'; may be repeated",
    )
    parser.add_argument(
        "--evaluations",
        type=Whole(FEWEST, MOST),
        default=20_000,
        metavar="N",
        help="maximum number of rows to compute (default: 20000)",
    )
    parser.add_argument(
        "--seed", type=Whole(0), default=0, metavar="N", help="random seed of the search (default: 0)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the optimal arm: .toml")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    check_output("-o", given.output, (".toml",))
    study, limits = Study.read(given.study), constraints_of(given.subject_to)
    with ProgressBar(f"optimising {study.name}") as bar:
        found = optimise(
            study,
            given.minimise,
            given.maximise,
            subject_to=limits,
            evaluations=given.evaluations,
            seed=given.seed,
            progress=bar,
        )
    if given.output is not None:
        found.arm.save(given.output)
    if given.json:
        show_json(found.to_json())
    else:
        show(found.report())
        tell_written([given.output])
    return 0 if found.feasible else 1


COMMAND = Command(
    "forearm optimise study.toml --minimise peak_speed.joint1 --subject-to 'peak_speed.joint2 <= 2'",
    _add_arguments,
    _run,
)
