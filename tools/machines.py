"""Shows that the tests do not depend on the machine: they run in many circumstances, and a page records it.

    python tools/machines.py --list
    python tools/machines.py --only arm64,hash-1
    python tools/machines.py --quick --only 'openblas-*'

One line per circumstance, then its failed tests; the whole output of each run is in .machines/log. Rows of
docs/machines.md for circumstances that were not run are kept. Exit status 1 if tests fail.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path

from machine_record import Outcome, write_record
from machine_settings import (
    LEVELS,
    MADE,
    ROOT,
    NotHere,
    Setting,
    arm64,
    as_nobody,
    asked,
    available,
    environment,
    process_options,
    requirements,
    runs,
)

USUAL = "not slow and not long"  # of the tests that are named
# Which tests are run: a name for the record, pytest's arguments, and seconds after which the run is stopped.
SUITE = ("all but slow ones", ("tests",), 3600)
QUICK = (
    "a few",
    (
        "tests/test_values.py", "tests/test_spatial.py", "tests/codegen/test_golden.py",
        "tests/kernels/test_fastcall.py",
    ),
    900,
)  # fmt: skip
# A CPU that is emulated is some ten times slower: half an hour of processor time, and hours.
EMULATED = (
    "what depends on the CPU most",
    (
        "tests/test_texts.py", "tests/test_portable.py", "tests/symbols", "tests/reduction",
        "tests/codegen/test_golden.py", "tests/codegen/test_languages.py", "tests/counting/test_printed.py",
        "tests/kernels/test_angle.py", "tests/kernels/test_fastcall.py", "tests/kernels/test_elf.py",
        "tests/kernels/test_exponential.py", "tests/kernels/test_kernel.py", "tests/kernels/test_sines.py",
        "tests/schedules/test_printed.py",
    ),
    3600,
)  # fmt: skip
EMULATED_LONG = (
    "what can depend on the CPU",
    ("tests/codegen", "tests/counting", "tests/dynamics", "tests/kernels", "tests/schedules"),
    6 * 3600,
)
Tests = tuple[str, tuple[str, ...], int]

CORES = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
LANES = {"x86-64": "2", "x86-64-v2": "2", "x86-64-v3": "4", "x86-64-v4": "8"}  # doubles in a vector
COMMA_LOCALES = ("de_DE.utf8", "fr_FR.utf8", "de_AT.utf8", "es_ES.utf8")
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14", "python3.13t", "python3.14t")
SHOWN = 20  # failed tests that are printed


@dataclass(frozen=True)
class Circumstance:
    """A setting under a name; `prepare` gets a folder for this run and raises NotHere if it cannot be had."""

    name: str
    about: str
    prepare: Callable[[Path], Setting]
    tests: Tests = SUITE
    expected: Mapping[str, str] = field(default_factory=dict)  # facts, each one of several words


def circumstances() -> Iterator[Circumstance]:
    """All of them, in the order in which they are run."""
    for core in CORES:
        names = "katmai prescott" if core == "Prescott" else core.lower()  # the same code under two names
        yield Circumstance(
            f"openblas-{core.lower()}",
            f"OpenBLAS for {core}",
            partial(openblas, core),
            SUITE,
            {"openblas": names},
        )
    yield Circumstance(
        "numpy-baseline",
        "NumPy with no CPU feature above its baseline",
        numpy_without(""),
        SUITE,
        {"dispatched": ""},
    )
    yield Circumstance("numpy-no-avx512", "NumPy without AVX-512", numpy_without("AVX512|X86_V4"))
    for level, lanes in LANES.items():
        yield Circumstance(
            f"cpu-{level}", f"kernels for {level}", partial(kernels_for, level), SUITE, {"lanes": lanes}
        )
    yield Circumstance("arm64", "64-bit Arm, emulated by qemu", lambda _: arm64(), EMULATED)
    yield Circumstance("arm64-long", "64-bit Arm, emulated by qemu", lambda _: arm64(), EMULATED_LONG)
    yield Circumstance(
        "oldest", "the oldest versions that pyproject.toml allows", lambda _: versions("oldest", True)
    )
    yield Circumstance("newest", "the newest versions", lambda _: versions("newest", False))
    for seed in ("0", "1", "4242"):
        yield Circumstance(f"hash-{seed}", f"hash seed {seed}", variables(PYTHONHASHSEED=seed))
    ascii_only = variables(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    yield Circumstance("locale-c", "the C locale, ASCII only", ascii_only)
    yield Circumstance("locale-comma", "a locale with decimal commas", comma_locale)
    yield Circumstance("zone-east", "14 hours ahead of UTC", variables(TZ="Pacific/Kiritimati"))
    yield Circumstance("zone-half", "a time zone of half hours", variables(TZ="America/St_Johns"))
    yield Circumstance(
        "terminal-dumb", "a dumb, narrow terminal", variables(TERM="dumb", NO_COLOR="1", COLUMNS="40")
    )
    yield Circumstance(
        "home-missing", "no home folder", lambda folder: Setting(environment={"HOME": str(folder / "none")})
    )
    yield Circumstance("home-read-only", "a home folder that is read-only", home_read_only)
    yield Circumstance("unprivileged", "the user nobody, a read-only tree", lambda _: as_nobody())
    for name in PYTHONS:
        if name != f"python3.{sys.version_info.minor}":
            yield Circumstance(name, f"{name} of PATH", partial(another_python, name))


def variables(**values: str) -> Callable[[Path], Setting]:
    """This Python with variables of the environment."""
    return lambda _: Setting(environment=values)


@cache
def here() -> dict[str, str]:
    """The facts of this machine with nothing changed."""
    return asked(Setting())


def has_level(level: str) -> bool:
    order = ["x86-64", *LEVELS]
    return here()["level"] in order[order.index(level) :]


def openblas(core: str, _: Path) -> Setting:
    if not here()["level"].startswith("x86-64") or (core == "SkylakeX" and not has_level("x86-64-v4")):
        raise NotHere("not on this CPU")
    return Setting(environment={"OPENBLAS_CORETYPE": core})


def numpy_without(pattern: str) -> Callable[[Path], Setting]:
    """NumPy without those of its features above the baseline that match."""

    def prepare(_: Path) -> Setting:
        off = [name for name in here()["dispatched"].split() if re.search(pattern, name)]
        if not off:
            raise NotHere("not on this CPU")
        return Setting(environment={"NPY_DISABLE_CPU_FEATURES": ",".join(off)})

    return prepare


def kernels_for(level: str, _: Path) -> Setting:
    if not has_level(level):
        raise NotHere("not on this CPU")
    return Setting(environment={"FOREARM_CPU": level})


def versions(name: str, oldest: bool) -> Setting:
    """An environment with the oldest versions, or one made anew with the newest."""
    if not oldest:
        shutil.rmtree(MADE / name, ignore_errors=True)
    return Setting(environment(name, Path(sys.executable).resolve(), requirements(oldest=oldest)))


def comma_locale(_: Path) -> Setting:
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    found = next((name for name in COMMA_LOCALES if name in listed), None)
    if found is None:
        raise NotHere("no such locale is installed: apt-get install locales-all")
    return Setting(environment={"LC_ALL": found, "LANG": found})


def home_read_only(folder: Path) -> Setting:
    """Root may write anywhere: then it is the user nobody who runs the tests."""
    home = folder / "home"
    home.chmod(0o555)
    setting = as_nobody() if os.geteuid() == 0 else Setting()
    return replace(setting, environment={"HOME": str(home)})


def another_python(name: str, _: Path) -> Setting:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = (Path(path) for folder in folders if (path := shutil.which(name, path=folder)))
    base = next((path for path in found if runs(path, Setting())), None)
    if base is None:
        raise NotHere(f"no {name} on PATH")
    return Setting(available(name, base))


def outcome_of(circumstance: Circumstance, quick: bool) -> tuple[Outcome, tuple[str, ...]]:
    """Prepare a circumstance, check that it is what it says, run tests in it; also the failed tests."""
    what, paths, limit = QUICK if quick else circumstance.tests
    row = Outcome(circumstance.name, circumstance.about, what, "")
    with tempfile.TemporaryDirectory(prefix="forearm-machines-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # pytest's report is written there, perhaps by another user
        (folder / "home").mkdir()
        try:
            setting = circumstance.prepare(folder)
            setting = replace(setting, environment={"HOME": str(folder / "home"), **setting.environment})
            known = asked(setting)
            check(known, circumstance.expected)
        except NotHere as reason:
            return replace(row, result=f"not tried: {reason}"), ()
        began = time.monotonic()
        result, failed = tested(circumstance.name, setting, paths, limit, folder / "report.xml")
        took = f"{time.monotonic() - began:.0f}"
    row = replace(row, result=result, seconds=took, day=date.today().isoformat())
    return replace(row, python=known["python"], numpy=known["numpy"], llvmlite=known["llvmlite"]), failed


def check(known: Mapping[str, str], expected: Mapping[str, str]) -> None:
    for key, value in expected.items():
        if known[key] and known[key] not in value.split():
            raise NotHere(f"expected {key} {value or 'off'}, got {known[key]}")


def tested(
    name: str, setting: Setting, paths: Sequence[str], limit: int, report: Path
) -> tuple[str, tuple[str, ...]]:
    """The result in words, and the failed tests."""
    there = [path for path in paths if (setting.tree / path).exists()]
    options = ["-n", "auto", "-p", "no:cacheprovider", "-rfEs", "-m", USUAL, f"--junitxml={report}"]
    log = MADE / "log" / f"{name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [str(setting.python), "-m", "pytest", *options, *there], stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True, **process_options(setting),
        )  # fmt: skip
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"failed: not done after {limit} s", ()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the session that was started above, workers included
                process.wait()
    if not report.exists():
        return f"failed: pytest ended with status {process.returncode} and no report", ()
    return read_report(report)


def read_report(path: Path) -> tuple[str, tuple[str, ...]]:
    """Counts and the failed tests of pytest's report."""
    suite = next(ElementTree.parse(path).iter("testsuite"))
    total, errors, failures, skipped = (
        int(suite.get(key, "0")) for key in ("tests", "errors", "failures", "skipped")
    )
    bad = [
        case
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    counts = {"failed": failures + errors, "passed": total - failures - errors - skipped, "skipped": skipped}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return words or "failed: no test ran", tuple(
        f"{case.get('classname')}::{case.get('name')}" for case in bad
    )


def main() -> int:
    """Run what was asked for, one line each."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="example: python tools/machines.py --only 'openblas-*,arm64' --record record.md",
    )
    parser.add_argument(
        "--only", metavar="NAME[,NAME]", default="*", help="these circumstances; * stands for any letters"
    )
    parser.add_argument("--list", action="store_true", help="list the circumstances and end")
    parser.add_argument("--quick", action="store_true", help="a few tests each; recorded only with --record")
    parser.add_argument(
        "--record", metavar="FILE", type=Path, help="where to write the record (default: docs/machines.md)"
    )
    given = parser.parse_args()
    patterns = given.only.split(",")
    everything = list(circumstances())
    for pattern in patterns:
        if not any(fnmatch(c.name, pattern) for c in everything):
            parser.error(f"no circumstance {pattern!r}; --list shows them all")
    chosen = [c for c in everything if any(fnmatch(c.name, pattern) for pattern in patterns)]
    record = given.record or (None if given.quick else ROOT / "docs" / "machines.md")
    failed = False
    for circumstance in chosen:
        if given.list:
            print(f"{circumstance.name:22s} {circumstance.about}; {circumstance.tests[0]}")
            continue
        outcome, broken = outcome_of(circumstance, given.quick)
        failed |= "failed" in outcome.result and bool(outcome.day)
        print(
            f"{outcome.name:22s} {outcome.result}{f', {outcome.seconds} s' if outcome.seconds else ''}",
            flush=True,
        )
        for test in broken[:SHOWN]:
            print(f"    {test}")
        if record is not None:
            write_record(record, outcome, [c.name for c in everything])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
