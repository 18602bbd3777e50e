"""`fa.sweep`: the rows of a study computed in parts on any processors available."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from forearm.logs.arrow import arrow_for
from forearm.progress import Progress
from forearm.studies.description import manifest_of, study_of, with_motions_of
from forearm.studies.engines.runner import run_parts
from forearm.studies.results import StudyResults
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.storage.manifest import MANIFEST
from forearm.studies.storage.memory_results import MemoryResults
from forearm.studies.storage.part_file import part_bytes
from forearm.studies.storage.result_folder import ResultFolder
from forearm.studies.study import Study
from forearm.values import check_kind

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
    """Compute the rows of a study, in memory or stored in a folder, whose results are not recomputed.

    Rows do not depend on where they are computed. With a folder, a killed run continues when started again.

    Args:
        study: a study, or its file.
        executor: anything with `submit`: a pool of concurrent.futures, a Dask client, mpi4py, loky, submitit,
            `RayExecutor`; None: workers of this machine.
        folder: the results folder, in Parquet (needs pyarrow); None: results are kept in memory.
        engine: "threads" or "processes", for workers of this machine.
        workers: number of concurrent workers; None: all available.
        parts: indices of the parts to compute; None: all.
        progress: function of (done, total, what) called from time to time, counting rows.
    """
    if folder is not None:
        arrow_for(f"{folder}: a results folder")  # before anything is planned or computed
    check_kind(study, (Study, str, os.PathLike), "sweep, study")
    wanted = study if isinstance(study, Study) else Study.read(study)
    RowEvaluation(wanted).check(0, min(wanted.rows, MOST_CHECKED))
    manifest = manifest_of(wanted)
    if folder is None:
        found: ResultFolder | MemoryResults = MemoryResults(manifest)
        task = PartTask(manifest)
    else:
        if (Path(folder) / MANIFEST).is_file():
            manifest = with_motions_of(manifest, ResultFolder.at(folder).manifest)
        found = ResultFolder.open(folder, manifest)
        task = PartTask(found.manifest, found.digest)
    if workers is None and wanted.run.device != "cpu" and executor is None:
        workers = 1  # they would share one GPU
    run_parts(found, task, executor, workers=workers, engine=engine, wanted=parts, progress=progress)
    return StudyResults(found, study_of(found.manifest))


class PartTask:
    """The task sent to workers, which prepare the study once each: the columns of a part, or with the digest
    of a folder their Parquet bytes.
    """

    def __init__(self, manifest: Mapping[str, Any], digest: str | None = None) -> None:
        self.text, self.digest = json.dumps(dict(manifest)), digest

    def __call__(self, part: int) -> bytes | dict[str, NDArray[Any]]:
        """The part."""
        evaluation = _prepared(self.text)
        size, rows = evaluation.study.rows_per_part, evaluation.study.rows
        first = part * size
        columns = evaluation.rows(first, min(first + size, rows))
        return columns if self.digest is None else part_bytes(first, columns, self.digest)


@lru_cache(maxsize=KEPT)
def _prepared(manifest: str) -> RowEvaluation:
    return RowEvaluation(study_of(json.loads(manifest)))
