"""`forearm optimise`: the best design of a study under constraints."""

from __future__ import annotations

import argparse

from forearm.cli.command import Command
from forearm.cli.options import JSON, Group, Option, derived, finish, output
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.errors import InputError
from forearm.studies.optimisation.goal import constraints_of
from forearm.studies.optimisation.search import SearchOptions, optimise
from forearm.studies.study import Study


def _run(given: argparse.Namespace) -> int:
    if given.minimise is None and given.maximise is None:
        raise InputError("required, but not given; name a figure of the study.", "--minimise or --maximise")
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
    finish(given, found.report(), found.to_json())
    tell_written(() if given.json else (given.output,))
    return 0 if found.feasible else 1


COMMAND = Command(
    "forearm optimise study.toml --minimise peak_speed.joint1 --subject-to 'peak_speed.joint2 <= 2'",
    (
        Option("study", "a study file (.toml); its design does not matter", "STUDY"),
        Group(
            "objective",
            (
                Option("--minimise", "minimise this figure of the study, such as required_energy", "FIGURE"),
                Option("--maximise", "maximise this figure of the study, such as manipulability", "FIGURE"),
            ),
            exclusive=True,
        ),
        Option(
            "--subject-to",
            "a constraint, such as 'required_voltage_margin >= 0.05'; may be repeated",
            "TEXT",
            default=[],
            count="append",
            keyword="constraint",
        ),
        *derived(SearchOptions, "evaluations", "seed"),
        output("write the optimal arm: .toml", ".toml"),
        JSON,
    ),
    _run,
)
