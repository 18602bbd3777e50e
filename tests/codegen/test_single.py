"""Code in single precision: no double in it, and the answers of the reference to seven digits."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture
from codegen.batch_running import ALL, ONLY_FLOATS, Job, run_jobs
from codegen.running import COMPILERS, needs

import forearm as fa
from forearm.codegen.generate import SINGLE as SINGLE_LANGUAGES
from forearm.codegen.generate import generate, program_for
from forearm.codegen.program import Program
from forearm.control.code import controller_code, traced_controller

SINGLE = 1e-5  # relative to the largest entry
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


@pytest.mark.slow
@pytest.mark.parametrize("language", [name for name in SINGLE_LANGUAGES if name in ALL])
def test_torques_accelerations_open_parameters_and_a_controller(language: str, tmp_path: Path) -> None:
    jobs, truths, parts = zip(*cases(), strict=True)
    for truth, part, (made,) in zip(truths, parts, run_jobs(language, jobs, tmp_path), strict=True):
        (found,) = (made[name] for name in ("tau", "qdd") if name in made)
        assert found.dtype == np.float32
        assert np.abs(found - truth).max() <= part * np.abs(truth).max()


@cache
def cases() -> list[tuple[Job, Any, float]]:
    """With their truths, for all languages; accelerations under load are solved as far as floats go."""
    rng, made = np.random.default_rng(4), list[tuple[Job, Any, float]]()

    def asked(
        program: Program, given: dict[str, Any], truth: Any, part: float = SINGLE, p: Any = None
    ) -> None:
        job = Job(replace(program, single=True, name=f"f{len(made)}"), [given], p)
        made.append((job, truth, part))

    for name in ("stanford", "driven", "geared"):
        arm = arm_of(name)
        rows = posture(arm, 4), rng.uniform(-1.0, 1.0, arm.n), rng.uniform(-2.0, 2.0, arm.n)
        q, qd, qdd = (np.array(x, dtype=np.float32).astype(float) for x in rows)
        tau = fa.dynamics.inverse(arm, q, qd, qdd)
        state = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
        asked(program_for(arm, "inverse_dynamics"), state, tau)
        if name == "geared":
            condition = float(np.linalg.cond(fa.dynamics.inertia_matrix(arm, q)))
            asked(program_for(arm, "forward_dynamics"), state, qdd, 1e-6 * condition)
        if name == "stanford":
            link = arm.link("link6")
            heavy = arm.with_link(fa.Link(name="link6", mass=2.5, com=link.com, inertia=link.inertia))
            opened = program_for(arm, "inverse_dynamics", ["link6.mass"])
            asked(opened, state, fa.dynamics.inverse(heavy, q, qd, qdd), p=np.array([2.5]))
            servo = traced_controller(arm, "computed_torque", bandwidth=20.0)[1].program()
            rest = dict.fromkeys((a.name for a in servo.inputs), np.zeros(arm.n))
            wanted = fa.dynamics.inverse(arm, q, qd, 400.0 * (qdd - q) - 40.0 * qd)
            asked(servo, rest | {"q": q, "qd": qd, "q_wanted": qdd}, wanted)
    return made


def test_texts_have_one_precision() -> None:
    arm = arm_of("driven")
    servo = controller_code(arm, "computed_torque", bandwidth=20.0, dtype="float32")
    assert "double" not in servo.text + servo.header
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
    said = f"generate, dtype: float32 is supported by {', '.join(SINGLE_LANGUAGES)}, got python"
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
