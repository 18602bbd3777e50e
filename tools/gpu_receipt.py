"""What the tests marked `gpu` last passed with, so that `make test` can say what has changed since.

    .venv/bin/python tools/gpu_receipt.py [COMMIT]      on a machine with an NVIDIA GPU; or make test-gpu

runs them and, if none fails, writes tests/data/gpu_receipt.json: the commit (given for a copy that has no
repository), the device, its driver, how many passed and were skipped, and a digest of each file of the
package and of the tests that the run imported.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
RECEIPT = ROOT / "tests" / "data" / "gpu_receipt.json"
TESTS = ("tests/kernels/cuda", "tests/frameworks", "tests/simulation/test_rows_on_a_gpu.py")
COMMAND = "make test-gpu, on a machine with an NVIDIA GPU"
SHOWN = 3  # files named in a line
DIGITS = 16  # of a digest


class Outcomes:
    """Counts the outcomes of a run of pytest."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1


def digests(files: Iterable[str], root: Path = ROOT) -> dict[str, str]:
    """A digest of each of these files that is there."""
    there = (name for name in sorted(files) if (root / name).is_file())
    return {name: hashlib.sha256((root / name).read_bytes()).hexdigest()[:DIGITS] for name in there}


def imported() -> list[str]:
    """The project's files that this process has imported."""
    files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    found = {Path(file).resolve() for file in files if file}
    folders = (ROOT / "src", ROOT / "tests", ROOT / "tools")
    return [p.relative_to(ROOT).as_posix() for p in found if any(p.is_relative_to(f) for f in folders)]


def moved(receipt: dict[str, Any], root: Path = ROOT) -> list[str]:
    """The files of a receipt that are no longer what its tests ran with."""
    now = digests(receipt["files"], root)
    return [name for name, digest in receipt["files"].items() if now.get(name) != digest]


def state(path: Path = RECEIPT, root: Path = ROOT) -> str:
    """One line for people: what the tests on a GPU last passed with, and whether that is today's code."""
    if not path.is_file():
        return f"tests on a GPU: no receipt of a run ({COMMAND})"
    receipt = json.loads(path.read_text(encoding="utf-8"))
    where = f"{receipt['passed']} passed on {receipt['device']} at commit {receipt['commit'][:8]}"
    changed = moved(receipt, root)
    if not changed:
        return f"tests on a GPU: {where}, with these sources"
    names = ", ".join(changed[:SHOWN]) + (", ..." if len(changed) > SHOWN else "")
    return f"tests on a GPU: {where}; {len(changed)} files changed since ({names}): {COMMAND}"


def output(*words: str) -> str:
    """What a command prints."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Run the tests, and write the receipt if they passed."""
    if len(sys.argv) > 1:
        commit = sys.argv[1]
    elif output("git", "status", "--porcelain"):
        print("commit first: a receipt names the commit whose tests passed", file=sys.stderr)
        return 2
    else:
        commit = output("git", "rev-parse", "HEAD")
    found = output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    device, driver = found.splitlines()[0].split(", ")
    outcomes = Outcomes()
    status = pytest.main(["-m", "gpu", "-p", "no:xdist", *TESTS], plugins=[outcomes])
    counts = outcomes.counts
    if status != 0 or not counts["passed"]:
        print(f"no receipt: {dict(counts)}", file=sys.stderr)
        return int(status) or 1
    receipt = {
        "commit": commit,
        "device": device,
        "driver": driver,
        "passed": counts["passed"],
        "skipped": counts["skipped"],
        "files": digests(imported()),
    }
    RECEIPT.write_text(json.dumps(receipt, indent=1) + "\n", encoding="utf-8")
    print(f"{RECEIPT.relative_to(ROOT)}: {state()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
