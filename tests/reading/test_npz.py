"""Simulations in files and back to the bit; hostile and damaged files."""

from __future__ import annotations

import dataclasses
import json
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from simulation.making import assert_same, bits, sines

import forearm as fa
from forearm.errors import ForearmError, InputError
from forearm.reading.npz import pack, read_archive, unpack, write_archive
from forearm.simulation import load_simulation

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.ForearmWarning")


# --- files --------------------------------------------------------------------------------------------


def test_npz_holds_everything_to_the_bit(tmp_path: Path) -> None:
    simulation = sines()
    simulation.save(tmp_path / "a.npz")
    assert_same(load_simulation(tmp_path / "a.npz"), simulation)
    given = fa.load("puma560").replace(notes="another note")
    assert load_simulation(tmp_path / "a.npz", given).arm is given
    with np.load(tmp_path / "a.npz", allow_pickle=False) as plain:
        assert bits(plain["energy_kinetic"]) == bits(simulation.energy["kinetic"])


def test_an_arm_with_drives_and_branches_comes_back(tmp_path: Path) -> None:
    simulation = sines(
        random_arm(4, 5, tree=True, mimic=True), voltage=None, checkpoint=None, step=None, energy={}, lost={}
    )
    simulation.save(tmp_path / "a.npz")
    assert_same(load_simulation(tmp_path / "a.npz", simulation.arm), simulation)
    assert load_simulation(tmp_path / "a.npz").arm == simulation.arm


NUMBERS = hnp.arrays(np.float64, (5, 2), elements=st.floats(allow_nan=True, allow_infinity=True, width=64))
KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_, np.complex128])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    hnp.arrays(KINDS, hnp.array_shapes(min_dims=0, min_side=0)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@pytest.mark.slow
@settings(max_examples=15)
@given(numbers=st.tuples(*[NUMBERS] * 4), checkpoint=st.dictionaries(st.text(max_size=4), TREES, max_size=4))
def test_any_numbers_and_checkpoints_come_back(
    tmp_path_factory: Any, numbers: Any, checkpoint: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    names = dict(zip(("q", "qd", "qdd", "tau"), numbers, strict=True))
    simulation = sines("chain2", 5, **names, voltage=None, checkpoint=checkpoint)
    simulation.save(path)
    loaded = load_simulation(path)
    assert repr(bits(loaded.checkpoint)) == repr(bits(checkpoint))  # by text, for NaN is not equal to itself
    assert_same(
        dataclasses.replace(loaded, checkpoint=None), dataclasses.replace(simulation, checkpoint=None)
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_hold_every_column_to_the_bit(ending: str, tmp_path: Path) -> None:
    simulation = sines("chain2", 40)
    path = tmp_path / f"a.{ending}"
    simulation.save(path)
    if ending == "csv":
        header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
        rows = np.loadtxt(path, delimiter=",", skiprows=1)
    else:
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        header = table.column_names
        rows = np.column_stack([column.to_numpy() for column in table.columns])
    assert header == [
        "t", "q1", "q2", "qd1", "qd2", "qdd1", "qdd2", "tau1", "tau2", "voltage1", "voltage2",
        "energy_kinetic", "energy_potential", "energy_supplied", "energy_lost", "lost_gear1", "lost_gear2",
        "lost_winding1", "lost_winding2",
    ]  # fmt: skip
    for k, (name, column) in enumerate(simulation.columns().items()):
        assert header[k] == name
        assert bits(np.ascontiguousarray(rows[:, k])) == bits(np.ascontiguousarray(column)), name


def test_csv_without_arrow_is_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = sines("chain2", 40)
    monkeypatch.setattr("forearm.logs.arrow.arrow", lambda: None)
    simulation.save(tmp_path / "a.csv")
    rows = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)
    assert bits(np.ascontiguousarray(rows[:, 1:3])) == bits(simulation.q)
    with pytest.raises(InputError, match=r"a\.parquet: Parquet files need pyarrow"):
        simulation.save(tmp_path / "a.parquet")


def test_where_it_cannot_be_saved(tmp_path: Path) -> None:
    for name, message in (
        ("a.xlsx", r"a\.xlsx: a simulation .to_html writes pages. ends in \.npz, \.csv, \.parquet, \.pq or"),
        ("none/a.npz", "cannot be written: No such file or directory"),
        ("none/a.csv", "cannot be written: No such file or directory"),
    ):
        with pytest.raises(InputError, match=message):
            sines().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_no_file_holds() -> None:
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    for checkpoint in (
        {"f": print},
        {"x": {1: 2}},
        {"$array": "q"},
        {"x": np.array(["a"])},
        {"x": np.array([None])},
        {"x": deep},
    ):
        with pytest.raises(InputError, match=r"checkpoint: |array_0: expected an array of numbers"):
            pack(checkpoint, {})


@pytest.mark.slow
def test_a_killed_run_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    code = (
        "import sys; from simulation.making import sines\ns = sines(samples=20_001)\nwhile "
        "True: s.save(sys.argv[1])"
    )
    folder = str(Path(__file__).parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, str(path)], env={"PYTHONPATH": folder}
    )
    try:
        deadline = time.monotonic() + 60.0
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert_same(load_simulation(path), sines(samples=20_001))


# --- hostile and damaged files ------------------------------------------------------------------------


def zipped(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array: np.ndarray[Any, Any], **how: Any) -> bytes:
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array, **how)
    return buffer.getvalue()


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_header(entries: dict[str, bytes], **changes: Any) -> bytes:
    text = npy(np.frombuffer(b"{}", np.uint8))
    start = len(text) - 2
    header = json.loads(entries["header.npy"][start:]) | changes
    return zipped(entries | {"header.npy": npy(np.frombuffer(json.dumps(header).encode(), np.uint8))})


def hostile(entries: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Archives that are none, each with what is wrong with it."""
    whole = zipped(entries)
    many = bytearray(whole)
    many[-14:-10] = struct.pack("<HH", 60_000, 60_000)
    yield from {
        "empty": b"",
        "no zip": b"PK\x03\x04 something else entirely, and long enough for a zip",
        "no entries": zipped({}),
        "compressed": zipped(entries, zipfile.ZIP_DEFLATED),
        "bomb": zipped({"header.npy": npy(np.zeros(10_000_000, np.uint8))}, zipfile.ZIP_DEFLATED),
        "cut": whole[:-100],
        "with a comment": whole[:-2] + b"\x05\x00hello",
        "many entries": bytes(many),
        "a flipped bit": whole[:4000] + bytes([whole[4000] ^ 1]) + whole[4001:],
    }.items()
    for left_out in ("header.npy", "q.npy"):
        yield f"no {left_out}", zipped({k: v for k, v in entries.items() if k != left_out})
    for name, q in {
        "pickle": npy(np.array([{}], dtype=object), allow_pickle=True),
        "huge shape": entries["q.npy"].replace(b"(101, 6), }" + b" " * 14, b"(999999999999, 999999), }"),
        "short data": entries["q.npy"][:-8],
        "other shape": npy(np.zeros((101, 5))),
        "float32": npy(np.zeros((101, 6), np.float32)),
        "columns first": npy(np.asfortranarray(np.zeros((101, 6)))),
    }.items():
        yield name, zipped(entries | {"q.npy": q})
    for header in (b"[" * 100_000, b"{'a'", b"[]", b"1" * 10_000):
        yield f"header {header[:9]!r}", zipped(entries | {"header.npy": npy(np.frombuffer(header, np.uint8))})
    for key, *values in (
        ("format", "forearm-simulation/9", []),
        ("arm", None, {"schema": "forearm-arm/1", "parts": "/etc/passwd"}),
        ("method", 3),
        ("events", 3, [[0.0]], [[0.0, [], None, ""]]),
        ("energy", ["q" * 1000], [{}]),
        ("checkpoint", {"x": {"$array": "nowhere"}}, {"x": {"$array": "q"}}),
    ):
        for value in values:
            yield f"{key} = {value}", with_header(entries, **{key: value})


@pytest.mark.slow
def test_hostile_archives_are_refused_with_their_name(tmp_path: Path) -> None:
    sines().save(tmp_path / "good.npz")
    for wrong, data in hostile(entries_of(tmp_path / "good.npz")):
        (tmp_path / "bad.npz").write_bytes(data)
        print(wrong)  # the last one is at fault where this fails
        with pytest.raises(InputError, match=r"^bad\.npz[:,] ") as caught:
            load_simulation(tmp_path / "bad.npz")
        assert len(str(caught.value)) < 500


@pytest.mark.slow
def test_any_damage_is_an_error_or_the_same_simulation(tmp_path: Path) -> None:
    simulation = sines("chain2", 4)
    simulation.save(tmp_path / "a.npz")
    good = (tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(good)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            data[place] = rng.integers(256)
        (tmp_path / "a.npz").write_bytes(
            bytes(data)[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else bytes(data)
        )
        try:
            loaded = load_simulation(tmp_path / "a.npz")
        except ForearmError:
            continue
        assert bits(loaded.q) == bits(simulation.q)


def test_entries_that_overlap_are_refused(tmp_path: Path) -> None:
    data = zipped({"header.npy": npy(np.zeros(5000, np.uint8))})
    start = data.rindex(b"PK\x01\x02")
    entry, end = data[start:-22], bytearray(data[-22:])
    directory = b"".join(entry.replace(b"header.npy", b"heade%03dpy" % k) for k in range(40))
    end[8:16] = struct.pack("<HHL", 40, 40, len(directory))
    (tmp_path / "a.npz").write_bytes(data[:start] + directory + bytes(end))
    with pytest.raises(InputError, match=r"a\.npz: not an archive of .*, or damaged: .*overlapping"):
        read_archive(tmp_path / "a.npz")


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    sines().save(tmp_path / "a.npz")
    (tmp_path / "folder.npz").mkdir()
    heavier = fa.load("puma560").with_payload(1.0)
    wrong: list[tuple[str, Any, str]] = [
        (
            "a",
            heavier,
            r"it was computed with 'puma560', 6 joints, .*has other parameters\. Leave the arm out",
        ),
        ("a", "puma560", r"load_simulation, arm: expected an Arm, .* got 'puma560'"),
        ("none", None, r"no such file\. Check the path\."),
        ("folder", None, "a folder, not a file"),
    ]
    for name, arm, message in wrong:
        with pytest.raises(InputError, match=rf"{name}\.npz[:,] {message}"):
            load_simulation(tmp_path / f"{name}.npz", arm)
    with pytest.raises(InputError, match=r"a\.csv: a whole simulation .* ends in \.npz"):
        load_simulation(tmp_path / "a.csv")


def test_too_much_for_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sines().save(tmp_path / "a.npz")
    monkeypatch.setattr("forearm.reading.npz.MAX_BYTES", 4_010_000)
    with pytest.raises(
        InputError,
        match=r"b\.npz: 0 MB in \d+ arrays exceed the limit of 4 MB for an \.npz file; save fewer samples",
    ):
        sines().save(tmp_path / "b.npz")
    monkeypatch.setattr("forearm.reading.npz.MAX_BYTES", 10_000)
    with pytest.raises(InputError, match=r"a\.npz: larger than the 0 MB allowed"):
        load_simulation(tmp_path / "a.npz")


def test_packed_values_come_back_with_their_arrays(tmp_path: Path) -> None:
    value = {
        "a": [np.float32(0.1), np.int64(3), np.bool_(True), (1, 2)],
        "b": np.zeros((0, 3)),
        "big": 2**200,
    }
    write_archive(tmp_path / "a.npz", value, {})
    header, rest = read_archive(tmp_path / "a.npz")
    assert not rest
    assert bits(header) == bits(
        {"a": [float(np.float32(0.1)), 3, True, [1, 2]], "b": np.zeros((0, 3)), "big": 2**200}
    )
    assert unpack({"$array": 3, "x": 1}, {}) == {"$array": 3, "x": 1}
