"""Every function as a GPU's kernel: its text is assembled, calls nothing that is not there, and gives on a
CPU, one thread after the other, the bits of the CPU's own kernel.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from drives.making import loaded_arm
from dynamics.cases import simple_drives
from dynamics.elastic_cases import with_springs
from kernels.compiling import compiled

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.kernels import compile_request
from forearm.kernels.compile_request import traced_of
from forearm.kernels.compiled import CompileRequest
from forearm.kernels.cuda.device_request import made
from forearm.kernels.cuda.text import DEVICE_TARGETS, Launch, kernel_text
from forearm.kernels.function_names import ELASTIC
from forearm.kernels.native import host

DTYPES = ("float64", "float32")
CLOSED_FORM = "inverse_kinematics"
RIGID = sorted(name for name in FUNCTIONS if name != CLOSED_FORM and name not in ELASTIC)
SMALL = random_arm(3, 2)
FOLLOWED = simple_drives(random_arm(4, 2, tree=True, mimic=True))
SPRINGS = with_springs(loaded_arm("turning", 7, 2), 1, "spline")
CLOSED = fa.load("stanford-dhanaraj3").rigid()
is_fused = pytest.mark.skipif(
    not host("float64").fused, reason="this processor has no fused multiply-add, which every GPU has"
)


def check_assembled(request: CompileRequest) -> None:
    about, ptx = made(request, each=False)
    assert ".visible .entry entry(" in ptx
    assert about["arguments"] == len(about["inputs"]) + len(about["outputs"])
    # All that is not in the module is the memory of a block; what is called is written before.
    assert set(re.findall(r"\.extern [^;]*;", ptx)) <= {".extern .shared .align 16 .b8 shared[];"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RIGID, *ELASTIC])
def test_every_function_is_assembled(name: str) -> None:
    check_assembled(CompileRequest(SPRINGS if name in ELASTIC else SMALL, (name,), "float64"))


@pytest.mark.slow
def test_every_function_is_assembled_in_single_precision() -> None:
    """All in one kernel."""
    names = [name for name in RIGID if name != "numeric_inverse_kinematics"]  # which needs double
    check_assembled(CompileRequest(simple_drives(SMALL), tuple(names), "float32"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sweep(first=1)
def test_loops_calls_and_tables_are_assembled(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Friction that is solved for in a loop, long arms, derivatives that call other functions."""
    for name in ("LONGEST_FORWARD", "LONGEST_TRACED"):
        monkeypatch.setattr(compile_request, name, 3)
    monkeypatch.setitem(compile_request.LONG, "inverse_dynamics", 4)
    long, slopes = simple_drives(random_arm(8, 4, tree=True)), "forward_dynamics_derivatives"
    check_assembled(CompileRequest(loaded_arm("turning", 7, 2), (slopes,), dtype))
    for name in ("inverse_dynamics", slopes):
        check_assembled(CompileRequest(long, (name,), dtype))


def emulated(request: CompileRequest, given: list[Any], each: bool, staged: bool) -> list[Any]:
    """What the GPU's text computes, one thread after the other."""
    target, count = DEVICE_TARGETS[request.dtype], len(given[0])
    traced, parameters = traced_of(request)
    launch = Launch(is_staged=staged, is_emulated=True)
    text = kernel_text("f", traced, target, launch, parameters, each)
    results = [np.empty((count, *a.shape), dtype=request.dtype) for a in traced.outputs]
    arrays = [np.ascontiguousarray(x, dtype=request.dtype) for x in given] + results
    compiled(text, "f", len(arrays), target)(*(a.ctypes.data for a in arrays), count)
    return results


def states(request: CompileRequest, count: int) -> list[Any]:
    """For the inputs of a request; velocities are not near 0, where friction turns, and one state is NaN."""
    rng = np.random.default_rng([count, request.arm.n])
    made = []
    for a in traced_of(request)[0].inputs:
        if a.name == "q":
            made.append(posture(request.arm, 3, count))
        elif a.name == "T":
            made.append(fa.kinematics.forward(request.arm, posture(request.arm, 4, count)).reshape(count, 16))
        else:
            made.append(rng.uniform(0.3, 1.5, (count, *a.shape)) * rng.choice([-1.0, 1.0], (count, *a.shape)))
    made[-1][2, 0] = np.nan
    return [x.astype(request.dtype) for x in made]


NAMES = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian_derivative", "reactions")
CASES: dict[str, tuple[CompileRequest, bool]] = {
    "drives, sliding": (CompileRequest(SMALL, (*NAMES, "regressor", "coriolis_matrix"), "float64"), False),
    "drives, sliding, float32": (CompileRequest(SMALL, NAMES[:3], "float32"), True),
    "derivatives": (CompileRequest(simple_drives(SMALL), ("forward_dynamics_derivatives",), "float64"), True),
    "mimicking joints, a tree": (CompileRequest(FOLLOWED, NAMES[:3], "float64"), True),
    "load": (CompileRequest(loaded_arm("turning", 7, 2), NAMES[:2], "float64"), False),
    "load, derivatives": (
        CompileRequest(loaded_arm("turning", 3, 1), ("inverse_dynamics_derivatives",), "float32"),
        True,
    ),
    "numeric": (CompileRequest(SMALL, ("numeric_inverse_kinematics",), "float64"), False),
    "closed form": (CompileRequest(CLOSED, (CLOSED_FORM,), "float64"), True),
    "springs": (CompileRequest(SPRINGS, ELASTIC, "float64"), False),
}


def check_bits(request: CompileRequest, given: list[Any], is_staged: bool, values: Any = None) -> None:
    each = np.ndim(values) == 2
    kernel = fa.compile(request.arm, request.dtype, parameters=request.parameters)
    truth = kernel.fused(request.functions)(*given, parameters=values)
    states = given if values is None else [*given, values]
    for a, b in zip(emulated(request, states, each, is_staged), truth.values(), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
        assert np.isnan(a[2]).all()
        assert np.isfinite(np.delete(a, 2, axis=0)).any()


@pytest.mark.slow
@is_fused
@pytest.mark.parametrize("name", CASES)
def test_the_text_has_the_bits_of_the_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_COMPILE", "quick")
    request, is_staged = CASES[name]
    check_bits(request, states(request, 19), is_staged)


@pytest.mark.slow
@is_fused
@pytest.mark.parametrize("each", [False, True])
def test_open_parameters_have_the_bits_of_the_kernel(each: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_COMPILE", "quick")
    request = CompileRequest(SMALL, NAMES[:3], "float64", ("joint1.friction", SMALL.links[-1].name))
    own = np.array([*fa.compile(SMALL, parameters=request.parameters).parameters.values()])
    scale = np.random.default_rng(1).uniform(0.9, 1.1, (11, len(own)))
    check_bits(request, states(request, 11), each, own * scale if each else own)
