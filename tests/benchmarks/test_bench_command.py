"""`forearm bench` as a user meets it: tables, JSON, picture, missing peers,
and what happens when a peer disagrees.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forearm.benchmarks import kernels, peers
from forearm.benchmarks.timing import BenchmarkRow
from forearm.cli.bench import bars
from forearm.cli.main import main

Capture = pytest.CaptureFixture[str]
ROWS = [
    BenchmarkRow(
        "inverse, batch", 20e-9, peer="A", peer_seconds=1e-6, group="panda", at_least=40.0,
        agreement=2e-15, operations=600, peak_share=0.43,
    ),
    BenchmarkRow(
        "inverse, batch", 24e-9, peer="B", peer_seconds=120e-9, group="panda", at_least=6.0, agreement=3e-15
    ),
    BenchmarkRow("forward, batch", 30e-9, group="panda"),
    BenchmarkRow("first torques", 0.7, bar=0.5, group="a fresh process"),
]  # fmt: skip
APART = BenchmarkRow("inverse, batch", 20e-9, peer="Fake", peer_seconds=1e-6, group="panda", agreement=2e-3)


@pytest.fixture
def without_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.benchmarks.roofline.peak", {"float64": 6e10, "float32": 12e10}.__getitem__)
    monkeypatch.setattr(kernels, "rows", lambda peers: iter(ROWS))


@pytest.mark.usefixtures("without_clock")
def test_tables_show_ratio_bar_and_verdict(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("forearm.cli.bench.ProgressBar.say_once", lambda _, doing: said.append(doing))
    assert main(["bench", "--only", "kernels"]) == 0
    out = capsys.readouterr().out
    found = [" ".join(line.split()) for line in out.splitlines()]
    assert found[0] == "panda"
    assert "inverse, batch 20 ns A 1 us 50 >= 40 met 2e-15 43 %" in found
    assert "inverse, batch 24 ns B 120 ns 5 >= 6 MISSED 3e-15 -" in found
    assert found[found.index("a fresh process") + 1] == "what ours target"
    assert any(line.endswith("< 500 ms MISSED") for line in found)
    assert "sines and cosines not counted" in " ".join(found)
    assert "60 GFLOP/s in float64" in " ".join(found)
    assert "not installed" not in out, "peers are no matter unless asked for"
    assert said[0] == "measuring kernels"
    assert "measuring kernels: 2 done, the last inverse, batch" in said


@pytest.mark.usefixtures("without_clock")
def test_json_has_machine_peak_and_every_row(capsys: Capture) -> None:
    assert main(["bench", "--only", "kernels", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"machine", "peak_flops", "missing", "rows", "plot"}
    assert set(document["machine"]) == {"cpu", "cores", "vector_bits", "system", "python", "versions"}
    assert {"numpy", "llvmlite"} <= set(document["machine"]["versions"])
    assert document["machine"]["vector_bits"] in (128, 256, 512)
    assert document["peak_flops"] == {"float64": 6e10, "float32": 12e10}
    assert document["rows"] == [row.document() for row in ROWS]


def test_a_peer_that_disagrees_is_told_loudly_and_exits_with_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "rows", lambda peers: iter([APART]))
    assert main(["bench", "--only", "kernels"]) == 1
    out, err = capsys.readouterr()
    assert "2e-03 DISAGREES" in out
    assert "panda, inverse, batch: forearm and Fake DISAGREE by 2.0e-03 of the largest value" in " ".join(
        err.split()
    )


@pytest.mark.usefixtures("without_clock")
def test_missing_peers_are_named_with_what_to_install(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "Pinocchio is not installed: pip install 'forearm[bench]'"
    monkeypatch.setattr(peers, "problems", lambda: [line])
    assert main(["bench", "--only", "kernels", "--peers"]) == 0
    assert line in capsys.readouterr().out
    assert main(["bench", "--only", "kernels", "--peers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == [line]


def test_bars_have_ours_once_and_every_peer() -> None:
    assert bars(ROWS) == {
        "panda": [
            ("inverse, batch", None, 24e-9),
            ("inverse, batch", "A", 1e-6),
            ("inverse, batch", "B", 120e-9),
            ("forward, batch", None, 30e-9),
        ],
        "a fresh process": [("first torques", None, 0.7)],
    }


@pytest.mark.slow
@pytest.mark.usefixtures("without_clock")
def test_plot_writes_a_picture(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "speeds.svg"
    assert main(["bench", "--only", "kernels", "--plot", str(path)]) == 0
    assert path.stat().st_size > 5000
    assert f"wrote {path}" in capsys.readouterr().out


@pytest.mark.slow
def test_picture_has_a_panel_for_each_group_with_all_bars() -> None:
    pytest.importorskip("matplotlib")
    from forearm.plots.speeds import speed_picture
    from forearm.tables import duration

    panels = [axes for part in speed_picture(bars(ROWS)).subfigs for axes in part.axes]
    assert [axes.get_title(loc="left").split(" (")[0] for axes in panels] == ["panda", "a fresh process"]
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert labels == ["inverse, batch", "A", "B", "forward, batch"]
    times = {9e-10: "0.9 ns", 24e-9: "24 ns", 1e-6: "1 us", 123.4e-6: "123 us", 0.7: "700 ms", 1.0: "1 s"}
    assert {t: duration(t) for t in times} == times
