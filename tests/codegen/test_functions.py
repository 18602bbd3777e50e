"""Every function that can be generated is what the reference says:
by the graph, by generated Python, by compiled C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, random_arm
from codegen.truths import (
    DIFFERENCE,
    GENERAL,
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


@pytest.mark.parametrize("function", GENERAL)
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep
def test_by_the_graph(name: str, function: str) -> None:
    arm = ARMS[name]
    g = given(arm, 1)
    assert_true(by_graph(arm, function, g), arm, function, g)


@pytest.mark.slow
def test_by_compiled_c_where_things_break() -> None:
    """Of an arm with friction, whose sign is that of the rate: at rest it has none, though its two
    directions differ; what is not known is known nowhere.
    """
    arm = ARMS["tree"]
    assert any(j.friction and j.friction.coulomb[0] != -j.friction.coulomb[1] for j in arm.joints)
    states = [Given(*state, 3.0 * state.q) for state in awkward_states(arm).values()]
    states += [given(arm, 1)._replace(qd=np.full(arm.n, rate)) for rate in (0.0, 1e-300, -1e-300)]
    for function in ("inverse_dynamics", "forward_dynamics", "coriolis_matrix"):
        for g in states:
            assert_true(by_c(arm, function, g), arm, function, g)
    g = given(arm, 1)
    for name in ("q", "qd", "qdd"):
        bad = g._replace(**{name: np.where(np.arange(arm.n) == 1, np.nan, getattr(g, name))})
        for found in (by_c(arm, "inverse_dynamics", bad), by_graph(arm, "inverse_dynamics", bad)):
            assert np.isnan(found[0][1])


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


@pytest.mark.parametrize("name", ["tree", "standard tree", "modified chain"])
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


@pytest.mark.parametrize("name", ["tree", "all sliding"])
def test_kinematics_and_energies_by_differences(name: str) -> None:
    """Gravity's torques are the slope of the potential energy, and the kinetic energy is that
    of the inertia matrix.
    """
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
    potential = [by_graph(arm, "potential_energy", g._replace(q=q))[0][0] for q in along]
    assert_close(by_graph(arm, "gravity", g)[0] @ g.qd, SEVEN_POINTS @ potential, DIFFERENCE)
    (M,), (K,) = by_graph(arm, "inertia_matrix", g), by_graph(arm, "kinetic_energy", g)
    assert_close(K[0], 0.5 * g.qd @ M @ g.qd)


@pytest.mark.parametrize("name", ["standard tree", "one slide", "modified chain"])
def test_reactions_and_regressors_hold_what_the_torques_are(name: str) -> None:
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
    torques = dynamics.inverse(arm.rigid(), g.q, g.qd, g.qdd)
    assert_close(felt, torques)
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


def test_an_output_named_as_an_input_gets_another_name() -> None:
    program = program_for(ARMS["one joint"], ("forward_dynamics", "inverse_dynamics"))
    assert [a.name for a in program.inputs] == ["q", "qd", "qdd", "tau"]
    assert [a.name for a in program.outputs] == ["qdd_out", "tau_out"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "stanford"])
def test_functions_in_one_share_work(name: str) -> None:
    """Each gives what it is, and together they take fewer operations than by themselves."""
    arm = ARMS[name]
    g = given(arm, 12)
    functions = GENERAL if name == "tree" else ("inverse_dynamics", "inertia_matrix", "jacobian")
    program = program_for(arm, functions, name="fused")
    found = dict(zip((a.name for a in program.outputs), by_python(program, g), strict=True))
    names = {a.name for a in program.inputs}
    assert set().union(*(FUNCTIONS[f].inputs for f in functions)) == names
    for function in functions:
        own = [f"{output}_out" if output in names else output for output in FUNCTIONS[function].outputs]
        assert_true([found[output] for output in own], arm, function, g)
    alone = [program_for(arm, function).counts for function in functions]
    together = program.counts
    assert together.mul + together.add < sum(c.mul + c.add for c in alone)
    assert together.trig < sum(c.trig for c in alone)


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


def test_formulations_refuse_what_they_do_not_know() -> None:
    """Those for chains trees, and all of them friction that depends on the load: they are traced as
    they stand, without reactions.
    """
    loaded = loaded_arm("chain", 2, 2)
    forward: Any = {"function": "forward_dynamics", "formulation": "articulated-body"}
    said = "a formulation is traced as published, without {}; leave the formulation out, or use arm.rigid"
    refused: list[tuple[Arm, dict[str, Any], str]] = [
        *((ARMS["tree"], {"formulation": name}, "serial chains") for name in SERIAL_ONLY),
        (ARMS["tree"], forward, "articulated-body does not support the mimicking joints of 'random21'"),
        (loaded, {"formulation": "gibbs-appell"}, said.format("bearings")),
        (loaded, forward, said.format("friction that depends on the load")),
    ]
    for arm, options, words in refused:
        with pytest.raises((InputError, ModelError), match=words):
            generate(arm, **{"function": "inverse_dynamics"} | options)
    generate(loaded.rigid(), "inverse_dynamics", formulation="gibbs-appell")


@pytest.mark.slow
def test_regrouping_beats_every_formulation() -> None:
    """The code as generated takes fewer operations than any formulation as it stands."""
    arm = fa.load("puma560-dhanaraj3")
    ours = generate(arm, "inverse_dynamics").counts
    for formulation in sorted(set(INVERSE) - set(SLOW)):
        theirs = generate(arm, "inverse_dynamics", formulation=formulation).counts
        assert ours.mul + ours.add < theirs.mul + theirs.add, formulation


LOADED = {
    "chain": loaded_arm("chain", 2, 2),
    "followers": loaded_arm("followers", 7, 2),
    "tree": loaded_arm("tree", 4, 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADED)
def test_friction_that_depends_on_the_load(name: str) -> None:
    """Torques, and what the load has no part in; what accelerations need is asked in every language."""
    arm = LOADED[name]
    g = given(arm, 1)
    for function in ("inverse_dynamics", "bias", "gravity", "inertia_matrix", "regressor", "reactions"):
        assert_true(by_graph(arm, function, g), arm, function, g)


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
