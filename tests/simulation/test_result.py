"""What a simulation leaves: between its samples, in files and back to the bit, drawn, and played in a browser."""

from __future__ import annotations

import base64
import dataclasses
import json
import pickle
import re
import signal
import struct
import subprocess
import sys
import time
import zipfile
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from simulation.making import sines

import forearm as fa
from forearm.errors import ForearmError, InputError, NameNotFound
from forearm.simulation import Event, Simulation, load_simulation
from forearm.simulation.archive import pack, read_archive, unpack, write_archive
from forearm.simulation.player import MAX_EVENTS, MAX_FRAMES, frame_times, motion, page

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.ForearmWarning")


def bits(value: Any) -> Any:
    """What is compared: arrays by their bytes, so that NaN and -0 count."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return [bits(item) for item in value] if isinstance(value, list | tuple) else value


def assert_same(one: Simulation, other: Simulation) -> None:
    for field in dataclasses.fields(Simulation):
        assert bits(getattr(one, field.name)) == bits(getattr(other, field.name)), field.name


# --- the record ---------------------------------------------------------------------------------------


def test_arrays_are_read_only_and_survive_pickling() -> None:
    simulation = sines()
    for name in ("t", "q", "qd", "qdd", "tau", "voltage"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(simulation, name)[0] = 1.0
    assert_same(pickle.loads(pickle.dumps(simulation)), simulation)
    assert repr(simulation) == (
        "<Simulation of 'puma560' by rk4: 0 to 2 s in 101 samples, 2 events; the time asked for is over>"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": np.zeros((101, 5))}, r"simulation, q: shape \(101, 6\) is needed, came \(101, 5\)"),
        ({"t": np.zeros((101, 1))}, r"simulation, t: shape \(101,\) is needed"),
        ({"t": np.r_[np.nan, np.zeros(100)]}, "simulation, t: at least one time is needed, all finite, none before another"),
        ({"t": -np.arange(101.0)}, "none before another"),
        ({"energy": {"kinetic": np.zeros(100)}}, r"energy 'kinetic': shape \(101,\) is needed, came \(100,\)"),
        ({"lost": {"gear": np.zeros(101)}}, r"lost 'gear': shape \(101, 6\)"),
        ({"tau": [["a"] * 6] * 101}, "simulation, tau: numbers are needed"),
        ({"step": 0.0}, "simulation, step: must be above 0"),
        ({"method": ""}, "a simulation's method's name must be printable text"),
        ({"checkpoint": [1]}, "simulation, checkpoint: a dict is needed"),
        ({"events": (3,)}, "simulation, events: a Event is needed, came 3"),
        ({"events": (Event(0.0, "stop", "joint9"),)}, "has no joint 'joint9'; did you mean"),
        ({"arm": "puma560", "t": []}, "simulation, arm: a Arm is needed"),
    ],
)
def test_what_is_no_simulation(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ForearmError, match=message):
        dataclasses.replace(sines(), **changes)


def test_what_is_no_event() -> None:
    with pytest.raises(NameNotFound, match="event: there is no kind 'slips'; did you mean 'slip'"):
        Event(0.0, "slips")
    with pytest.raises(InputError, match="event, t: the number must be finite, came nan"):
        Event(float("nan"), "stop")


# --- between the samples ----------------------------------------------------------------------------------


def test_at_is_exact_at_samples_and_outside_it_is_an_error() -> None:
    simulation = sines()
    q, qd = simulation.at(simulation.t)
    assert bits(q) == bits(simulation.q)
    assert bits(qd) == bits(simulation.qd)
    one, _ = simulation.at(simulation.t[7])
    assert one.shape == (6,)
    for t in (-1e-9, 2.1, float("nan"), float("inf")):
        with pytest.raises(
            InputError, match=r"s is outside of the simulation, which goes from 0\.0 to 2\.0 s\. Simulate for longer"
        ):
            simulation.at(t)
    with pytest.raises(InputError, match=r"at: a time or times \(m,\) are needed, came shape \(1, 1\)"):
        simulation.at([[0.0]])


def test_at_repeats_a_cubic() -> None:
    arm = fa.load("chain3")
    c = np.random.default_rng(1).normal(size=(4, 3))
    t = np.array([0.0, 0.2, 0.7, 1.0])
    power = t[:, None] ** np.arange(4.0)
    q, qd = power @ c, power[:, :3] @ (c[1:] * [[1.0], [2.0], [3.0]])
    none = np.zeros_like(q)
    simulation = sines(arm, 4, t=t, q=q, qd=qd, qdd=none, tau=none, voltage=None, energy={}, lost={}, events=())
    fine = np.linspace(0.0, 1.0, 57)
    power = fine[:, None] ** np.arange(4.0)
    got_q, got_qd = simulation.at(fine)
    np.testing.assert_allclose(got_q, power @ c, atol=1e-13)
    np.testing.assert_allclose(got_qd, power[:, :3] @ (c[1:] * [[1.0], [2.0], [3.0]]), atol=1e-12)


def test_at_is_of_third_order() -> None:
    size, rate, phase = np.random.default_rng(2).uniform(0.3, 1.3, (3, 6))
    fine = np.linspace(0.0, 2.0, 997)

    def truth(t: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        return size * np.sin(rate * t[:, None] + phase), size * rate * np.cos(rate * t[:, None] + phase)

    errors = []
    for samples in (21, 41, 81):
        coarse = sines(samples=samples)
        q, qd = truth(coarse.t)
        got = dataclasses.replace(coarse, q=q, qd=qd).at(fine)
        errors.append([np.abs(x - y).max() for x, y in zip(got, truth(fine), strict=True)])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert (orders > [3.8, 2.8]).all()  # of q and of qd


def test_at_a_jump_it_is_what_comes_after() -> None:
    arm = fa.load("chain1")
    t = np.array([0.0, 1.0, 1.0, 2.0])
    q, qd = np.array([[0.0], [1.0], [1.0], [0.0]]), np.array([[1.0], [1.0], [-1.0], [-1.0]])
    none = np.zeros_like(q)
    jump = sines(arm, 4, t=t, q=q, qd=qd, qdd=none, tau=none, voltage=None, energy={}, lost={}, events=())
    q_at, qd_at = jump.at([0.5, 1.0, 1.5])
    np.testing.assert_array_equal(q_at[:, 0], [0.5, 1.0, 0.5])
    np.testing.assert_array_equal(qd_at[:, 0], [1.0, -1.0, -1.0])


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
    simulation = sines(random_arm(4, 5, tree=True, mimic=True), voltage=None, checkpoint=None, step=None, energy={}, lost={})
    simulation.save(tmp_path / "a.npz")
    assert_same(load_simulation(tmp_path / "a.npz", simulation.arm), simulation)
    assert load_simulation(tmp_path / "a.npz").arm == simulation.arm


NUMBERS = hnp.arrays(np.float64, (5, 2), elements=st.floats(allow_nan=True, allow_infinity=True, width=64))
KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_, np.complex128])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    hnp.arrays(KINDS, hnp.array_shapes(min_dims=0, min_side=0)),
)  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


@settings(max_examples=40, deadline=None)
@given(numbers=st.tuples(*[NUMBERS] * 4), checkpoint=st.dictionaries(st.text(max_size=4), TREES, max_size=4))
def test_any_numbers_and_checkpoints_come_back(tmp_path_factory: Any, numbers: Any, checkpoint: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    names = dict(zip(("q", "qd", "qdd", "tau"), numbers, strict=True))
    simulation = sines("chain2", 5, **names, voltage=None, checkpoint=checkpoint)
    simulation.save(path)
    loaded = load_simulation(path)
    assert repr(bits(loaded.checkpoint)) == repr(bits(checkpoint))  # by text, for NaN is not equal to itself
    assert_same(dataclasses.replace(loaded, checkpoint=None), dataclasses.replace(simulation, checkpoint=None))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_hold_every_column_to_the_bit(ending: str, tmp_path: Path) -> None:
    simulation = sines("chain2", 40)
    path = tmp_path / f"a.{ending}"
    simulation.save(path)
    if ending == "csv":
        header = path.read_text().splitlines()[0].split(",")
        rows = np.loadtxt(path, delimiter=",", skiprows=1)
    else:
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        header = table.column_names
        rows = np.column_stack([column.to_numpy() for column in table.columns])
    assert header == [
        "t", "q1", "q2", "qd1", "qd2", "qdd1", "qdd2", "tau1", "tau2", "voltage1", "voltage2", "energy_kinetic",
        "energy_potential", "energy_supplied", "energy_lost", "lost_gear1", "lost_gear2", "lost_winding1", "lost_winding2",
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.xlsx", r"a\.xlsx: a simulation is saved as \.npz, \.csv, \.parquet, \.pq; to_html writes \.html\."),
        ("none/a.npz", "cannot be written: No such file or directory"),
        ("none/a.csv", "cannot be written: No such file or directory"),
    ],
)
def test_where_it_cannot_be_saved(name: str, message: str, tmp_path: Path) -> None:
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
        with pytest.raises(InputError, match=r"checkpoint: |array_0: an array of numbers is needed"):
            pack(checkpoint, {})


def test_a_killed_run_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    code = "import sys; from simulation.making import sines\ns = sines(samples=20_001)\nwhile True: s.save(sys.argv[1])"
    folder = str(Path(__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, str(path)], env={"PYTHONPATH": folder})
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


def hostile(entries: dict[str, bytes]) -> dict[str, bytes]:
    huge = entries["q.npy"].replace(b"(101, 6), }" + b" " * 14, b"(999999999999, 999999), }")
    bomb = zipped({"header.npy": npy(np.zeros(10_000_000, np.uint8))}, zipfile.ZIP_DEFLATED)
    whole = zipped(entries)
    many = bytearray(whole)
    many[-14:-10] = struct.pack("<HH", 60_000, 60_000)
    return {
        "empty": b"",
        "no zip": b"PK\x03\x04 something else entirely, and long enough for a zip",
        "no entries": zipped({}),
        "no header": zipped({k: v for k, v in entries.items() if k != "header.npy"}),
        "no q": zipped({k: v for k, v in entries.items() if k != "q.npy"}),
        "pickle": zipped(entries | {"q.npy": npy(np.array([{}], dtype=object), allow_pickle=True)}),
        "huge shape": zipped(entries | {"q.npy": huge}),
        "short data": zipped(entries | {"q.npy": entries["q.npy"][:-8]}),
        "other shape": zipped(entries | {"q.npy": npy(np.zeros((101, 5)))}),
        "float32": zipped(entries | {"q.npy": npy(np.zeros((101, 6), np.float32))}),
        "columns first": zipped(entries | {"q.npy": npy(np.asfortranarray(np.zeros((101, 6))))}),
        "compressed": zipped(entries, zipfile.ZIP_DEFLATED),
        "bomb": bomb,
        "cut": whole[:-100],
        "with a comment": whole[:-2] + b"\x05\x00hello",
        "many entries": bytes(many),
        "a flipped bit": whole[:4000] + bytes([whole[4000] ^ 1]) + whole[4001:],
        "deep header": zipped(entries | {"header.npy": npy(np.frombuffer(b"[" * 100_000, np.uint8))}),
        "header no JSON": zipped(entries | {"header.npy": npy(np.frombuffer(b"{'a'", np.uint8))}),
        "header a list": zipped(entries | {"header.npy": npy(np.frombuffer(b"[]", np.uint8))}),
        "long number": zipped(entries | {"header.npy": npy(np.frombuffer(b"1" * 10_000, np.uint8))}),
        "other format": with_header(entries, format="forearm-simulation/9"),
        "format a list": with_header(entries, format=[]),
        "no arm": with_header(entries, arm=None),
        "arm with parts": with_header(entries, arm={"schema": "forearm-arm/1", "parts": "/etc/passwd"}),
        "method a number": with_header(entries, method=3),
        "events no list": with_header(entries, events=3),
        "event too short": with_header(entries, events=[[0.0]]),
        "event of no kind": with_header(entries, events=[[0.0, [], None, ""]]),
        "energy not there": with_header(entries, energy=["q" * 1000]),
        "energy no list": with_header(entries, energy=[{}]),
        "array not there": with_header(entries, checkpoint={"x": {"$array": "nowhere"}}),
        "array taken away": with_header(entries, checkpoint={"x": {"$array": "q"}}),
    }


NAMES = sorted(hostile({"q.npy": b"", "header.npy": npy(np.frombuffer(b"{}", np.uint8)), "x": bytes(5000)}))


@pytest.mark.parametrize("name", NAMES)
def test_hostile_archives_are_refused_with_their_name(name: str, tmp_path: Path) -> None:
    sines().save(tmp_path / "good.npz")
    (tmp_path / "bad.npz").write_bytes(hostile(entries_of(tmp_path / "good.npz"))[name])
    with pytest.raises(InputError, match=r"^bad\.npz: ") as caught:
        load_simulation(tmp_path / "bad.npz")
    assert len(str(caught.value)) < 500


def test_any_damage_is_an_error_or_the_same_simulation(tmp_path: Path) -> None:
    simulation = sines("chain2", 4)
    simulation.save(tmp_path / "a.npz")
    good = (tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(400):
        data = bytearray(good)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            data[place] = rng.integers(256)
        (tmp_path / "a.npz").write_bytes(bytes(data)[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else bytes(data))
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
    with pytest.raises(InputError, match=r"a\.npz: no simulation, or damaged: .*overlapping"):
        read_archive(tmp_path / "a.npz")


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    simulation = sines()
    simulation.save(tmp_path / "a.npz")
    (tmp_path / "folder.npz").mkdir()
    heavier = fa.load("puma560").with_payload(1.0)
    with pytest.raises(
        InputError, match=r"a\.npz: it was computed with 'puma560', 6 joints, .*has other numbers\. Leave the arm out"
    ):
        load_simulation(tmp_path / "a.npz", heavier)
    with pytest.raises(InputError, match=r"a\.npz: load_simulation, arm: a Arm is needed, came 'puma560'"):
        load_simulation(tmp_path / "a.npz", "puma560")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"none\.npz: not there\. Check the path\."):
        load_simulation(tmp_path / "none.npz")
    with pytest.raises(InputError, match=r"folder\.npz: a folder, not a file"):
        load_simulation(tmp_path / "folder.npz")
    with pytest.raises(InputError, match=r"a\.csv: only \.npz files hold a whole simulation"):
        load_simulation(tmp_path / "a.csv")


def test_too_much_for_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sines().save(tmp_path / "a.npz")
    monkeypatch.setattr("forearm.simulation.archive.MAX_BYTES", 4_010_000)
    with pytest.raises(
        InputError, match=r"b\.npz: 0 MB in \d+ arrays are too much for an \.npz file of 4 MB; save fewer samples"
    ):
        sines().save(tmp_path / "b.npz")
    monkeypatch.setattr("forearm.simulation.archive.MAX_BYTES", 10_000)
    with pytest.raises(InputError, match=r"a\.npz: larger than the 0 MB allowed"):
        load_simulation(tmp_path / "a.npz")


def test_packed_values_come_back_with_their_arrays(tmp_path: Path) -> None:
    value = {"a": [np.float32(0.1), np.int64(3), np.bool_(True), (1, 2)], "b": np.zeros((0, 3)), "big": 2**200}
    write_archive(tmp_path / "a.npz", value, {})
    header, rest = read_archive(tmp_path / "a.npz")
    assert not rest
    assert bits(header) == bits({"a": [float(np.float32(0.1)), 3, True, [1, 2]], "b": np.zeros((0, 3)), "big": 2**200})
    assert unpack({"$array": 3, "x": 1}, {}) == {"$array": 3, "x": 1}


# --- drawn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "panels"), [("chain1", 6), ("puma560", 6), ("stanford", 6), ("chain10", 6)])
def test_plot_has_every_panel_and_joint(name: str, panels: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    simulation = sines(name)
    figure = simulation.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    axes = figure.get_axes()
    assert len(axes) == panels  # events, position, velocity, torque, voltage, energy
    assert [t.get_text() for t in axes[1].get_legend().get_texts()] == [j.name for j in simulation.arm.joints]
    assert len(axes[1].get_lines()) == simulation.arm.n + len(simulation.events)
    assert axes[3].get_ylabel() == ("torque, force\nN m, N" if name == "stanford" else "torque\nN m")
    with pytest.raises(InputError, match="a picture ends in"):
        simulation.plot(tmp_path / "a.txt")


def test_plot_without_extras_and_with_odd_names() -> None:
    pytest.importorskip("matplotlib")
    tree = fa.load("chain2").tree
    names = ["_$x^$", "<b>" + "long" * 30]
    odd = fa.load("chain2").replace(
        tree=tuple(j.__class__(**(vars_of(j) | {"name": n})) for j, n in zip(tree, names, strict=True))
    )
    figure = sines(odd, voltage=None, energy={}, lost={}, events=(), message="$\\oops$").plot()
    assert len(figure.get_axes()) == 3
    figure.savefig(BytesIO())
    assert len(figure.get_axes()[0].get_legend().get_texts()) == 2


def vars_of(joint: fa.Joint) -> dict[str, Any]:
    return {f.name: getattr(joint, f.name) for f in dataclasses.fields(joint)}


def test_a_long_plot_keeps_its_peaks() -> None:
    pytest.importorskip("matplotlib")
    simulation = sines("chain1", 100_001)
    q = simulation.q.copy()
    q[77_777] = 50.0
    q[12_345] = np.nan
    figure = dataclasses.replace(simulation, q=q, events=()).plot()
    (line,) = figure.get_axes()[0].get_lines()
    assert len(line.get_xdata()) < 25_000
    assert np.nanmax(line.get_ydata()) == 50.0


# --- played -------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser would see: tags with their attributes, and the text in each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def test_the_page_is_one_file_that_fetches_nothing(tmp_path: Path) -> None:
    sines().to_html(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    seen = Page(text)
    assert {"src", "href", "action"}.isdisjoint(key for _, attributes in seen.tags for key in attributes)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|@import|url\(|{{", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert len(seen.scripts) == 2
    assert "default-src 'none'" in text
    with pytest.raises(InputError, match=r"a\.txt: a page for a browser ends in \.html or \.htm"):
        sines().to_html(tmp_path / "a.txt")


def test_names_with_html_in_them_stay_text() -> None:
    evil = "</script><script>alert(1)</script><!--&amp;'\""
    arm = fa.load("puma560").replace(name=evil)
    simulation = sines(arm, message=evil + "{{data}}", energy={evil: np.zeros(101)}, events=(Event(0.0, "stop", None, evil),))
    seen = Page(page(simulation))
    assert len(seen.scripts) == 2
    assert evil in seen.text
    assert evil + "{{data}}" in seen.text
    data = json.loads(seen.scripts[0])
    assert data["panels"][-1]["names"] == [evil]
    assert data["events"][0]["text"] == evil
    assert not {"<", ">", "&"} & set(seen.scripts[0])


def decoded(panel: dict[str, Any], frames: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.frombuffer(base64.b64decode(panel["data"]), "<f4").reshape(len(panel["names"]), frames).T.astype(float)


def test_frames_are_the_motion_and_the_bodies_the_arm() -> None:
    arm = random_arm(6, 5, tree=True, mimic=True)
    simulation = sines(arm)
    data = motion(simulation)
    times = frame_times(simulation)
    q, qd = simulation.at(times)
    assert data["frames"] == len(times) == 121  # 2 s at 60 a second are more than the samples
    np.testing.assert_allclose(decoded(data["panels"][0], 121), q, rtol=1e-7)
    np.testing.assert_allclose(decoded(data["panels"][1], 121), qd, rtol=1e-7)
    from forearm.arm.joint import motion as joint_motion

    poses: list[Any] = []
    for body in data["bodies"]:
        parent = np.array(data["base"]).reshape(4, 4) if body["parent"] < 0 else poses[body["parent"]]
        value = body["multiplier"] * q[50, body["freedom"]] + body["offset"]
        moved = joint_motion("revolute" if body["turns"] else "prismatic", np.array(body["axis"]), np.asarray(value))
        poses.append(parent @ np.reshape(body["before"], (4, 4)) @ moved @ np.reshape(body["after"], (4, 4)))
    hand = poses[data["hand"]["body"]] @ np.reshape(data["hand"]["pose"], (4, 4))
    np.testing.assert_allclose(hand, arm.base @ fa.kinematics.forward(arm, q[50]), atol=1e-12)


def test_long_short_and_diverged_motions_can_be_played() -> None:
    long = sines("chain1", 30_001, events=[Event(0.0, "stick", "joint1")] * 3000)
    data = motion(long)
    assert data["frames"] == MAX_FRAMES
    assert data["happened"] == 3000
    assert len(data["events"]) == MAX_EVENTS
    assert len(page(sines("chain10", 30_001))) < 1_000_000
    one = motion(sines("chain1", 1, 0.0))
    assert one["frames"] == 1
    simulation = sines("chain2", 50)
    q = simulation.q.copy()
    q[-1] = [np.nan, 1e300]
    lost = motion(dataclasses.replace(simulation, q=q))
    assert not np.isfinite(decoded(lost["panels"][0], lost["frames"])[-1]).any()
