"""`forearm bench --device cuda` as a user meets it; the figures themselves are measured on a GPU."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from forearm.benchmarks import on_device
from forearm.benchmarks.device_peak import peak_text
from forearm.benchmarks.on_device import DeviceRow
from forearm.cli.main import main
from forearm.kernels.batch_rollout_ir import rollout_arguments
from forearm.kernels.cuda.ptx import assembly
from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module

Capture = pytest.CaptureFixture[str]
ROWS = [
    DeviceRow("inverse_dynamics, panda", "float32", 4096, 2e-6, 2e9, 0.5, 0.1, True, 72, 0),
    DeviceRow("inverse_dynamics, panda", "float64", 9, 2e-4, 18e9, 0.94, 0.3, False, 255, 96, 0.95, False),
    DeviceRow("rollout, panda", "float32", 10, 1.0, 7e9, bar=6.8e9, met=True),
    DeviceRow("first torques", "float64", 4, 0.9, bar=2.0, met=True),
]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[DeviceRow]:
    monkeypatch.setenv("COLUMNS", "200")
    made = list(ROWS)
    about = {"name": "A GPU", "cuda": "13.0"}
    monkeypatch.setattr(on_device, "rows", lambda index: iter(made))
    monkeypatch.setattr("forearm.benchmarks.machine.device_machine", lambda index: about | {"index": index})
    return made


def test_a_table_with_shares_bits_and_bars(measured: list[DeviceRow], capsys: Capture) -> None:
    assert main(["bench", "--device", "cuda"]) == 1  # one row has other bits
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "A GPU, driver for CUDA 13.0"
    found = {" ".join(line.split()) for line in lines}
    assert "inverse_dynamics, panda float32 4,096 2 us 2.00 G 50 % 10 % same 72 -" in found
    missed = ">= 95 % MISSED"
    assert (
        f"inverse_dynamics, panda float64 9 200 us 18.00 G 94 % 30 % DIFFERENT 255 + 96 B {missed}" in found
    )
    assert "rollout, panda float32 10 1 s 7.00 G - - - - >= 6.80 G met" in found
    assert "first torques float64 4 900 ms - - - - - < 2 s met" in found
    del measured[1]
    assert main(["bench", "--device", "cuda"]) == 0


def test_json_has_every_field_and_the_device(measured: list[DeviceRow], capsys: Capture) -> None:
    main(["bench", "--device", "cuda:3", "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["device"] == {"name": "A GPU", "cuda": "13.0", "index": 3}
    assert document["rows"] == [row.document() for row in measured]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cudo"], "device: expected one of cpu, cuda, cuda:1, got 'cudo'"),
        (["--device", "cuda", "--peers"], "--peers is for the CPU; leave it or --device out"),
    ],
)
def test_words_that_do_not_fit(words: list[str], said: str, capsys: Capture) -> None:
    assert main(["bench", *words]) != 0
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_peak_is_of_fused_operations_alone(dtype: str) -> None:
    ptx = assembly(device_module([peak_text(dtype)], DEVICE_TARGETS[dtype]))
    body = ptx[ptx.index(".entry entry") :]
    assert body.count(f"fma.rn.f{32 if dtype == 'float32' else 64}") == 8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rollouts_are_called_with_every_argument_in_its_place(dtype: str) -> None:
    target = DEVICE_TARGETS[dtype]
    names = [name for name in rollout_arguments(target) if name != "count"]
    call = on_device.rollout_call([11, 12, 13, 14, 15], 7, np.dtype(dtype))
    given = dict(zip(names, call, strict=True))
    h = given.pop("h")
    assert {name: value for name, value in given.items() if value} == {
        **{"q0": 11, "qd0": 12, "u": 13, "out_q": 14, "out_qd": 15},
        **{"steps": on_device.STEPS, "period": 1, "q0_row": 7, "qd0_row": 7, "u_row": 7},
    }
    assert np.array([h], np.uint64).view(dtype)[0] == np.dtype(dtype).type(1e-3)
