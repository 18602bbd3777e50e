"""Code in single precision: no double in it, and the answers of the reference to seven digits."""

from __future__ import annotations

import ctypes
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture
from codegen.running import COMPILERS, compiled, needs, shim

import forearm as fa
from forearm.codegen.generate import SINGLE as SINGLE_LANGUAGES
from forearm.codegen.generate import generate
from forearm.codegen.source import Source
from forearm.control.code import controller_code

SINGLE = 1e-5  # relative to the largest entry
ONLY_FLOATS = ("-Wdouble-promotion", "-Wfloat-conversion", "-Wunsuffixed-float-constants")
GEARED = fa.Transmission(
    efficiency=((0.01, 0.35), (0.09, 0.56), (0.5, 0.8)), rated_torque=90.0, breakaway=0.4
)


@cache
def arm_of(name: str) -> fa.Arm:
    arm = fa.load("stanford" if name == "stanford" else "ur5").rigid()
    if name == "driven":
        friction = fa.Friction(viscous=0.7, coulomb=(1.5, -1.2), static=2.0, stribeck_speed=0.3)
        return arm.with_drives(motor=fa.Motor(gear_ratio=80.0, rotor_inertia=1e-4), friction=friction)
    return arm.with_drives(transmission=GEARED) if name == "geared" else arm


def states(arm: fa.Arm) -> list[Any]:
    rng = np.random.default_rng(4)
    given = [posture(arm, 4), rng.uniform(-1.0, 1.0, arm.n), rng.uniform(-2.0, 2.0, arm.n)]
    return [np.array(x, dtype=np.float32) for x in given]


def called(source: Source, folder: Path, arrays: list[Any], name: str | None = None) -> None:
    """The function of a source, compiled with warnings as errors, on arrays of floats."""
    needs(source.language)
    source.save(folder)
    symbol = name or source.name
    if source.language == "c":
        library = compiled("c", f"{source.name}.c", folder, *ONLY_FLOATS)
    elif source.language == "cpp":
        text = shim(source.name, source.text, "float", folder)
        library, symbol = compiled("cpp", text, folder), f"{symbol}_float"
    else:
        library = compiled("fortran", f"{source.name}.f90", folder)
        symbol = f"__{source.name}_module_MOD_{symbol}"
    function = getattr(ctypes.CDLL(str(library)), symbol)
    function.restype = None
    function(*(a.ctypes.data_as(ctypes.POINTER(ctypes.c_float)) for a in arrays))


def assert_close(got: Any, want: Any) -> None:
    assert got.dtype == np.float32
    assert np.abs(got - want).max() <= SINGLE * np.abs(want).max()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
@pytest.mark.parametrize("name", ["stanford", "driven", "geared"])
@pytest.mark.sweep
def test_torques(name: str, language: str, tmp_path: Path) -> None:
    arm = arm_of(name)
    q, qd, qdd = states(arm)
    tau = np.full(arm.n, np.nan, dtype=np.float32)
    called(generate(arm, "inverse_dynamics", language, dtype="float32"), tmp_path, [q, qd, qdd, tau])
    assert_close(tau, fa.dynamics.inverse(arm, *(x.astype(float) for x in (q, qd, qdd))))


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "fortran"])
def test_accelerations_under_load_are_solved_as_far_as_floats_go(language: str, tmp_path: Path) -> None:
    arm = arm_of("geared")
    q, qd, qdd = states(arm)
    tau = fa.dynamics.inverse(arm, *(x.astype(float) for x in (q, qd, qdd))).astype(np.float32)
    found = np.full(arm.n, np.nan, dtype=np.float32)
    called(generate(arm, "forward_dynamics", language, dtype="float32"), tmp_path, [q, qd, tau, found])
    condition = np.linalg.cond(fa.dynamics.inertia_matrix(arm, q))
    assert np.abs(found - qdd).max() <= 1e-6 * condition * np.abs(qdd).max()


@pytest.mark.slow
def test_open_parameters(tmp_path: Path) -> None:
    arm = arm_of("stanford")
    q, qd, qdd = states(arm)
    source = generate(arm, "inverse_dynamics", "c", ["link6.mass"], dtype="float32")
    size = re.search(r"_prepare\(const float p\[1\], float k\[(\d+)\]\)", source.header)
    assert size is not None
    k, tau = (np.full(m, np.nan, dtype=np.float32) for m in (int(size[1]), arm.n))
    called(source, tmp_path, [np.array([2.5], dtype=np.float32), k], f"{source.name}_prepare")
    called(source, tmp_path, [q, qd, qdd, k, tau])
    link = arm.link("link6")
    heavy = arm.with_link(fa.Link(name="link6", mass=2.5, com=link.com, inertia=link.inertia))
    assert_close(tau, fa.dynamics.inverse(heavy, *(x.astype(float) for x in (q, qd, qdd))))


@pytest.mark.slow
def test_a_controller(tmp_path: Path) -> None:
    arm = arm_of("stanford")
    q, qd, wanted = states(arm)
    rest, state, tau = (np.zeros(arm.n, dtype=np.float32) for _ in range(3))
    source = controller_code(arm, "computed_torque", bandwidth=20.0, dtype="float32")
    assert "double" not in source.text + source.header
    called(source, tmp_path, [q, qd, wanted, rest, rest, state, tau], f"{source.name}_step")
    q0, qd0, goal = (x.astype(float) for x in (q, qd, wanted))
    assert_close(tau, fa.dynamics.inverse(arm, q0, qd0, 400.0 * (goal - q0) - 40.0 * qd0))


def test_texts_have_one_precision() -> None:
    arm = arm_of("driven")
    single = generate(arm, "inverse_dynamics", "c", dtype="float32")
    assert "double" not in single.text + single.header
    assert "all float, float32 arithmetic throughout" in single.header
    assert not re.search(r"\b(sin|cos|exp|fabs)\(", single.text)
    fortran = generate(arm, "inverse_dynamics", "fortran", dtype="float32").text
    assert "only: sp => real32" in fortran
    assert not re.search(r"real64|\bdp\b|_dp\b", fortran)
    assert "float q[6] = {0};" in generate(arm, "inverse_dynamics", "cpp", dtype="float32").text


def test_what_has_no_single_precision_is_told() -> None:
    arm = arm_of("stanford")
    said = f"generate: dtype float32 is supported by {', '.join(SINGLE_LANGUAGES)}, got python"
    with pytest.raises(fa.InputError, match=said):
        generate(arm, "gravity", "python", dtype="float32")
    for make in (generate, controller_code):
        with pytest.raises(fa.InputError, match="dtype: expected one of float64, float32, got 'float16'"):
            make(arm, "gravity" if make is generate else "pd_gravity", dtype="float16")


def test_the_compiler_would_find_a_double(tmp_path: Path) -> None:
    """The warnings that the tests above rely on."""
    needs("c")
    (tmp_path / "wrong.c").write_text("float f(float x); float f(float x) { return x * 0.5; }\n")
    command = [*COMPILERS["c"], *ONLY_FLOATS, "wrong.c", "-o", "wrong.so"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode != 0
