"""`forearm cache`: what is kept, why it is not used, and that clearing removes nothing else."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path
from typing import Any

import pytest
from cli.lines import Capture, called, document

import forearm as fa
from forearm.cli.cache import SHOWN
from forearm.kernels import cache

ABOUT = {"arm": "elbow", "functions": ["bias", "gravity"], "dtype": "float32", "part": "batch"}


def shown(capsys: Capture, *options: str) -> str:
    code, out, err = called(capsys, "cache", *options)
    assert (code, err) == (0, "")
    return out


def table(capsys: Capture) -> Any:
    return document(capsys, "cache")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kept"
    monkeypatch.setenv("FOREARM_CACHE", str(folder))
    monkeypatch.setenv("COLUMNS", "150")
    return folder


def keep(count: int) -> None:
    """So many entries, the last of them used last."""
    for k in range(count):
        cache.write(f"{k:064x}", {**ABOUT, "arm": f"arm{k}"}, bytes(2000))
    place = cache.folder()
    assert place is not None
    for k in range(count):
        os.utime(place / f"{k:064x}.kernel", (1e9 + k, 1e9 + k))


def test_what_was_compiled_is_listed(place: Path, capsys: Capture) -> None:
    arm = fa.load("ascher2")
    fa.compile(arm, dtype="float32").gravity([[0.1, 0.2]])
    out = shown(capsys)
    assert f"folder  {place}\nused    yes\nfiles   2, " in out
    assert re.search(r"\nascher2 +gravity +float32 +single +\d+\.\d KiB  \d{4}-\d\d-\d\d \d\d:\d\d", out)
    assert re.search(r"\nascher2 +gravity +float32 +batch ", out)
    found = table(capsys)
    assert (found["folder"], found["used"], found["why_not"]) == (str(place), True, None)
    assert (found["files"], found["bound"], found["unfinished"]) == (2, cache.BOUND, 0)
    assert found["bytes"] == sum(path.stat().st_size for path in place.iterdir())
    made = {"arm": "ascher2", "functions": ["gravity"], "dtype": "float32", "damaged": False}
    assert made.items() <= found["entries"][0].items()


def test_the_newest_come_first_and_the_rest_is_counted(place: Path, capsys: Capture) -> None:
    keep(SHOWN + 3)
    out = shown(capsys)
    assert re.findall(r"^(arm\d+) ", out, flags=re.M) == [f"arm{k}" for k in range(SHOWN + 2, 2, -1)]
    assert "bias + gravity" in out
    assert out.endswith("\n... and 3 more\n")
    assert [entry["arm"] for entry in table(capsys)["entries"]] == [
        f"arm{k}" for k in range(SHOWN + 2, -1, -1)
    ]
    for k in range(3):
        (place / f"{k:064x}.kernel").unlink()
    assert "more" not in shown(capsys)


def test_damaged_and_unfinished_files_are_said_to_be(place: Path, capsys: Capture) -> None:
    keep(2)
    damaged = place / f"{1:064x}.kernel"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (place / f"{7:064x}.1.2.part").write_bytes(b"half")
    out = shown(capsys)
    assert re.search(r"^damaged +2\.\d KiB", out, flags=re.M)
    assert re.search(r"^arm0 ", out, flags=re.M)
    assert "and 1 being written or left unfinished" in out
    found = table(capsys)
    assert sorted(entry["damaged"] for entry in found["entries"]) == [False, True]
    assert found["unfinished"] == 1


def test_the_bound_is_shown(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_CACHE_BYTES", str(3 * 2**20))
    assert "of at most 3.0 MiB" in shown(capsys)
    assert table(capsys)["bound"] == 3 * 2**20


def test_why_it_is_not_used(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "used    no: not created yet" in shown(capsys)
    assert not place.exists(), "looking makes nothing"
    keep(1)
    assert table(capsys)["used"] is True
    place.chmod(0o777)
    out = shown(capsys)
    assert "used    no: can be written to by others; chmod go-w makes it usable" in out
    assert table(capsys)["used"] is False
    for off in ("off", ""):
        monkeypatch.setenv("FOREARM_CACHE", off)
        assert "folder  -\nused    no: FOREARM_CACHE is off\nfiles   0, " in shown(capsys)
        assert table(capsys)["folder"] is None
    place.chmod(0o700)
    monkeypatch.setenv("FOREARM_CACHE", str(place / f"{0:064x}.kernel"))
    assert "used    no: is not a folder" in shown(capsys)


def test_without_a_home_it_says_what_to_do(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: object) -> Any:
        raise KeyError

    for name in ("HOME", "XDG_CACHE_HOME", "FOREARM_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert "no: no home folder found; set FOREARM_CACHE=FOLDER" in shown(capsys)


def test_clear_removes_what_was_written_and_nothing_else(place: Path, capsys: Capture) -> None:
    keep(3)
    (place / f"{7:064x}.1.2.part").write_bytes(b"half")
    size = sum(path.stat().st_size for path in place.iterdir())
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    (place / "other.kernel").write_text("mine", encoding="utf-8")
    assert shown(capsys, "--clear") == f"4 files removed, {size / 1024:.1f} KiB.\n"
    assert sorted(path.name for path in place.iterdir()) == ["notes.txt", "other.kernel"]
    assert shown(capsys, "--clear") == "0 files removed, 0.0 KiB.\n"
    keep(1)
    found = document(capsys, "cache", "--clear")
    assert found.pop("bytes") > 2000
    assert found == {"folder": str(place), "removed": 1, "left": 0}


def test_clear_says_what_it_could_not_remove(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(2)

    def refused(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", refused)
    code, out, err = called(capsys, "cache", "--clear")
    assert (code, out) == (2, "0 files removed, 0.0 KiB.\n")
    assert "2 of its files are still there" in " ".join(err.split())


def test_clearing_nothing_is_no_error(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(capsys, "--clear") == "0 files removed, 0.0 KiB.\n"
    monkeypatch.setenv("FOREARM_CACHE", "off")
    assert shown(capsys, "--clear") == "0 files removed, 0.0 KiB.\n"


def test_a_date_that_no_calendar_has(place: Path, capsys: Capture) -> None:
    keep(1)
    found = cache.entries(place)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "entries", lambda place: [cache.Entry(found.path, found.size, 1e30)])
        out = shown(capsys)
    assert re.search(r"KiB +-$", out, flags=re.M)
