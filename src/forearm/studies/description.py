"""A study as plain data and back, to the last bit: what the folder of its results keeps, by which a changed
study is told apart and a row can be simulated again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from forearm.errors import InputError, located
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text
from forearm.reading.textfile import parse_toml
from forearm.studies.reference_motion import motion_of
from forearm.studies.sampling.distributions import Choice
from forearm.studies.study import Study

FORMAT = "forearm-study/1"


def described(study: Study) -> dict[str, Any]:
    """Everything that decides what the rows are; arms as the lines of their files."""
    run = {key: value for key, value in asdict(study.run).items() if value is not None}
    run["payload"] = dict(study.run.payload)
    design: dict[str, Any] = {"kind": study.design.kind, "rows": study.rows, "seed": study.design.seed}
    if study.design.kind == "grid":
        counts = zip(study.variables, study.design.levels, strict=True)
        design["levels"] = {v.name: n for v, n in counts if not isinstance(v.distribution, Choice)}
    return {
        "name": study.name,
        "arms": {name: arm_text(arm).splitlines() for name, arm in study.arms.items()},
        "vary": {v.name: v.fields for v in study.variables},
        "figures": list(study.figures),
        "design": design,
        "correlation": [[a, b, rho] for (a, b), rho in study.correlation.pairs.items()],
        "motions": {
            name: {arm: motion.described for arm, motion in by_arm.items()}
            for name, by_arm in study.motions.items()
        },
        "motors": {name: motor.fields for name, motor in study.motors.items()},
        "run": run,
    }


def manifest_of(study: Study) -> dict[str, Any]:
    """What the folder of its results is opened with."""
    kinds = {v.name: "float64" if v.distribution.is_numeric else "string" for v in study.variables}
    return {
        "format": FORMAT,
        "rows": study.rows,
        "rows_per_part": study.rows_per_part,
        "columns": {**kinds, **{column.name: "float64" for column in study.columns}},
        "study": described(study),
    }


def study_of(manifest: Mapping[str, Any]) -> Study:
    """The study that a manifest describes."""
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"study: expected results of format {FORMAT}, got {manifest.get('format')!r}; they may be of "
            "another version of forearm."
        )
    with located("study.json"):
        try:
            return _study(manifest["study"], int(manifest["rows_per_part"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"expected the description of a study, got {error!r} missing or wrong."
            ) from error


def _study(about: Mapping[str, Any], rows_per_part: int) -> Study:
    arms = {
        name: arm_from_document(parse_toml("\n".join(lines).encode(), name), name)
        for name, lines in about["arms"].items()
    }
    motions = {
        name: {arm: motion_of(one) for arm, one in by_arm.items()}
        for name, by_arm in about["motions"].items()
    }
    design = about["design"]
    return Study(
        about["name"],
        arms,
        about["vary"],
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
