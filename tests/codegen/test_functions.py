"""Every function that can be generated is what the reference says:
by the graph, by generated Python, by compiled C.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, random_arm
from codegen.running import EVERY, run
from codegen.truths import (
    DIFFERENCE,
    GENERAL,
    TRUTHS,
    Given,
    assert_close,
    assert_true,
    by_c,
    by_graph,
    by_python,
    given,
    slopes,
)
from drives.making import loaded_arm
from dynamics.cases import FORWARD, INERTIA, INVERSE, SERIAL_ONLY, awkward_states, simple_drives, with_kinds
from sweeps import long

import forearm as fa
from forearm import Arm, Hand, InputError, Link, ModelError, dynamics
from forearm.arm.drive import Transmission
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import generate, program_for
from forearm.reduction.base import base_parameters
from forearm.spatial import pose, rotation_rpy

ARMS: dict[str, Arm] = {
    "puma560": fa.load("puma560"),  # with drives
    "panda": fa.load("panda"),
    "stanford": fa.load("stanford"),
    "tree": simple_drives(random_arm(21, 3, "frames", tree=True, mimic=True)),
    "standard tree": random_arm(22, 3, "standard", tree=True, mimic=True).rigid(),
    "modified chain": simple_drives(random_arm(23, 3, "modified")),
    "one joint": with_kinds(random_arm(24, 1, "frames"), "R"),
    "one slide": with_kinds(random_arm(25, 1, "standard"), "P"),
    "all sliding": with_kinds(random_arm(26, 3, "frames"), "PPP"),
}
SMALL = [name for name in ARMS if name not in ("puma560", "panda", "stanford")]
COMPILED = ("tree", "puma560", "standard tree", "one slide", "all sliding")


def test_every_function_has_its_truth() -> None:
    assert list(TRUTHS) == GENERAL


@pytest.mark.parametrize("function", GENERAL)
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep
def test_by_the_graph(name: str, function: str) -> None:
    arm = ARMS[name]
    for seed in (1, 2):
        g = given(arm, seed)
        assert_true(by_graph(arm, function, g), arm, function, g)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMALL, "puma560", "stanford", "panda"])
@pytest.mark.sweep(first=4)
def test_by_generated_python(name: str) -> None:
    arm = ARMS[name]
    g = given(arm, 3)
    for function in GENERAL:
        assert_true(by_python(program_for(arm, function), g), arm, function, g)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*COMPILED, *long(["panda", "stanford"])])
@pytest.mark.sweep(first=1)
def test_by_compiled_c(name: str) -> None:
    arm = ARMS[name]
    for function in GENERAL:
        for seed in (4, 5):
            g = given(arm, seed)
            assert_true(by_c(arm, function, g), arm, function, g)


@pytest.mark.slow
def test_by_compiled_c_where_things_break() -> None:
    arm = ARMS["puma560"]  # with friction, whose sign is that of the rate
    for state in awkward_states(arm).values():
        g = Given(*state, 3.0 * state.q)
        for function in (
            "inverse_dynamics",
            "forward_dynamics",
            "bias",
            "gravity",
            "coriolis_matrix",
            "kinetic_energy",
        ):
            assert_true(by_c(arm, function, g), arm, function, g)


@pytest.mark.slow
@EVERY
def test_every_language(language: str, tmp_path: Any) -> None:
    arm = ARMS["tree"]
    g = given(arm, 6)
    functions = ("inverse_dynamics", "reactions", "inverse_dynamics_derivatives")
    found = list(run(program_for(arm, functions, name="three"), language, tmp_path, g._asdict()).values())
    for function in functions:
        count = len(FUNCTIONS[function].outputs)
        assert_true(found[:count], arm, function, g)
        found = found[count:]


@pytest.mark.slow
def test_nan_goes_through() -> None:
    arm = ARMS["puma560"]
    g = given(arm, 1)
    for k, name in enumerate(("q", "qd", "qdd")):
        bad = g._replace(**{name: np.where(np.arange(arm.n) == 1, np.nan, g[k])})
        for found in (by_c(arm, "inverse_dynamics", bad), by_graph(arm, "inverse_dynamics", bad)):
            assert np.isnan(found[0][:2]).all()


def test_nan_goes_through_choices_and_look_ups() -> None:
    """Of an arm whose torques depend on the speed by nothing but a gear."""
    gear = Transmission(efficiency=((0.1, 0.5), (0.6, 0.8)), rated_torque=5.0, breakaway=0.0)
    arm = fa.load("chain1").rigid().with_joint("joint1", transmission=gear)
    g = given(arm, 1)
    cases = {"inverse_dynamics": ("q", "qd", "qdd"), "forward_dynamics": ("q", "qd", "tau")}
    for function, names in cases.items():
        (found,) = by_graph(arm, function, g)
        assert np.isfinite(found).all()
        for name in names:
            with np.errstate(invalid="ignore"):
                (found,) = by_graph(arm, function, g._replace(**{name: np.full(1, np.nan)}))
            assert np.isnan(found).all(), (function, name)


@pytest.mark.parametrize("name", ["puma560", "tree", "standard tree", "modified chain"])
def test_the_coriolis_matrix_is_that_of_christoffel(name: str) -> None:
    """c_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2 by differences of M,
    and then dM/dt - 2 C is skew-symmetric.
    """
    arm = ARMS[name]
    g = given(arm, 7)
    (C,) = by_graph(arm, "coriolis_matrix", g)
    dM = slopes(lambda q: dynamics.inertia_matrix(arm, q), g.q)  # i, j, k: dM_ij / dq_k
    symbols = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 0, 1))
    assert_close(C, symbols @ g.qd, DIFFERENCE)
    skew = dM @ g.qd - 2.0 * C
    assert_close(skew, -skew.T, DIFFERENCE)
    rest = np.zeros(arm.n)
    velocity_torques = dynamics.inverse(arm.rigid(), g.q, g.qd, rest) - dynamics.inverse(
        arm.rigid(), g.q, rest, rest
    )
    assert_close(C @ g.qd, velocity_torques)


@pytest.mark.parametrize("name", ["puma560", "tree", "all sliding"])
def test_kinematics_by_differences(name: str) -> None:
    arm = ARMS[name]
    g = given(arm, 8)
    along = g.q + OFFSETS[:, None] * g.qd
    path = [by_graph(arm, "forward_kinematics", g._replace(q=q))[0] for q in along]
    rate = np.einsum("t,tij->ij", SEVEN_POINTS, path)
    spin = rate[:3, :3] @ path[3][:3, :3].T
    (J,), (Jd,) = by_graph(arm, "jacobian", g), by_graph(arm, "jacobian_derivative", g)
    assert_close(J @ g.qd, np.concatenate([rate[:3, 3], [spin[2, 1], spin[0, 2], spin[1, 0]]]), DIFFERENCE)
    J_path = [by_graph(arm, "jacobian", g._replace(q=q))[0] for q in along]
    assert_close(Jd, np.einsum("t,tij->ij", SEVEN_POINTS, J_path), DIFFERENCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "tree", "one slide"])
def test_energies_are_those_of_the_torques(name: str) -> None:
    """Gravity's torques are the slope of the potential energy, and the kinetic energy is that
    of the inertia matrix.
    """
    arm = ARMS[name]
    g = given(arm, 9)
    potential = [
        [by_graph(arm, "potential_energy", g._replace(q=g.q + h * e))[0][0] for h in OFFSETS]
        for e in np.eye(arm.n)
    ]
    assert_close(by_graph(arm, "gravity", g)[0], np.array(potential) @ SEVEN_POINTS, DIFFERENCE)
    (M,), (K,) = by_graph(arm, "inertia_matrix", g), by_graph(arm, "kinetic_energy", g)
    assert_close(K[0], 0.5 * g.qd @ M @ g.qd)


@pytest.mark.parametrize("name", ["puma560", "standard tree", "one slide", "modified chain"])
def test_reactions_hold_what_the_torques_are(name: str) -> None:
    """Moved to the joint's own origin, what lies along its axis is the rigid arm's torque;
    standard frames lie elsewhere.
    """
    arm = ARMS[name]
    g = given(arm, 10)
    (wrench,) = by_graph(arm, "reactions", g)
    felt = np.zeros(arm.n)
    for body, row in zip(arm.moving.bodies, wrench, strict=True):
        lever = body.after[:3, :3].T @ body.after[:3, 3]
        axis = body.after[:3, :3].T @ body.axis
        along = row[:3] if body.kind == "prismatic" else row[3:] + np.cross(lever, row[:3])
        felt[body.freedom] += body.multiplier * float(axis @ along)
    assert_close(felt, dynamics.inverse(arm.rigid(), g.q, g.qd, g.qdd))


@pytest.mark.parametrize("name", ["puma560", "tree", "all sliding"])
def test_regressors_times_parameters_are_torques(name: str) -> None:
    arm = ARMS[name]
    g = given(arm, 11)
    torques = dynamics.inverse(arm.rigid(), g.q, g.qd, g.qdd)
    assert_close(by_graph(arm, "regressor", g)[0] @ dynamics.inertial_parameters(arm), torques)
    assert_close(by_graph(arm, "base_regressor", g)[0] @ base_parameters(arm).values, torques)


@pytest.mark.parametrize("where", ["hand in the middle", "hand on the base", "tool"])
def test_the_hand_may_be_anywhere(where: str) -> None:
    chain = random_arm(42, 3, "standard", prismatic=False, fixed=False).rigid()
    tool = pose(rotation_rpy((0.3, -0.5, 0.9)), (0.1, -0.2, 0.3))
    link = {
        "hand in the middle": chain.links[2].name,
        "hand on the base": chain.base_link,
        "tool": chain.links[-1].name,
    }[where]
    arm = chain.replace(hand=Hand(link=link, pose=tool))
    g = given(arm, 1)
    for function in ("forward_kinematics", "jacobian", "jacobian_derivative"):
        assert_true(by_graph(arm, function, g), arm, function, g)


FUSED = {
    "control": ("inverse_dynamics", "inertia_matrix", "gravity"),
    "both ways": ("forward_dynamics", "inverse_dynamics"),
    "hand": ("forward_kinematics", "jacobian", "jacobian_derivative"),
    "energies": ("bias", "coriolis_matrix", "kinetic_energy", "potential_energy"),
    "one matrix twice": ("inverse_dynamics_derivatives", "inertia_matrix"),
    "as it is": ("reactions", "regressor", "base_regressor"),
    "mixed": ("reactions", "inverse_dynamics", "jacobian"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "stanford", "tree"])
@pytest.mark.parametrize("which", FUSED)
@pytest.mark.sweep
def test_fused_functions_share_work(which: str, name: str) -> None:
    arm, functions = ARMS[name], FUSED[which]
    g = given(arm, 12)
    program = program_for(arm, functions, name="fused")
    found = dict(zip((a.name for a in program.outputs), by_python(program, g), strict=True))
    given_names = {a.name for a in program.inputs}
    assert set().union(*(FUNCTIONS[f].inputs for f in functions)) == given_names
    for function in functions:
        own = [f"{output}_out" if output in given_names else output for output in FUNCTIONS[function].outputs]
        assert_true([found[output] for output in own], arm, function, g)
    alone = [program_for(arm, function).counts for function in functions]
    together = program.counts
    assert together.mul + together.add < sum(c.mul + c.add for c in alone)
    assert together.trig < sum(c.trig for c in alone)


def test_an_output_named_as_an_input_gets_another_name() -> None:
    program = program_for(ARMS["one joint"], ("forward_dynamics", "inverse_dynamics"))
    assert [a.name for a in program.inputs] == ["q", "qd", "qdd", "tau"]
    assert [a.name for a in program.outputs] == ["qdd_out", "tau_out"]


# Their work grows as n^5 to n^3: only short chains.
SLOW = {
    "lagrange-naive": "chain2",
    "lagrange-uicker": "chain2",
    "lagrange-stored": "chain3",
    "lagrange-recursive": "chain3",
    "lagrange-recursive-d": "chain3",
}
EVERY_FORMULATION = [
    *(("inverse_dynamics", name) for name in INVERSE),
    *(("inertia_matrix", name) for name in INERTIA),
    *(("forward_dynamics", name) for name in FORWARD if name != "conjugate-gradient"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("function", "formulation"), EVERY_FORMULATION)
def test_every_formulation(function: str, formulation: str) -> None:
    arm = fa.load(SLOW.get(formulation, "puma560-akb"))
    if function == "forward_dynamics":
        arm = fa.load("puma560-dhanaraj3")  # conjugate gradients lose digits with every joint
    g = given(arm, 13)
    program = program_for(arm, function, formulation=formulation)
    assert f"Traced from the formulation {formulation}, common values shared." in program.about
    assert_true(by_python(program, g), arm, function, g)


@pytest.mark.parametrize("formulation", ["newton-euler", "kane", "gibbs-appell", "lagrange-silver"])
def test_formulations_know_drives_trees_and_followers(formulation: str) -> None:
    arm = ARMS["tree"]
    g = given(arm, 14)
    found = by_python(program_for(arm, "inverse_dynamics", formulation=formulation), g)
    assert_true(found, arm, "inverse_dynamics", g)


def test_formulations_for_chains_refuse_trees() -> None:
    for formulation in SERIAL_ONLY:
        with pytest.raises(ModelError, match="serial chains"):
            generate(ARMS["tree"], "inverse_dynamics", formulation=formulation)
    with pytest.raises(
        ModelError, match="articulated-body does not support the mimicking joints of 'random21'"
    ):
        generate(ARMS["tree"], "forward_dynamics", formulation="articulated-body")


@pytest.mark.slow
def test_regrouping_beats_every_formulation() -> None:
    """The code as generated takes fewer operations than any formulation as it stands."""
    arm = fa.load("puma560-dhanaraj3")
    ours = generate(arm, "inverse_dynamics").counts
    for formulation in INVERSE:
        theirs = generate(arm, "inverse_dynamics", formulation=formulation).counts
        assert ours.mul + ours.add < theirs.mul + theirs.add, formulation


def test_formulations_of_the_documents_know_no_load() -> None:
    """They are traced as they stand, without reactions: where friction asks for them
    the formulation must go.
    """
    arm = loaded_arm("chain", 2, 2)
    said = (
        r"generate: a formulation is traced as published, without {}; leave the formulation "
        r"out, or use arm\.rigid"
    )
    with pytest.raises(InputError, match=said.format("bearings")):
        generate(arm, "inverse_dynamics", formulation="gibbs-appell")
    with pytest.raises(InputError, match=said.format("friction that depends on the load")):
        generate(arm, "forward_dynamics", formulation="articulated-body")
    generate(arm.rigid(), "inverse_dynamics", formulation="gibbs-appell")


LOADED = {
    "chain": loaded_arm("chain", 2, 2),
    "followers": loaded_arm("followers", 7, 2),
    "tree": loaded_arm("tree", 4, 3),
}
# What the load has no part in, and torques; accelerations are asked below what torques they need.
UNDER_LOAD = (
    "inverse_dynamics",
    "bias",
    "gravity",
    "inertia_matrix",
    "coriolis_matrix",
    "kinetic_energy",
    "regressor",
    "reactions",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADED)
def test_friction_that_depends_on_the_load(name: str) -> None:
    """By the graph, by Python and by C: torques of the reference."""
    arm = LOADED[name]
    for seed in range(2):
        g = given(arm, seed)
        for function in UNDER_LOAD:
            assert_true(by_graph(arm, function, g), arm, function, g)
        program = program_for(arm, "inverse_dynamics")
        assert_true(by_python(program, g), arm, "inverse_dynamics", g)
        with TemporaryDirectory() as folder:
            assert_true(
                list(run(program, "c", Path(folder), g._asdict()).values()), arm, "inverse_dynamics", g
            )


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADED)
@pytest.mark.sweep(first=1)
def test_accelerations_under_load_need_the_torques_that_were_given(name: str) -> None:
    """Eight of Newton's steps written out: in Python and in C, for torques of any size, and at rest."""
    arm = LOADED[name]
    program = program_for(arm, "forward_dynamics")
    for seed, size in enumerate((0.0, 1.0, 30.0, 1.0)):
        g = given(arm, seed)
        g = g._replace(tau=size * g.tau, qd=g.qd if seed < 3 else 0.0 * g.qd)
        with TemporaryDirectory() as folder:
            made = [
                next(iter(run(program, language, Path(folder), g._asdict()).values()))
                for language in ("c", "python")
            ]
        for qdd in made:
            needed = dynamics.inverse(arm, g.q, g.qd, qdd)
            assert_close(needed, g.tau, 1e-10, f"{name}, torques times {size}")
        assert_close(made[0], made[1], 1e-10)


@pytest.mark.slow
def test_friction_of_two_directions_has_no_torque_at_rest() -> None:
    arm = ARMS["tree"]
    assert any(j.friction and j.friction.coulomb[0] != -j.friction.coulomb[1] for j in arm.joints)
    for qd in (np.zeros(arm.n), np.full(arm.n, 1e-300), np.full(arm.n, -1e-300)):
        g = given(arm, 1)._replace(qd=qd)
        for found in (by_c(arm, "inverse_dynamics", g), by_graph(arm, "inverse_dynamics", g)):
            assert_true(found, arm, "inverse_dynamics", g)


def test_a_singular_inertia_matrix_is_told() -> None:
    """A joint that moves nothing: torques are what they are, accelerations are refused as the
    reference refuses them.
    """
    arm = random_arm(30, 2, "frames", prismatic=False, fixed=False).rigid()
    arm = arm.with_link(Link(name=arm.links[-1].name))
    g = given(arm, 1)
    assert_true(by_graph(arm, "inverse_dynamics", g), arm, "inverse_dynamics", g)
    with pytest.raises(ModelError, match="singular"):
        dynamics.forward(arm, g.q, g.qd, g.tau)
    for formulation in (None, "composite-body", "articulated-body"):
        with pytest.raises(ModelError, match="singular"):
            generate(arm, "forward_dynamics", formulation=formulation)
    with pytest.raises(ModelError, match="singular"):
        arm.regrouped().forward(g.q, g.qd, g.tau)
