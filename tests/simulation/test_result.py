"""What a simulation leaves: between its samples, drawn, and played in a browser."""

from __future__ import annotations

import base64
import dataclasses
import json
import pickle
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from simulation.making import assert_same, bits, sines
from sweeps import long

import forearm as fa
from forearm.errors import ForearmError, InputError, NameNotFound
from forearm.simulation import Event
from forearm.viewer.door import recording_page
from forearm.viewer.recording import MAX_EVENTS, MAX_FRAMES, frame_times, recording_of

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.ForearmWarning")


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
        ({"q": np.zeros((101, 5))}, r"simulation, q: expected shape \(101, 6\), got \(101, 5\)"),
        ({"t": np.zeros((101, 1))}, r"simulation, t: expected shape \(101,\)"),
        (
            {"t": np.r_[np.nan, np.zeros(100)]},
            "simulation, t: expected at least one time, all finite and non-decreasing",
        ),
        ({"t": -np.arange(101.0)}, "non-decreasing"),
        ({"energy": {"kinetic": np.zeros(100)}}, r"energy 'kinetic': expected shape \(101,\), got \(100,\)"),
        ({"lost": {"gear": np.zeros(101)}}, r"lost 'gear': expected shape \(101, 6\)"),
        ({"tau": [["a"] * 6] * 101}, "simulation, tau: expected numbers"),
        ({"step": 0.0}, "simulation, step: must be above 0"),
        ({"method": ""}, "simulation's method: a name must be printable text"),
        ({"checkpoint": [1]}, "simulation, checkpoint: expected dict"),
        ({"events": (3,)}, "simulation, events: expected Event, got 3"),
        ({"events": (Event(0.0, "stop", "joint9"),)}, "got 'joint9'; did you mean"),
        ({"arm": "puma560", "t": []}, "simulation, arm: expected an Arm"),
    ],
)
def test_what_is_no_simulation(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ForearmError, match=message):
        dataclasses.replace(sines(), **changes)


def test_what_is_no_event() -> None:
    with pytest.raises(
        NameNotFound, match=r"event, kind: expected one of .*, got 'slips'; did you mean 'slip'"
    ):
        Event(0.0, "slips")
    with pytest.raises(InputError, match="event, t: the number must be finite, got nan"):
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
            InputError,
            match=r"at: expected a time or times \(m,\) from 0\.0 to 2\.0 s, got .*\. Simulate for longer",
        ):
            simulation.at(t)
    with pytest.raises(InputError, match=r"at: expected a time or times \(m,\) from .*, got \[\[0\.0\]\]"):
        simulation.at([[0.0]])


def sampled(t: Any, q: Any, qd: Any) -> fa.Simulation:
    """A run with these positions and velocities (K, n)."""
    none = np.zeros_like(q)
    arm = fa.load(f"chain{q.shape[1]}")
    rest: dict[str, Any] = {"qdd": none, "tau": none, "voltage": None, "energy": {}, "lost": {}, "events": ()}
    return sines(arm, len(t), t=t, q=q, qd=qd, **rest)


def test_at_repeats_a_cubic() -> None:
    c = np.random.default_rng(1).normal(size=(4, 3))

    def cubic(t: Any) -> tuple[Any, Any]:
        power = t[:, None] ** np.arange(4.0)
        return power @ c, power[:, :3] @ (c[1:] * [[1.0], [2.0], [3.0]])

    t, fine = np.array([0.0, 0.2, 0.7, 1.0]), np.linspace(0.0, 1.0, 57)
    for got, truth in zip(sampled(t, *cubic(t)).at(fine), cubic(fine), strict=True):
        np.testing.assert_allclose(got, truth, atol=1e-12)


def test_at_a_jump_it_is_what_comes_after() -> None:
    q, qd = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, -1.0, -1.0]])[:, :, None]
    q_at, qd_at = sampled(np.array([0.0, 1.0, 1.0, 2.0]), q, qd).at([0.5, 1.0, 1.5])
    np.testing.assert_array_equal(q_at[:, 0], [0.5, 1.0, 0.5])
    np.testing.assert_array_equal(qd_at[:, 0], [1.0, -1.0, -1.0])


# --- drawn --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stanford", *long(["chain1", "chain10"])])
def test_plot_has_every_panel_and_joint(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    simulation = sines(name)
    figure = simulation.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    axes = figure.get_axes()
    assert len(axes) == 6  # events, position, velocity, torque, voltage, energy
    joints, energies = [j.name for j in simulation.arm.joints], list(simulation.energy)
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["joints", *joints, "energies", *energies]
    assert len(axes[1].get_lines()) == simulation.arm.n + len(simulation.events)
    assert axes[3].get_ylabel() == ("torque or force\nN m or N" if name == "stanford" else "torque\nN m")
    with pytest.raises(InputError, match="a picture ends in"):
        simulation.plot(tmp_path / "a.txt")


@pytest.mark.slow
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
    simulation = sines("chain2")
    simulation.to_html(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    seen = Page(text)
    assert {"src", "href", "action"}.isdisjoint(key for _, attributes in seen.tags for key in attributes)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|@import|url\(|{{", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}  # a name
    assert len(seen.scripts) == 2
    assert "default-src 'none'" in text
    with pytest.raises(InputError, match=r"a\.txt: a page for a browser ends in \.html or \.htm"):
        simulation.to_html(tmp_path / "a.txt")


def test_names_with_html_in_them_stay_text() -> None:
    evil = "</script><script>alert(1)</script><!--&amp;'\""
    arm = fa.load("chain2").replace(name=evil)
    simulation = sines(
        arm, message=evil + "{{data}}", energy={evil: np.zeros(101)}, events=(Event(0.0, "stop", None, evil),)
    )
    seen = Page(recording_page(simulation))
    assert len(seen.scripts) == 2
    assert evil in seen.text
    assert evil + "{{data}}" in seen.text
    data = json.loads(seen.scripts[0])["recording"]
    assert data["panels"][-1]["names"] == [evil]
    assert data["events"][0]["text"] == evil
    assert not {"<", ">", "&"} & set(seen.scripts[0])


def decoded(panel: dict[str, Any], frames: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return (
        np.frombuffer(base64.b64decode(panel["data"]), "<f4")
        .reshape(len(panel["names"]), frames)
        .T.astype(float)
    )


def test_frames_are_the_motion() -> None:
    arm = random_arm(6, 5, tree=True, mimic=True)
    simulation = sines(arm)
    data = recording_of(simulation)
    times = frame_times(simulation)
    q, qd = simulation.at(times)
    assert data["frames"] == len(times) == 121  # 2 s at 60 a second are more than the samples
    np.testing.assert_allclose(decoded(data["panels"][0], 121), q, rtol=1e-7)
    np.testing.assert_allclose(decoded(data["panels"][1], 121), qd, rtol=1e-7)


def test_long_short_and_diverged_motions_can_be_played() -> None:
    long = sines("chain1", 30_001, events=[Event(0.0, "stick", "joint1")] * 3000)
    data = recording_of(long)
    assert data["frames"] == MAX_FRAMES
    assert data["happened"] == 3000
    assert len(data["events"]) == MAX_EVENTS
    assert len(json.dumps(recording_of(sines("chain10", 30_001)))) < 500_000
    one = recording_of(sines("chain1", 1, 0.0))
    assert one["frames"] == 1
    simulation = sines("chain2", 50)
    q = simulation.q.copy()
    q[-1] = [np.nan, 1e300]
    lost = recording_of(dataclasses.replace(simulation, q=q))
    assert not np.isfinite(decoded(lost["panels"][0], lost["frames"])[-1]).any()
