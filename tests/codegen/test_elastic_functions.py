"""Functions of elastic joints as code: what the reference says, by the graph and in every language."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.batch_running import EVERY_LANGUAGE, Job, run_jobs
from codegen.truths import assert_close
from drives.making import loaded_arm
from dynamics.cases import Array, simple_drives
from dynamics.elastic_cases import elastic_arms, elastic_state, with_springs

import forearm as fa
from forearm import Arm, InputError, Joint, ModelError, dynamics
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.generate import LANGUAGES, generate, program_for
from forearm.codegen.program import Program
from forearm.codegen.tracing import Tracing
from forearm.kernels.function_names import ELASTIC
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols import evaluate

FORWARD, INVERSE = ELASTIC
SPIN: Any = (0.4, -0.7, 0.5)
ARMS: dict[str, Arm] = elastic_arms() | {
    "damped": with_springs(loaded_arm("chain", 111, 3), 1, damping=900.0),
    "gaps": with_springs(loaded_arm("chain", 112, 3), 2, "linear", damping=5.0, rigid=1, half_gap=1.7e-3),
    "spinning": with_springs(loaded_arm("tree", 113, 3), 3, rigid=1, rotor_axis=SPIN),
}
CASES = [
    (name, function)
    for name in ARMS
    for function in ELASTIC
    if function == FORWARD or name not in ("gaps", "spinning")
]
WRITTEN = [("damped", INVERSE), ("gaps", FORWARD)]


def given_for(arm: Arm, seed: int) -> dict[str, Array]:
    """Every input by name."""
    rng = np.random.default_rng([seed, 64])
    q, qd, theta, thetad, tau = elastic_state(arm, seed)
    more = rng.uniform(0.3, 1.6, (3, arm.n)) * rng.choice([-1.0, 1.0], (3, arm.n))
    states = dict(zip(("qdd", "qddd", "qdddd"), more, strict=True))
    return states | {
        "q": q, "qd": qd, "theta": theta, "thetad": thetad, "tau": tau, "deflection": theta - q,
    }  # fmt: skip


def truth_of(arm: Arm, function: str, g: dict[str, Array]) -> dict[str, Array]:
    """By the reference."""
    given = [g[name] for name in FUNCTIONS[function].inputs]
    if function == FORWARD:
        return dict(zip(("qdd", "thetadd"), dynamics.elastic_forward(arm, *given), strict=True))
    made = dynamics.elastic_inverse(arm, *given)
    return {name: getattr(made, name) for name in ("tau", "theta", "thetad")}


def assert_true(found: dict[str, Any], arm: Arm, function: str, g: dict[str, Array]) -> None:
    growth = 1.0
    if function == FORWARD:
        growth = max(1.0, float(np.linalg.cond(dynamics.inertia_matrix(arm, g["q"]))) / 10.0)
    truth = truth_of(arm, function, g)
    assert list(found) == list(truth)
    for name, value in truth.items():
        assert_close(found[name], value, 1e-12 * growth, f"{function} of {arm.name}, {name}")


@cache
def traced_of(arm: Arm, function: str, parameters: tuple[str, ...]) -> tuple[Traced, dict[str, float]]:
    chosen = chosen_parameters(arm, parameters)
    return trace(Tracing(arm, chosen), [FUNCTIONS[function]]), chosen


def by_graph(arm: Arm, function: str, g: dict[str, Array], **values: Any) -> dict[str, Any]:
    traced, chosen = traced_of(arm, function, tuple(values.pop("parameters", ())))
    entries = {f"{name}[{i}]": float(x) for name, row in g.items() for i, x in enumerate(row)}
    return dict(evaluate(traced.graph, traced.results, entries | chosen | values.pop("values", {})))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "function"), CASES)
def test_by_the_graph(name: str, function: str) -> None:
    arm = ARMS[name]
    g = given_for(arm, 1)
    assert_true(by_graph(arm, function, g), arm, function, g)


@cache
def written(name: str, function: str) -> Program:
    """For all languages; libraries of one process must not share a name."""
    return program_for(ARMS[name], function, name=f"springs {name}")


@pytest.mark.slow
@EVERY_LANGUAGE
def test_in_every_language(language: str, tmp_path: Path) -> None:
    checks = [(ARMS[name], function, given_for(ARMS[name], 4)) for name, function in WRITTEN]
    jobs = [Job(written(*case), [g]) for case, (_, _, g) in zip(WRITTEN, checks, strict=True)]
    for (arm, function, g), (found,) in zip(checks, run_jobs(language, jobs, tmp_path), strict=True):
        assert_true(found, arm, function, g)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_what_it_is(language: str) -> None:
    source = generate(ARMS["bare springs"], INVERSE, language=language)
    assert "nverse dynamics with elastic joints" in source.text + source.header
    assert source.counts.mul > 0


def test_the_header_names_springs_and_units() -> None:
    header = " ".join(generate(ARMS["bare springs"], INVERSE).header.replace("*", " ").split())
    assert "friction and springs between motors and links included" in header
    assert "in deflection[4] theta - q where a spring has damping, rad (m where a joint slides)" in header


@pytest.mark.parametrize("function", ELASTIC)
def test_open_parameters_are_those_of_links_and_motors(function: str) -> None:
    """Symbols with other values are an arm with other figures."""
    arm = with_springs(simple_drives(random_arm(114, 3)), 4, "spline", rigid=1)
    link = arm.links[-1].name
    names = ["drives", "gravity", f"{link}.mass"]
    values = {
        name: 1.07 * value
        for name, value in chosen_parameters(arm, names).items()
        if not name.endswith("gear_ratio") and not name.startswith("gravity")
    }

    def changed(joint: Joint) -> Joint:
        f, motor = joint.friction, joint.motor
        if f is None or motor is None:
            return joint
        coulomb = (1.07 * f.coulomb[0], 1.07 * f.coulomb[1])
        return replace(
            joint,
            friction=replace(f, viscous=1.07 * f.viscous, coulomb=coulomb),
            motor=replace(motor, rotor_inertia=1.07 * motor.rotor_inertia),
        )

    links = tuple(replace(k, mass=1.07 * k.mass) if k.name == link else k for k in arm.links)
    other = arm.replace(tree=tuple(map(changed, arm.tree)), links=links)
    g = given_for(arm, 5)
    found = by_graph(arm, function, g, parameters=names, values=values)
    assert_true(found, other, function, g)
    truth = truth_of(arm, function, g)
    assert any(np.abs(found[name] - truth[name]).max() > 1e-3 for name in truth)


def test_springs_change_nothing_else() -> None:
    """Functions of the rigid arm are the same text, whether its joints have springs or not."""
    arm = simple_drives(random_arm(115, 3))
    elastic = with_springs(arm, 5)
    for function in ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "bias", "reactions"):
        assert generate(elastic, function).text == generate(arm, function).text


def test_what_cannot_be_is_refused_and_both_are_one_function() -> None:
    damped, spinning, rigid = ARMS["damped"], ARMS["spinning"], fa.load("ur5")
    refused: list[tuple[Arm, Any, dict[str, Any], str]] = [
        (rigid, FORWARD, {}, "elastic_forward_dynamics: 'ur5' has no elastic joint"),
        (rigid, INVERSE, {}, "elastic_inverse_dynamics: 'ur5' has no elastic joint"),
        (spinning, INVERSE, {}, "derivatives of the motion up to order 8"),
        (ARMS["gaps"], INVERSE, {}, "with the backlash of joint2, joint3"),
        (spinning, FORWARD, {"parameters": ["gravity"]}, "does not support open parameters if rotors' spin"),
        (damped, [INVERSE, "inverse_dynamics"], {}, "both return tau; generate them separately"),
        (damped, ["forward_dynamics", FORWARD], {}, "both return qdd; generate them separately"),
    ]
    for arm, function, options, said in refused:
        with pytest.raises((InputError, ModelError), match=said):
            generate(arm, function, **options)
    program = program_for(damped, ELASTIC, name="both")
    assert [a.name for a in program.outputs] == ["qdd_out", "thetadd", "tau_out", "theta_out", "thetad_out"]
    assert [a.name for a in program.inputs][:5] == ["q", "qd", "qdd", "qddd", "qdddd"]
