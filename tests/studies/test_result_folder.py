"""A folder of results: what it takes, what it refuses, and what it finds again."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.toy_campaign import ToyTask, assert_right, expected, manifest_of

from forearm.errors import InputError
from forearm.studies.engines.runner import run_parts
from forearm.studies.storage import atomic_files, result_folder
from forearm.studies.storage.part_file import part_bytes
from forearm.studies.storage.result_folder import ResultFolder, StudyError

TOY = Path(__file__).with_name("toy_campaign.py")
MANIFEST = manifest_of()
TASK = ToyTask(MANIFEST)
PARTS = 9


def filled(path: Path, parts: range = range(PARTS)) -> ResultFolder:
    folder = ResultFolder.open(path, MANIFEST)
    for part in parts:
        folder.commit(part, TASK(part))
    return folder


def temporaries(path: Path) -> list[str]:
    return [found.name for found in path.rglob("*.tmp")]


def test_what_is_committed_comes_back(tmp_path: Path) -> None:
    folder = filled(tmp_path / "new" / "results")
    assert_right(folder.path, MANIFEST)
    assert (folder.parts, folder.rows_of(0), folder.rows_of(8)) == (PARTS, (0, 7), (56, 60))
    assert folder.column("value").dtype == np.float64
    assert folder.column("count").dtype == np.int64
    assert folder.missing() == []
    assert temporaries(tmp_path) == []
    assert json.loads((folder.path / "study.json").read_text()) == MANIFEST


def test_rows_of_complete_parts_alone_are_read_in_order_and_in_ranges(tmp_path: Path) -> None:
    """Whatever the order and layout of the manifest's keys; bytes that are no part are not committed."""
    folder = filled(tmp_path, range(0))
    (tmp_path / "study.json").write_text(json.dumps(dict(reversed(MANIFEST.items())), indent=7))
    for part in (8, 1, 4):
        folder.commit(part, TASK(part))
    with pytest.raises(StudyError, match=r"part 2 \(rows 14 to 20\): expected Parquet bytes of these rows"):
        folder.commit(2, TASK(3))
    with pytest.raises(StudyError, match="not a readable Parquet file"):
        folder.commit(2, b"PAR1")
    folder = ResultFolder.open(tmp_path, MANIFEST)
    assert folder.parts_done() == [1, 4, 8]
    assert folder.missing() == [0, 2, 3, 5, 6, 7]
    assert folder.missing([4, 5, 8]) == [5]
    assert folder.rows_done == 7 + 7 + 4
    assert folder.missing()
    assert folder.column("row").tolist() == [*range(7, 14), *range(28, 35), *range(56, 60)]
    run_parts(folder, TASK)
    for first, last in ((0, 60), (0, 1), (6, 8), (7, 14), (13, 57), (59, 60), (60, 60), (5, 5)):
        table = folder.table(["word", "row", "value"], first, last)
        assert list(table) == ["word", "row", "value"]
        assert table["row"].tolist() == list(range(first, last))
        for name in ("word", "value"):
            assert table[name].tolist() == expected(3, first, last)[name].tolist()


def test_awkward_values_survive(tmp_path: Path) -> None:
    manifest = {"rows": 4, "rows_per_part": 4, "columns": {"x": "float64", "n": "int64", "s": "string"}}
    folder = ResultFolder.open(tmp_path, manifest)
    columns: dict[str, Any] = {
        "x": np.array([np.nan, -np.inf, -0.0, 5e-324]),
        "n": np.array([-(2**63), 2**63 - 1, 0, -1]),
        "s": np.array(["", "\u00e4\n", "x" * 1000, "\U0001f9be"]),
    }
    folder.commit(0, part_bytes(0, columns, folder.digest))
    assert folder.column("x").tobytes() == columns["x"].tobytes()
    assert folder.column("n").tolist() == columns["n"].tolist()
    assert folder.column("s").tolist() == columns["s"].tolist()


def test_another_study_is_refused_with_what_differs(tmp_path: Path) -> None:
    filled(tmp_path, range(2))
    other = manifest_of(seed=4) | {"more": True}
    other["study"]["arm"]["mass"] = [1.5, 2.75, 9]
    with pytest.raises(InputError) as caught:
        ResultFolder.open(tmp_path, other)
    assert str(caught.value) == (
        f"{tmp_path}: expected the study of its study.json, got another one:\n"
        "  study.seed: 3 in the folder, 4 given.\n"
        "  study.arm.mass[1]: 2.5 in the folder, 2.75 given.\n"
        "  study.arm.mass[2]: absent in the folder, 9 given.\n"
        "  more: absent in the folder, True given.\n"
        "Give another folder, or restore the study."
    )
    longer = MANIFEST | {"study": {"x": list(range(40))}}
    ResultFolder.open(tmp_path / "longer", longer)
    with pytest.raises(InputError, match=r"study\.x\[11\]: 11 in .*\n  and 28 more\nGive another"):
        ResultFolder.open(tmp_path / "longer", MANIFEST | {"study": {"x": list(range(1, 41))}})


def test_what_is_no_folder_of_results_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for name in ("others", "parts alone"):
        (tmp_path / name).mkdir()
    (tmp_path / "others" / "thesis.tex").touch()
    filled(tmp_path / "parts alone", range(1)).path.joinpath("study.json").unlink()
    filled(tmp_path / "damaged", range(1)).path.joinpath("study.json").write_text('{"rows": 60, ')
    (tmp_path / "file").touch()
    for name, said in (
        ("others", r"expected an empty folder or one with a study.json, got .*thesis\.tex"),
        ("parts alone", "expected an empty folder"),
        ("damaged", r"study\.json: not valid JSON.*\. Restore it; or give a new folder"),
        ("file", "cannot hold results: File exists"),
    ):
        with pytest.raises(InputError, match=said):
            ResultFolder.open(tmp_path / name, MANIFEST)
    for name, said in (
        ("others", r"expected a results folder with a study\.json"),
        ("damaged", "not valid JSON"),
    ):
        with pytest.raises(InputError, match=said):
            ResultFolder.at(tmp_path / name)
    assert [found.name for found in (tmp_path / "others").iterdir()] == ["thesis.tex"]


def test_names_that_are_unknown_are_refused(tmp_path: Path) -> None:
    folder = filled(tmp_path, range(1))
    with pytest.raises(InputError, match=r"column: expected one of row, value, .* did you mean 'value'"):
        folder.column("valu")
    with pytest.raises(InputError, match="part: expected a whole number from 0 to 8, got 9"):
        folder.missing([9])


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(len(path.read_bytes())))


def of_another_part(path: Path) -> None:
    path.write_bytes(TASK(5))


def of_another_study(path: Path) -> None:
    path.write_bytes(ToyTask(manifest_of(seed=4))(3))


def with_other_columns(path: Path) -> None:
    digest = ResultFolder.at(path.parent.parent).digest
    path.write_bytes(part_bytes(21, {"value": np.zeros(7)}, digest))


def with_fewer_rows(path: Path) -> None:
    digest = ResultFolder.at(path.parent.parent).digest
    path.write_bytes(part_bytes(21, expected(3, 21, 27), digest))


DAMAGES = [truncated, zeroed, of_another_part, of_another_study, with_other_columns, with_fewer_rows]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_part_that_is_not_valid_is_computed_again(tmp_path: Path, damage: Any) -> None:
    folder = filled(tmp_path)
    assert not folder.missing()
    damage(folder.part_path(3))
    reader = ResultFolder.at(tmp_path)
    assert reader.missing() == [3]
    assert folder.part_path(3).exists(), "who only reads moves nothing"
    assert 21 not in reader.column("row")
    again = ResultFolder.open(tmp_path, MANIFEST)
    assert again.missing() == [3]
    assert not folder.part_path(3).exists()
    assert len(list((tmp_path / "parts").glob("broken-part-000003-*.parquet"))) == 1
    assert run_parts(again, TASK) == 1
    assert_right(tmp_path, MANIFEST)


def test_a_damaged_page_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    folder = filled(tmp_path)
    data = bytearray(folder.part_path(3).read_bytes())
    for k in range(30, 400):
        data[k] ^= 0x55
    folder.part_path(3).write_bytes(data)
    with pytest.raises(
        StudyError, match=r"part 3 \(rows 21 to 27\): part-000003.parquet is damaged or missing"
    ):
        ResultFolder.at(tmp_path).table()


def test_a_valid_part_that_came_meanwhile_is_not_moved_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(tmp_path)
    truncated(folder.part_path(3))
    before = ResultFolder._move_aside

    def late(self: ResultFolder, part: int) -> None:
        self.part_path(part).write_bytes(TASK(part))
        before(self, part)

    monkeypatch.setattr(ResultFolder, "_move_aside", late)
    assert folder.missing() == []
    assert_right(tmp_path, MANIFEST)


def test_files_of_others_in_the_folder_do_no_harm(tmp_path: Path) -> None:
    folder = filled(tmp_path, range(4))
    for name in ("slurm-1.log", ".DS_Store"):
        (tmp_path / name).touch()
    for name in ("part-000099.parquet", "part-1.parquet", "notes.txt", ".part-000005.parquet.swp"):
        (folder.path / "parts" / name).write_text("?")
    again = ResultFolder.open(tmp_path, MANIFEST)
    assert again.missing() == [4, 5, 6, 7, 8]
    assert again.progress_now()[:2] == (4, PARTS)
    run_parts(again, TASK)
    assert_right(tmp_path, MANIFEST)
    assert (folder.path / "parts" / "notes.txt").exists()


@cache
def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.slow
def test_temporary_files_of_the_dead_are_swept(tmp_path: Path) -> None:
    folder = filled(tmp_path, range(1))
    host = atomic_files.host_word()
    random = "0123456789abcdef"
    dead, alive, elsewhere, old = (
        tmp_path / "parts" / f".part-000004.parquet.{where}.{pid}.{random}.tmp"
        for where, pid in ((host, ended_process()), (host, os.getpid()), ("elsewhere", 1), ("old", 1))
    )
    for path in (dead, alive, elsewhere, old):
        path.write_bytes(b"half")
    os.utime(old, (1.0, 1.0))
    (tmp_path / f".study.json.{host}.{ended_process()}.{random}.tmp").touch()
    cut_off = tmp_path / "cut off"
    cut_off.mkdir()
    (cut_off / f".study.json.{host}.{ended_process()}.{random}.tmp").write_bytes(b"{")
    assert not filled(cut_off).missing()
    ResultFolder.open(tmp_path, MANIFEST)
    assert sorted(temporaries(tmp_path)) == sorted([alive.name, elsewhere.name])
    assert folder.missing() == list(range(1, PARTS))


def test_the_host_name_in_a_temporary_name_is_one_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "node-1.cluster/x")
    path = atomic_files.write_temporary(tmp_path / "part-000000.parquet", b"")
    found = atomic_files.TEMPORARY.fullmatch(path.name)
    assert found is not None
    assert (found["host"], int(found["pid"])) == ("node-1-cluster-x", os.getpid())


def test_a_temporary_file_that_another_machine_swept_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(tmp_path, range(0))
    replaced = os.replace
    swept: list[Path] = []

    def replace(source: Path, target: Path) -> None:
        if not swept:
            swept.append(source)
            source.unlink()
        replaced(source, target)

    monkeypatch.setattr(os, "replace", replace)
    folder.commit(0, TASK(0))
    assert folder.has(0)
    assert len(swept) == 1


@pytest.mark.parametrize("change", ["replaced", "removed", "damaged"])
def test_a_manifest_that_changes_underneath_stops_the_run(tmp_path: Path, change: str) -> None:
    folder = filled(tmp_path, range(2))
    place = tmp_path / "study.json"
    place.unlink()
    if change == "replaced":
        place.write_text(json.dumps(manifest_of(seed=9)))
    if change == "damaged":
        place.write_text("{")
    with pytest.raises(StudyError, match=r"study\.json: the manifest was changed, damaged or removed"):
        run_parts(folder, TASK, workers=1)
    assert len(list((tmp_path / "parts").iterdir())) == 2


@pytest.mark.slow
def test_a_disk_without_room(tmp_path: Path) -> None:
    """Really: the system refuses files of more than some bytes, as a full disk does."""
    words = [sys.executable, str(TOY), str(tmp_path / "out"), "--workers", "1", "--rows-per-part", "20"]
    words += ["--rows", "50"]
    size = len(ToyTask(manifest_of(50, 20))(2))  # the last part is smaller than the others
    full = subprocess.run(
        [*words, "--largest-file", str(size)], capture_output=True, text=True, check=False, timeout=60
    )
    assert full.returncode == 2
    assert (
        "part 0 (rows 0 to 19): cannot be written: File too large. 0 of 3 parts are complete" in full.stderr
    )
    assert "run the same command again: it computes only what is missing" in full.stderr
    assert temporaries(tmp_path) == []
    manifest = manifest_of(50, 20)
    run_parts(ResultFolder.open(tmp_path / "out", manifest), ToyTask(manifest))
    assert_right(tmp_path / "out", manifest)


@pytest.mark.parametrize("where", ["fsync", "replace", "open"])
def test_a_disk_that_fills_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    folder = filled(tmp_path, range(4))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path if where == "open" else os, where, full)
        with pytest.raises(StudyError, match=r"part 4 .*: cannot be written: No space left .* 4 of 9 parts"):
            folder.commit(4, TASK(4))
    assert temporaries(tmp_path) == []
    assert run_parts(ResultFolder.open(tmp_path, MANIFEST), TASK) == PARTS - 4
    assert_right(tmp_path, MANIFEST)


def test_a_part_that_another_writer_has_committed_needs_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "a reader has it open, on Windows")

    monkeypatch.setattr(os, "replace", refuse)
    folder.commit(4, TASK(4))
    assert_right(tmp_path, MANIFEST)


def test_a_folder_that_cannot_be_synced_for_want_of_room_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(error: int) -> None:
        def fail(descriptor: int) -> None:
            raise OSError(error, os.strerror(error))

        monkeypatch.setattr(os, "fsync", fail)

    fsync(errno.EINVAL)  # a network file system that knows no such thing
    atomic_files.sync_folder(tmp_path)
    fsync(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        atomic_files.sync_folder(tmp_path)


def test_a_folder_in_the_place_of_a_part_is_moved_aside(tmp_path: Path) -> None:
    folder = filled(tmp_path)
    folder.part_path(3).unlink()
    folder.part_path(3).mkdir()
    assert run_parts(folder, TASK) == 1
    assert_right(tmp_path, MANIFEST)


def test_a_part_that_may_not_be_read_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled(tmp_path)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(result_folder, "signature", refuse)
    with pytest.raises(StudyError, match=r"part 3 .* cannot be read: .* Make it readable, or remove it"):
        folder.missing([3])
    assert folder.part_path(3).exists()


def test_many_writers_of_the_same_parts(tmp_path: Path) -> None:
    folders = [ResultFolder.open(tmp_path, MANIFEST) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda f=f: [f.commit(k, TASK(k)) for k in range(PARTS)]) for f in folders
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_right(tmp_path, MANIFEST)
    assert temporaries(tmp_path) == []


def test_a_study_that_another_process_begins_meanwhile_is_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = atomic_files.visible

    def late(folder: Path) -> Any:
        if not (tmp_path / "study.json").exists():
            monkeypatch.setattr(result_folder, "visible", looked)
            filled(tmp_path, range(2))
        return looked(folder)

    monkeypatch.setattr(result_folder, "visible", late)
    assert ResultFolder.open(tmp_path, MANIFEST).missing() == list(range(2, PARTS))
    before = (tmp_path / "study.json").read_bytes()
    atomic_files.write_new(tmp_path / "study.json", b"second")
    assert (tmp_path / "study.json").read_bytes() == before


def test_a_manifest_that_changes_while_the_folder_is_opened_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(folder: Path) -> None:
        (tmp_path / "study.json").write_text(json.dumps(manifest_of(seed=9)))

    monkeypatch.setattr(result_folder, "sweep", late)
    folder = ResultFolder.open(tmp_path, MANIFEST)
    with pytest.raises(StudyError, match=r"study\.json: the manifest was changed, damaged or removed"):
        folder.commit(0, TASK(0))


@pytest.mark.parametrize(("before", "after"), [(0.0, -0.0), (1, 1.0), (1, True), ([], {})])
def test_what_has_another_digest_is_another_study(tmp_path: Path, before: Any, after: Any) -> None:
    filled_of = ResultFolder.open(tmp_path, MANIFEST | {"study": {"x": before}})
    with pytest.raises(InputError, match=r"study\.x: .* in the folder, .* given"):
        ResultFolder.open(tmp_path, MANIFEST | {"study": {"x": after}})
    assert filled_of.missing() == list(range(PARTS))


def test_without_links_a_manifest_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    filled(tmp_path)
    assert_right(tmp_path, MANIFEST)
    assert temporaries(tmp_path) == []


def test_the_rate_is_that_of_recent_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled(tmp_path, range(5))
    monkeypatch.setattr(time, "time", lambda: 1008.0)
    for part in range(5):
        os.utime(folder.part_path(part), (1000.0 + part, 1000.0 + part))
    assert ResultFolder.at(tmp_path).progress_now() == (5, PARTS, 0.5)
    assert ResultFolder.open(tmp_path / "empty", MANIFEST).progress_now() == (0, PARTS, 0.0)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from forearm.logs import arrow

    monkeypatch.setattr(arrow, "arrow", lambda: None)
    with pytest.raises(InputError, match=r"pip install 'forearm\[parquet\]'"):
        ResultFolder.open(tmp_path / "new", MANIFEST)
    assert not (tmp_path / "new").exists()
