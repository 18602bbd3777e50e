"""Every function of an arm, steps of its simulation and controllers in every language."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.batch_running import EVERY_LANGUAGE, EVERY_OTHER, MORE, Job, checked, run_jobs, write_all
from codegen.programs import loops
from codegen.running import needs, runner
from codegen.test_functions import ARMS, LOADED
from codegen.test_parameters import other_values, with_values
from codegen.test_simulation_step import ARMS as STEPPED
from codegen.test_simulation_step import SAME, H, by_rk4, first_state, program_of, pushed
from codegen.truths import GENERAL, Given, assert_close, assert_true, given
from control.test_code import ARMS as DRIVEN
from control.test_code import PYTHON, TOLERANCE, samples, volts
from sweeps import long

import forearm as fa
from forearm import Arm, dynamics, kinematics
from forearm.codegen.generate import program_for, step_program
from forearm.codegen.program import Program
from forearm.codegen.simulation_step import TracedPlant
from forearm.control.code import traced_controller
from forearm.control.laws import LAWS
from forearm.drives.motor import constants_of
from forearm.symbols import evaluate

# The pose of the hand that a solution has; iterations stop below 1e-9.
POSE, SOLVED = 1e-10, 1e-9
STEPS = 6
SMALL = random_arm(6, 3, prismatic=False, drives=False)
GEARED = fa.load(Path(__file__).parents[1] / "data" / "geared.toml")


programs = cache(program_for)  # once for all languages


def posed(arm: Arm) -> dict[str, Any]:
    """A pose within reach, and where to begin."""
    low, high = np.array([(max(j.limits.lower, -2.0), min(j.limits.upper, 2.0)) for j in arm.joints]).T
    q = low + (high - low) * np.linspace(0.3, 0.6, arm.n)
    return {"q": q + 0.04, "T": kinematics.forward(arm, q)}


def assert_posed(made: dict[str, Any], arm: Arm, state: dict[str, Any], _: int) -> None:
    """Every branch leads to the pose, and so does the iteration."""
    if "q_branches" in made:
        there = [row for row in made["q_branches"] if not np.isnan(row).any()]
        truth = kinematics.inverse(arm, state["T"]).q
        assert len(there) == len(truth) > 0
        for row in there:
            assert np.abs(kinematics.forward(arm, row) - state["T"]).max() < POSE
    else:
        assert made["error"].max() < SOLVED
        assert np.abs(kinematics.forward(arm, made["q_found"]) - state["T"]).max() < 10.0 * SOLVED


def assert_all_functions(
    language: str, names: list[str], folder: Path, seeds: tuple[int, ...] = (6,)
) -> None:
    """Of several arms at once; of those with open parameters also with other values of them."""
    jobs, checks = list[Job](), list[Any]()
    for k, name in enumerate(names):
        arm = ARMS[name]
        rows = [given(arm, seed) for seed in seeds]
        for function in GENERAL:
            jobs.append(Job(programs(arm, function, name=f"f{k}_{function}"), [g._asdict() for g in rows]))
            checks.append((arm, function, rows))
    for (arm, function, rows), made in zip(checks, run_jobs(language, jobs, folder), strict=True):
        for g, outputs in zip(rows, made, strict=True):
            assert_true([*outputs.values()], arm, function, g)


@pytest.mark.slow
@EVERY_LANGUAGE
def test_every_function(language: str, tmp_path: Path) -> None:
    assert_all_functions(language, ["tree"], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("names", [[n for n in ARMS if n != "panda"], ["panda"]], ids=["many", "panda"])
@EVERY_LANGUAGE
def test_every_function_of_every_arm(language: str, names: list[str], tmp_path: Path) -> None:
    assert_all_functions(language, names, tmp_path, (1, 2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, *long([True])], ids=["few", "every"])
@EVERY_LANGUAGE
def test_what_iterates_decides_and_is_prepared(language: str, every: bool, tmp_path: Path) -> None:
    """Inverse kinematics in both ways, accelerations under gears and bearings, open parameters, and steps
    of a simulation, each from the state of generated Python, beside the states of machine code.
    """
    arms = [fa.load(name).rigid() for name in ("puma560", "stanford", "ur5")[: 3 if every else 1]]
    jobs, checks = list[Job](), list[Callable[[int, dict[str, Any]], None]]()

    def asked(
        check: Callable[..., None], program: Program, states: list[Any], of: Any, p: Any = None
    ) -> None:
        jobs.append(Job(replace(program, name=f"f{len(jobs)}"), states, p))
        checks.append(lambda k, made: check(made, of, states[k], k))

    for arm in arms if every else [*arms, SMALL]:
        for function in ("inverse_kinematics", "numeric_inverse_kinematics"):
            if every or (function == "inverse_kinematics") == (arm.n == 6):
                asked(assert_posed, programs(arm, function), [posed(arm)], arm)
    for arm in [GEARED, *(LOADED.values() if every else ())]:
        states = []
        for seed, size in enumerate((0.0, 1.0, 30.0)):
            g = given(arm, seed)
            tau = size * dynamics.inverse(arm, g.q, g.qd, g.qdd)
            states.append(g._replace(tau=tau, qd=bool(size) * g.qd)._asdict())
        asked(assert_needed, programs(arm, "forward_dynamics"), states, arm)
    tree, g = ARMS["tree"], given(ARMS["tree"], 5)
    both = programs(tree, ("inverse_dynamics", "inertia_matrix"), "all")
    other = other_values(tree, list(both.parameters))
    asked(assert_both, both, [g._asdict()], with_values(tree, other), np.array([*other.values()]))
    for name in STEPPED if every else ("dry",):
        asked(assert_step, program_of(name, not every), steps(name, not every), by_rk4(name)[0])
    for check, rows in zip(checks, run_jobs(language, jobs, tmp_path), strict=True):
        for k, made in enumerate(rows):
            check(k, made)


def assert_needed(made: dict[str, Any], arm: Arm, g: dict[str, Any], _: int) -> None:
    """Accelerations need the torques that were given."""
    needed = dynamics.inverse(arm, g["q"], g["qd"], made["qdd"])
    assert_close(needed, g["tau"], 1e-10, arm.name)


def assert_both(made: dict[str, Any], arm: Arm, g: dict[str, Any], _: int) -> None:
    assert_true([made["tau"]], arm, "inverse_dynamics", Given(**g))
    assert_true([made["M"]], arm, "inertia_matrix", Given(**g))


def assert_step(made: dict[str, Any], truth: Any, _: dict[str, Any], k: int) -> None:
    found = np.concatenate([made["q_next"], made["qd_next"]])
    assert np.abs(found - truth[k + 1]).max() <= SAME * np.abs(truth).max()


@cache
def steps(name: str, is_open: bool) -> list[dict[str, Any]]:
    arm, program, states = STEPPED[name], program_of(name, is_open), list[dict[str, Any]]()
    first = first_state(arm, TracedPlant(arm, voltage=False))
    state = {a.name: np.array(getattr(first, a.name)) for a in program.inputs[:-2]}
    with tempfile.TemporaryDirectory() as folder:
        call = runner(program, "python", Path(folder))
        for k in range(STEPS):
            states.append(state | {"tau": np.array(pushed(arm, k)), "h": np.array([H])})
            state = {key.removesuffix("_next"): value for key, value in call(states[-1], None).items()}
    return states


@pytest.mark.long
@EVERY_OTHER
def test_laws_of_the_hand(language: str, tmp_path: Path) -> None:
    """What the graph of each law gives."""
    arm, rng, jobs, truths = fa.load("puma560"), np.random.default_rng(3), list[Job](), list[Any]()
    for law in ("impedance", "operational_space", "admittance", "gravity_compensation"):
        made, traced = traced_controller(arm, law, name=f"hand_{law}")
        program = traced.program()
        given = {a.name: rng.uniform(-0.6, 0.6, a.shape) for a in program.inputs}
        leaves: dict[str, Any] = {f"{n}[{i}]": x for n, row in given.items() for i, x in enumerate(row.flat)}
        truths.append(evaluate(made.traced.graph, made.traced.results, leaves | made.parameters))
        jobs.append(Job(program, [given]))
    for truth, (found,) in zip(truths, run_jobs(language, jobs, tmp_path), strict=True):
        for name, array in found.items():
            expected = np.array(truth[name], dtype=float)
            assert np.abs(array - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max()), name


@pytest.mark.slow
@pytest.mark.parametrize("laws", [["pid_gravity"], *long([list(LAWS)])], ids=["one", "all"])
@EVERY_OTHER
def test_controllers(language: str, laws: list[str], tmp_path: Path) -> None:
    """Sample by sample what the controller of the same name gives; those with a state go on from it."""
    arm = DRIVEN["random with limits"]()
    jobs, expected = list[Job](), list[list[Any]]()
    for law in laws:
        program = traced_controller(arm, law, name=f"servo_{law}", open_gains=True)[1].program()
        states, truths, state = list[dict[str, Any]](), list[Any](), np.zeros(arm.n)
        controller, call = PYTHON[law](arm), runner(program, "python", tmp_path)
        for sample in samples(arm, 4, 1):
            row = dict(zip(("q_wanted", "qd_wanted", "qdd_wanted"), sample.wanted, strict=True))
            states.append(row | {"q": sample.q, "qd": sample.qd, "state": state})
            tau = controller.command(sample)
            truths.append((volts(arm, tau, sample.qd), constants_of(arm).R * tau / constants_of(arm).K))
            state = call(states[-1], None).get("state_next", state)
        jobs.append(Job(program, states))
        expected.append(truths)
    for truths, rows in zip(expected, run_jobs(language, jobs, tmp_path), strict=True):
        for (truth, scale), made in zip(truths, rows, strict=True):
            size = np.abs(np.concatenate([scale, truth])).max()
            assert np.abs(made["voltage"] - truth).max() <= TOLERANCE * size


@pytest.mark.long
def test_another_grammar_reads_structured_text() -> None:
    """That of blark, which reads what TwinCAT does."""
    blark = pytest.importorskip("blark.parse", reason="blark is not installed")
    made = [program_for(GEARED, "inverse_dynamics", ["gravity"]), loops().program()]
    made += [replace(made[0], single=True)]
    for program in made:
        parsed = blark.parse_source_code(MORE["st"].write(program)[0])
        assert parsed.exception is None, parsed.exception


@pytest.mark.long
def test_big_programs_of_cuda_compile(tmp_path: Path) -> None:
    needs("cuda")
    made = [program_for(ARMS["panda"], function, name=f"p_{function}") for function in GENERAL]
    made += [step_program(STEPPED["gears and bearings"], "rk4", "torque", name="p_step")]
    for program in made:
        write_all("cuda", program, tmp_path)
    (tmp_path / "all.cu").write_text("".join(f'#include "{p.name}.cu"\n' for p in made), encoding="ascii")
    checked(
        ["nvcc", "-Werror", "all-warnings", "-arch=sm_80", "-cubin", "all.cu", "-o", "all.cubin"], tmp_path
    )
