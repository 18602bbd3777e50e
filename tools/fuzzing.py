"""What the fuzzers of files and of calls share: inputs by seed and index, tried on every processor, and a
report.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_report import add_seed
from patience import TooLongError, patience

from forearm.errors import ForearmError

CHUNK = 500  # inputs that a process takes at a time


@dataclass(frozen=True)
class Subject:
    """What is fuzzed.

    Args:
        make: an input from chance.
        check: an answer, or a ForearmError; given the input and a folder for files.
        written: an input as it is kept for a look at it.
        suffix: of such a file.
        limit: processor time that an input may take, s.
    """

    make: Callable[[random.Random], Any]
    check: Callable[[Any, Path], None]
    written: Callable[[Any], bytes]
    suffix: str
    limit: float = 2.0


@dataclass(frozen=True)
class Failure:
    """Where something went wrong, what, with which input first, where that is kept, and how often in all."""

    place: str
    what: str
    index: int
    file: str
    times: int = 1


@dataclass(frozen=True)
class Report:
    """What came of `count` inputs of one subject."""

    program: str  # with the option that takes the name, such as "fuzz.py --reader"
    name: str
    seed: int
    count: int
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0  # s of processor time
    slowest_index: int = 0
    failures: tuple[Failure, ...] = ()

    def __str__(self) -> str:
        failed = sum(failure.times for failure in self.failures)
        said = (
            f"{self.name}: {self.count} inputs, seed {self.seed}: {self.accepted} accepted, "
            f"{self.refused} refused, {failed} failed; slowest {self.slowest:.3f} s (index "
            f"{self.slowest_index}), {self.seconds:.1f} s in all"
        )
        for failure in self.failures:
            again = f"python tools/{self.program} {self.name} --seed {self.seed} --index {failure.index}"
            said += f"\n  {failure.times} x {failure.place}: {failure.what}\n    input: {failure.file}"
            said += f"\n    again: {again}"
        return said

    def __add__(self, other: Report) -> Report:
        found: dict[str, Failure] = {}
        for failure in (*self.failures, *other.failures):
            first = found.get(failure.place)
            found[failure.place] = (
                failure if first is None else dataclasses.replace(first, times=first.times + failure.times)
            )
        slow = max(self, other, key=lambda report: report.slowest)
        return dataclasses.replace(
            self,
            count=self.count + other.count,
            accepted=self.accepted + other.accepted,
            refused=self.refused + other.refused,
            seconds=self.seconds + other.seconds,
            slowest=slow.slowest,
            slowest_index=slow.slowest_index,
            failures=tuple(found.values()),
        )


@dataclass(frozen=True)
class Fuzzer:
    """A program and its subjects by name, one of which `option` chooses."""

    program: str
    option: str
    subjects: Mapping[str, Subject]

    def make(self, name: str, seed: int, index: int) -> Any:
        """Input number `index` of a seed, the same whenever and wherever it is made."""
        return self.subjects[name].make(random.Random(f"{name} {seed} {index}"))

    def fuzz(self, name: str, count: int, seed: int, first: int = 0) -> Report:
        """Try `count` inputs from index `first` on, and report what came of it."""
        report = Report(f"{self.program} {self.option}", name, seed, 0)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for index in range(first, first + count):
                report += self._one(name, seed, index, Path(folder))
        return report

    def _one(self, name: str, seed: int, index: int, folder: Path) -> Report:
        subject, given = self.subjects[name], self.make(name, seed, index)
        accepted, refused, place, what = 0, 0, "", ""
        start, cpu = time.perf_counter(), time.process_time()
        try:
            with patience(5 * subject.limit):
                subject.check(given, folder)
            accepted = 1
        except ForearmError:
            refused = 1
        except (Exception, TooLongError) as error:  # everything else is what is looked for
            place, what = _place(error), str(error)[:300]
        cpu = time.process_time() - cpu
        if cpu > subject.limit and not place:
            accepted, refused, place, what = 0, 0, "slow", f"{cpu:.1f} s, allowed are {subject.limit:g} s"
        failures: tuple[Failure, ...] = ()
        if place:
            kept = Path(tempfile.gettempdir()) / "forearm-fuzz" / f"{name}-{seed}-{index}{subject.suffix}"
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(subject.written(given))
            failures = (Failure(place, what, index, str(kept)),)
        seconds = time.perf_counter() - start
        made = Report(f"{self.program} {self.option}", name, seed, 1)
        return dataclasses.replace(
            made,
            accepted=accepted,
            refused=refused,
            seconds=seconds,
            slowest=cpu,
            slowest_index=index,
            failures=failures,
        )

    def run(self, name: str, count: int, seed: int) -> Report:
        """The report of `count` inputs, made and tried on every processor there is."""
        pieces = range(0, count, CHUNK)
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            sizes = [min(CHUNK, count - first) for first in pieces]
            reports = pool.map(self.fuzz, [name] * len(pieces), sizes, [seed] * len(pieces), pieces)
            return sum(reports, Report(f"{self.program} {self.option}", name, seed, 0))

    def main(self, about: str | None) -> int:
        """Print one line a subject, or JSON; 1 where something failed."""
        parser = argparse.ArgumentParser(
            description=about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--count", type=int, default=2000, help="inputs of each")
        add_seed(parser)
        parser.add_argument(self.option, dest="name", choices=(*self.subjects, "all"), default="all")
        parser.add_argument("--index", type=int, help="only this input")
        parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
        given = parser.parse_args()
        print(f"seed {given.seed}", file=sys.stderr, flush=True)
        reports = []
        for name in self.subjects if given.name == "all" else [given.name]:
            if given.index is None:
                reports.append(self.run(name, given.count, given.seed))
            else:
                reports.append(self.fuzz(name, 1, given.seed, given.index))
            if not given.json:
                print(reports[-1], flush=True)
        if given.json:
            print(json.dumps([dataclasses.asdict(report) for report in reports], indent=1))
        return int(any(report.failures for report in reports))


def _place(error: BaseException) -> str:
    """The kind of the error and the last line of forearm that it, or what it came from, passed."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    inside = [f for f in frames if f"{os.sep}forearm{os.sep}" in f.filename] or frames
    return f"{type(error).__name__} at {Path(inside[-1].filename).name}:{inside[-1].lineno}"
