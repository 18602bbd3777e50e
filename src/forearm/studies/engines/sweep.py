"""`fa.sweep`: the rows of a study computed in parts on any processors available."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from forearm.errors import InputError, shorten
from forearm.progress import Progress
from forearm.studies.description import manifest_of, study_of, with_motions_of
from forearm.studies.engines.runner import run_parts
from forearm.studies.results import StudyResults
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.storage.manifest import MANIFEST
from forearm.studies.storage.part_file import part_bytes
from forearm.studies.storage.result_folder import ResultFolder
from forearm.studies.study import Study

MOST_CHECKED = 50_000_000  # rows whose arms are checked before anything is computed, some microseconds each
KEPT = 4  # prepared studies cached by a worker


def sweep(
    study: Study | str | os.PathLike[str],
    executor: Any = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    engine: str = "threads",
    workers: int | None = None,
    parts: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> StudyResults:
    """Compute the rows of a study and store them in a folder; existing results are not recomputed.

    Rows do not depend on where they are computed. A killed run continues when started again.

    Args:
        study: a study, or its file.
        executor: anything with `submit`: a pool of concurrent.futures, a Dask client, mpi4py, loky, submitit,
            `RayExecutor`; None: workers of this machine.
        folder: the results folder; None: a temporary one, deleted with the results object.
        engine: "threads" or "processes", for workers of this machine.
        workers: number of concurrent workers; None: all available.
        parts: indices of the parts to compute; None: all.
        progress: function of (done, total, what) called from time to time, counting rows.
    """
    wanted = study if isinstance(study, Study) else _read(study)
    RowEvaluation(wanted).check(0, min(wanted.rows, MOST_CHECKED))
    if folder is not None:
        return _swept(wanted, folder, executor, engine, workers, parts, progress)
    place = tempfile.mkdtemp(prefix="forearm-study-")
    try:
        results = _swept(wanted, place, executor, engine, workers, parts, progress)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    results.is_temporary = True
    weakref.finalize(results.folder, shutil.rmtree, place, ignore_errors=True)
    return results


def _swept(
    study: Study,
    folder: str | os.PathLike[str],
    executor: Any,
    engine: str,
    workers: int | None,
    parts: Sequence[int] | None,
    progress: Progress | None,
) -> StudyResults:
    manifest = manifest_of(study)
    if (Path(folder) / MANIFEST).is_file():
        manifest = with_motions_of(manifest, ResultFolder.at(folder).manifest)
    opened = ResultFolder.open(folder, manifest)
    task = PartTask(opened.manifest, opened.digest)
    if workers is None and study.run.device != "cpu" and executor is None:
        workers = 1  # they would share one GPU
    run_parts(opened, task, executor, workers=workers, engine=engine, wanted=parts, progress=progress)
    return StudyResults(opened, study_of(opened.manifest))


def _read(study: object) -> Study:
    if not isinstance(study, str | os.PathLike):
        raise InputError(f"sweep, study: expected a fa.Study or the path of its file, got {shorten(study)}.")
    return Study.read(study)


class PartTask:
    """The rows of a part as Parquet bytes: the task sent to workers, which prepare the study once each."""

    def __init__(self, manifest: Mapping[str, Any], digest: str) -> None:
        self.text, self.digest = json.dumps(dict(manifest)), digest

    def __call__(self, part: int) -> bytes:
        """The bytes of a part."""
        evaluation = _prepared(self.text)
        size, rows = evaluation.study.rows_per_part, evaluation.study.rows
        first = part * size
        return part_bytes(first, evaluation.rows(first, min(first + size, rows)), self.digest)


@lru_cache(maxsize=KEPT)
def _prepared(manifest: str) -> RowEvaluation:
    return RowEvaluation(study_of(json.loads(manifest)))
