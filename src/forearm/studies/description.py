"""A study as plain data and back, bit-exact: stored in the results folder, to detect a changed study and to
simulate a row again.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from forearm import __version__
from forearm.errors import InputError, located, shorten
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text
from forearm.reading.textfile import parse_toml
from forearm.studies.reference_motion import ReferenceMotion, is_close, motion_of
from forearm.studies.sampling.distributions import Choice
from forearm.studies.study import Study

FORMAT = "forearm-study/1"


def described(study: Study) -> dict[str, Any]:
    """Everything that determines the rows; arms as the lines of their files."""
    run = {key: value for key, value in asdict(study.run).items() if value is not None}
    design: dict[str, Any] = {"kind": study.design.kind, "rows": study.rows, "seed": study.design.seed}
    if study.design.kind == "grid":
        counts = zip(study.variables, study.design.levels, strict=True)
        design["levels"] = {v.name: n for v, n in counts if not isinstance(v.distribution, Choice)}
    return {  # lists if the order matters, as JSON tables have none
        "name": study.name,
        "arms": [{"name": name, "lines": arm_text(arm).splitlines()} for name, arm in study.arms.items()],
        "vary": [{"name": v.name, **v.fields} for v in study.variables],
        "figures": list(study.figures),
        "design": design,
        "correlation": [[a, b, rho] for (a, b), rho in study.correlation.pairs.items()],
        "motors": {name: motor.fields for name, motor in study.motors.items()},
        "run": run,
        "motions": [
            {"name": name, "arm": arm, **motion.described}
            for name, by_arm in study.motions.items()
            for arm, motion in by_arm.items()
        ],
    }


def manifest_of(study: Study) -> dict[str, Any]:
    """The manifest of the results folder."""
    kinds = {v.name: "float64" if v.distribution.is_numeric else "string" for v in study.variables}
    return {
        "format": FORMAT,
        "forearm": __version__,
        "rows": study.rows,
        "rows_per_part": study.rows_per_part,
        "columns": {**kinds, **{column.name: "float64" for column in study.columns}},
        "study": described(study),
    }


def with_motions_of(manifest: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with the samples of another one, if they agree up to rounding, as when another processor
    planned them.

    Args:
        manifest: of a study.
        found: manifest in a folder.
    """
    made = copy.deepcopy(dict(manifest))
    try:
        pairs = list(zip(made["study"]["motions"], found["study"]["motions"], strict=True))
        for one, other in pairs:
            if is_close(one, other):
                one["q_qd_qdd"] = other["q_qd_qdd"]
    except (KeyError, TypeError, ValueError, InputError):  # of another study, reported elsewhere
        return dict(manifest)
    return made


def study_of(manifest: Mapping[str, Any]) -> Study:
    """The study described by a manifest."""
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"expected results of format {FORMAT}, got {manifest.get('format')!r}; they may "
            "come from another version of forearm.",
            "study",
        )
    with located("study.json"):
        try:
            return _study(manifest["study"], int(manifest["rows_per_part"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"expected the description of a study, got {shorten(repr(error), 200)}."
            ) from error


def _study(about: Mapping[str, Any], rows_per_part: int) -> Study:
    arms = {
        arm["name"]: arm_from_document(parse_toml("\n".join(arm["lines"]).encode(), arm["name"]), arm["name"])
        for arm in about["arms"]
    }
    motions: dict[str, dict[str, ReferenceMotion]] = {}
    for one in about["motions"]:
        motions.setdefault(one["name"], {})[one["arm"]] = motion_of(one)
    vary = {v["name"]: {key: x for key, x in v.items() if key != "name"} for v in about["vary"]}
    design = about["design"]
    return Study(
        about["name"],
        arms,
        vary,
        about["figures"],
        design=design["kind"],
        rows=design["rows"],
        seed=design["seed"],
        levels=design.get("levels"),
        correlation={(a, b): rho for a, b, rho in about["correlation"]},
        motion=motions or None,
        motors=about["motors"],
        rows_per_part=rows_per_part,
        **about["run"],
    )
