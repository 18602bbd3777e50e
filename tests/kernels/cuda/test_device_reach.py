"""Numeric inverse kinematics and composed derivatives on a device: on the fake driver, whose kernels are the
text for one pose run by the CPU, and on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from drives.making import loaded_arm
from dynamics.cases import simple_drives
from kernels.compiling import compiled
from kernels.cuda.fake_arrays import FakeInterface, FakeTorch
from kernels.cuda.fake_driver import FakeLibrary
from kernels.cuda.gpu_function import gpu

import forearm as fa
from forearm.errors import InputError
from forearm.kernels.native import host
from forearm.kernels.numeric_ik_row import pose_text

ARM = random_arm(5, 3)
COUNT = 7
T = fa.kinematics.forward(ARM, posture(ARM, 6, COUNT))
T[2, :3, 3] += 40.0
START = posture(ARM, 9, COUNT) + 8.0


def emulate(library: FakeLibrary, is_given: bool) -> None:
    """What is launched from now on solves one pose after the other, all with the same settings."""
    target = replace(host("float64", 1), is_gpu=True)
    sizes = [16, *([ARM.n] if is_given else []), 0, ARM.n, 2, 1, 1, 1]
    call = compiled(pose_text("f", ARM, False, is_given, target), "f", len(sizes), target)

    def act(addresses: Sequence[int], count: int) -> None:
        for row in range(count):
            call(*(a + 8 * size * row for a, size in zip(addresses, sizes, strict=True)), 1)

    library.define("entry", len(sizes), act)


def check_same(found: Any, truth: Any) -> None:
    for name in ("q", "solved", "error", "steps", "starts"):
        assert np.array_equal(getattr(found, name), getattr(truth, name), equal_nan=True), name
    assert found.message == truth.message
    assert type(found.solved) is type(truth.solved)


@pytest.mark.slow
def test_arrays_of_the_host_go_there_and_back(fake: FakeLibrary) -> None:
    kernel, there = fa.compile(ARM), fa.compile(ARM, device="cuda")
    told: dict[str, Any] = {"starts": 4, "most_steps": 40}
    emulate(fake, True)
    for start in (START, START[1]):
        check_same(
            there.inverse_numeric(T, start=start, **told), kernel.inverse_numeric(T, start=start, **told)
        )
    truth = kernel.inverse_numeric(T[1], start=START[1], **told)
    check_same(there.inverse_numeric(T[1], start=START[1], **told), truth)
    emulate(fake, False)
    check_same(there.inverse_numeric(T, seed=3, **told), kernel.inverse_numeric(T, seed=3, **told))
    with pytest.raises(InputError, match="threads: a GPU distributes its work over its own"):
        there.inverse_numeric(T, seed=3, threads=2, **told)


@pytest.mark.slow
def test_poses_on_a_device_stay_there(
    fake: FakeLibrary, torch: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor: Any = torch.Tensor
    tensor.reshape = lambda self, shape: tensor(self.view.reshape(shape), self.where, self.base)
    tensor.__eq__ = lambda self, other: (self, other)  # not before the stream is through
    kernel, there = fa.compile(ARM), fa.compile(ARM, device="cuda")
    told: dict[str, Any] = {"starts": 4, "most_steps": 40}
    emulate(fake, True)
    given, start = torch.array(T), torch.array(START)
    found: Any = there.inverse_numeric(given, start=start, **told)
    truth = kernel.inverse_numeric(T, start=START, **told)
    for name in ("q", "error", "steps", "starts"):
        assert np.array_equal(torch.values(getattr(found, name)), getattr(truth, name))
    solved, one = found.solved
    assert np.array_equal(torch.values(solved) == one, truth.solved)
    for wrong, message in (
        (
            {"T": torch.array(T[:, :3])},
            r"T: expected poses of shape \(4, 4\) or \(B, 4, 4\), got \(7, 3, 4\)",
        ),
        ({"T": torch.array(T), "start": START}, "start: T is on device 0"),
        (
            {"T": T, "start": torch.array(START)},
            r"start: T is in host memory; expected start there too, got \w+ on a device",
        ),
        ({"T": FakeInterface(fake, monkeypatch).array(T)}, "T: expected a NumPy, PyTorch, CuPy or"),
    ):
        with pytest.raises(InputError, match=message):
            there.inverse_numeric(**wrong, **told)


@pytest.mark.gpu
def test_poses_have_the_bits_of_the_cpu() -> None:
    gpu()
    kernel, there = fa.compile(ARM), fa.compile(ARM, device="cuda")
    every: list[dict[str, Any]] = [{}, {"start": START}, {"position_only": True, "limits": False, "seed": 5}]
    for options in every:
        check_same(there.inverse_numeric(T, **options), kernel.inverse_numeric(T, **options))
    check_same(there.inverse_numeric(T[1]), kernel.inverse_numeric(T[1]))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["12 joints", "41 joints", "load", "load, open"])
def test_composed_derivatives_have_the_bits_of_the_cpu(name: str, dtype: str) -> None:
    gpu()
    loaded = name.startswith("load")
    arm = loaded_arm("chain", 6, 3) if loaded else simple_drives(random_arm(32, int(name[:2])))
    left_open = (arm.links[-1].name,) if name.endswith("open") else ()
    kernel, there = (fa.compile(arm, dtype, device, left_open) for device in ("cpu", "cuda"))
    rng = np.random.default_rng(4)
    given = [posture(arm, 3, 70), *rng.uniform(0.3, 1.4, (2, 70, arm.n))]
    given[1][5, 0] = np.nan
    for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        pair = (getattr(k, function)(*given) for k in (kernel, there))
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*pair, strict=True))
