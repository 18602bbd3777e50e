"""This process's driver on two fake devices, with a cache of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels.cuda.fake_arrays import FakeCupy, FakeTorch, forget
from kernels.cuda.fake_driver import FakeLibrary, using
from kernels.cuda.fake_function import FakeFunction

from forearm.kernels.cuda import device_rollout, ptx


def forget_all() -> None:
    forget()
    device_rollout.loaded_rollout.cache_clear()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibrary]:
    monkeypatch.setenv("FOREARM_CACHE", str(tmp_path))  # no GPU may find this code
    monkeypatch.setenv("FOREARM_COMPILE", "quick")  # what stands in for a GPU
    library = FakeLibrary(devices=2)
    forget_all()
    with using(library):
        yield library
    forget_all()
    assert library.faults == []


@pytest.fixture
def not_assembled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptx, "assembly", lambda text: ".version 6.0\n.visible .entry entry(")


@pytest.fixture
def function(fake: FakeLibrary) -> FakeFunction:
    return FakeFunction(fake)


@pytest.fixture
def torch(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    return FakeTorch(fake, monkeypatch)


@pytest.fixture
def cupy(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    return FakeCupy(fake, monkeypatch)
