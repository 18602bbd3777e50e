"""The receipt of the tests on a GPU is whole, and notices every changed file."""

from __future__ import annotations

import json
from pathlib import Path

import gpu_receipt
import pytest


def receipt_of(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    path = root / "receipt.json"
    content = {"commit": "0123456789ab", "device": "some GPU", "driver": "580.1", "passed": 7, "skipped": 1}
    path.write_text(json.dumps(content | {"files": gpu_receipt.digests(names, root)}), encoding="utf-8")
    return path


def test_the_state_says_what_passed_and_what_has_changed_since(tmp_path: Path) -> None:
    path = receipt_of(tmp_path, "a.py", "b.py", "c.py")
    said = "tests on a GPU: 7 passed on some GPU at commit 01234567"
    assert gpu_receipt.state(path, tmp_path) == f"{said}, with these sources"
    (tmp_path / "b.py").write_text("# another\n", encoding="utf-8")
    (tmp_path / "c.py").unlink()
    assert gpu_receipt.state(path, tmp_path).startswith(
        f"{said}; 2 files changed since (b.py, c.py): make test-gpu"
    )
    assert "no receipt" in gpu_receipt.state(tmp_path / "none.json")


@pytest.mark.slow
def test_what_the_run_imports_is_digested() -> None:
    files = gpu_receipt.imported()
    assert "tools/gpu_receipt.py" in files
    assert "src/forearm/__init__.py" in files
    assert len(gpu_receipt.digests(files)) == len(files)


@pytest.mark.skipif(not gpu_receipt.RECEIPT.is_file(), reason="no receipt of a run on a GPU")
def test_the_receipt_is_of_tests_that_passed() -> None:
    receipt = json.loads(gpu_receipt.RECEIPT.read_text(encoding="utf-8"))
    assert receipt["passed"] > 0
    assert {"commit", "device", "driver", "skipped"} <= receipt.keys()
    assert {"tests/kernels/cuda/test_device_kernels.py", "src/forearm/kernels/cuda/driver.py"} <= set(
        receipt["files"]
    )
