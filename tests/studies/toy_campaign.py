"""A small study that is easy to check, and a program that runs it: python toy_campaign.py FOLDER."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from forearm.errors import ForearmError, InputError
from forearm.studies.engines.runner import run_parts
from forearm.studies.storage.manifest import digest_of
from forearm.studies.storage.part_file import part_bytes
from forearm.studies.storage.result_folder import ResultFolder


def manifest_of(rows: int = 60, rows_per_part: int = 7, seed: int = 3) -> dict[str, Any]:
    return {
        "format": 1,
        "forearm": "0.1.0",
        "rows": rows,
        "rows_per_part": rows_per_part,
        "columns": {"value": "float64", "word": "string", "count": "int64"},
        "study": {"seed": seed, "arm": {"mass": [1.5, 2.5]}},
        "files": {"arm.toml": "0123"},
    }


def expected(seed: int, first: int, last: int) -> dict[str, NDArray[Any]]:
    """The columns as a function of the seed and the row alone."""
    row = np.arange(first, last, dtype=np.int64)
    mixed = (row * 2_654_435_761 + seed * 40_503) % 1_000_003
    words = np.array([f"row {r} of {seed}" for r in row], dtype=object)
    return {"value": np.sin(mixed.astype(np.float64)), "word": words, "count": mixed}


class OddError(Exception):
    """Cannot be unpickled: it needs more than its text."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


@dataclass(frozen=True)
class ToyTask:
    """The bytes of a part, after a pause; some parts may fail or kill their process."""

    manifest: dict[str, Any]
    pause: float = 0.0
    failing: tuple[int, ...] = ()
    odd: tuple[int, ...] = ()  # these fail with an OddError
    wrong: tuple[int, ...] = ()  # of these text is given in place of bytes
    deadly: tuple[int, ...] = ()
    deadly_once: Path | None = None  # a folder that remembers which parts have killed already

    def __call__(self, part: int) -> bytes:
        time.sleep(random.uniform(0.0, 2.0 * self.pause))
        if part in self.failing:
            raise InputError(f"row {part}: no such arm.")
        if part in self.odd:
            raise OddError(part, 2)
        if part in self.wrong:
            return cast(bytes, f"part {part}")
        if part in self.deadly and self._is_deadly_now(part):
            os.kill(os.getpid(), signal.SIGKILL)
        size = self.manifest["rows_per_part"]
        first, last = part * size, min((part + 1) * size, self.manifest["rows"])
        columns = expected(self.manifest["study"]["seed"], first, last)
        return part_bytes(first, columns, digest_of(self.manifest))

    def _is_deadly_now(self, part: int) -> bool:
        if self.deadly_once is None:
            return True
        try:
            (self.deadly_once / str(part)).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def large(part: int) -> bytes:
    return bytes(part * 100_000_000)


def assert_right(folder: Path, manifest: dict[str, Any]) -> None:
    """Every row exactly once, with the right values."""
    found = ResultFolder.at(folder)
    assert not found.missing()
    assert found.rows_done == manifest["rows"]
    table = found.table()
    np.testing.assert_array_equal(table["row"], np.arange(manifest["rows"]))
    for name, values in expected(manifest["study"]["seed"], 0, manifest["rows"]).items():
        np.testing.assert_array_equal(table[name], values)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", default="threads", choices=("threads", "processes", "mpi"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--rows-per-part", type=int, default=7)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--deadly", type=int, nargs="*", default=(), help="parts that kill their process")
    parser.add_argument("--deadly-once", type=Path, help="a folder: each of these parts kills once")
    parser.add_argument("--largest-file", type=int, help="bytes that a file may have: a full disk")
    given = parser.parse_args()
    if given.largest_file is not None:
        _bound_files(given.largest_file)
    manifest = manifest_of(given.rows, given.rows_per_part, given.seed)
    task = ToyTask(manifest, given.pause, deadly=tuple(given.deadly), deadly_once=given.deadly_once)
    try:
        folder = ResultFolder.open(given.folder, manifest)
        print("begun", flush=True)
        if given.engine == "mpi":
            with import_module("mpi4py.futures").MPIPoolExecutor() as executor:
                run_parts(folder, task, executor)
        else:
            run_parts(folder, task, workers=given.workers, engine=given.engine)
    except ForearmError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _bound_files(size: int) -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


if __name__ == "__main__":
    sys.exit(main())
