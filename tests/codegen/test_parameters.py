"""Parameters that stay symbols: with the arm's own values the code is that of the arm,
with others that of the other arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import Array, random_arm
from codegen.running import run
from codegen.truths import GENERAL, Given, assert_close, assert_true, by_python, given
from dynamics.cases import simple_drives

import forearm as fa
from forearm import DH, Arm, InputError, Joint, Link, NameNotFound
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import generate, program_for
from forearm.reduction.base import base_parameters
from forearm.reduction.geometry import GEOMETRY, geometry_values
from forearm.reduction.inertial import AXES
from forearm.reduction.symbolic import chosen_parameters, parameter_values
from forearm.spatial import TENSOR

ARMS: dict[str, Arm] = {
    # most centres on an axis, tensors diagonal, axes parallel and square
    "puma560-akb": fa.load("puma560-akb"),
    "stanford-dhanaraj3": fa.load("stanford-dhanaraj3"),
    "ascher2": fa.load("ascher2"),
    "tree": simple_drives(random_arm(31, 3, "frames", tree=True, mimic=True)),
    "standard": random_arm(32, 3, "standard").rigid(),
    "sliding": random_arm(36, 2, "modified", fixed=False).rigid(),
    "standard table": random_arm(33, 3, "standard", prismatic=False, fixed=False).rigid(),
    "modified table": simple_drives(random_arm(34, 2, "modified", prismatic=False, fixed=False)),
}
TABLES = ("ascher2", "standard table", "modified table")
TORQUES = (
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "gravity",
    "coriolis_matrix",
    "kinetic_energy",
    "potential_energy",
)


def other_values(arm: Arm, names: list[str], seed: int = 3) -> dict[str, float]:
    """Other values for these parameters, with every zero and every symmetry gone,
    and every link still a body.
    """
    rng = np.random.default_rng(seed)
    own, made = parameter_values(arm), {}
    for name in names:
        last = name.split(".")[-1]
        if last in TENSOR:
            change = rng.uniform(0.5, 0.9) if last[0] == last[1] else rng.uniform(0.02, 0.08)
        elif name.startswith("gravity"):
            change = rng.uniform(1.0, 4.0)
        else:
            change = rng.uniform(0.5, 1.5) if last in ("mass", "alpha", "theta") else rng.uniform(0.03, 0.1)
        made[name] = own[name] + float(change)
    return made


def with_values(arm: Arm, values: dict[str, float]) -> Arm:
    """The arm with these values in their places, link by link and joint by joint."""
    all_values = parameter_values(arm) | values
    for link in arm.links:
        if f"{link.name}.mass" not in all_values:
            continue
        tensor = np.zeros((3, 3))
        for pair, (a, b) in TENSOR.items():
            tensor[a, b] = tensor[b, a] = all_values[f"{link.name}.inertia.{pair}"]
        com = np.array([all_values[f"{link.name}.com.{axis}"] for axis in AXES])
        arm = arm.with_link(
            Link(name=link.name, mass=all_values[f"{link.name}.mass"], com=com, inertia=tensor)
        )
    return arm.replace(
        gravity=np.array([all_values[f"gravity.{axis}"] for axis in AXES]),
        tree=tuple(_joints(arm, all_values)),
    )


def _joints(arm: Arm, values: dict[str, float]) -> Iterator[Joint]:
    for joint in arm.tree:
        place = joint.placement
        if isinstance(place, DH) and f"{joint.name}.a" in values:
            a, alpha, d, theta = (values[f"{joint.name}.{name}"] for name in GEOMETRY)
            joint = replace(
                joint, placement=DH(convention=place.convention, a=a, alpha=alpha, d=d, theta=theta)
            )
        yield joint


def asked(arm: Arm) -> dict[str, Any]:
    """Ways to ask: everything, gravity, one link, one number, a centre, several."""
    first, last = arm.moving.bodies[0].joint.child, arm.moving.bodies[-1].joint.child
    return {
        "all": "all",
        "gravity": "gravity",
        "a link": last,
        "a mass": [f"{last}.mass"],
        "a centre": f"{first}.com",
        "some": ["gravity.z", f"{last}.inertia.xx", f"{first}.inertia", f"{last}.com.y"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("which", ["all", "gravity", "a link", "a mass", "a centre", "some"])
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=3)
def test_own_values_give_the_arm_and_other_values_the_other_arm(name: str, which: str) -> None:
    arm = ARMS[name]
    parameters = asked(arm)[which]
    g = given(arm, 1)
    # one search for the plan instead of one a function
    program = program_for(arm, TORQUES, parameters, name="fused")
    chosen = chosen_parameters(arm, [parameters] if isinstance(parameters, str) else parameters)
    assert dict(zip(program.parameters, program.defaults, strict=True)) == chosen
    assert_all_true(TORQUES, by_python(program, g), arm, g)
    other = other_values(arm, list(chosen))
    assert_all_true(TORQUES, by_python(program, g, [*other.values()]), with_values(arm, other), g)


def assert_all_true(functions: Sequence[str], found: list[Array], arm: Arm, g: Given) -> None:
    """The outputs of fused functions, one function after the other;
    an output that two share stands where it came first.
    """
    outputs = list(dict.fromkeys(output for function in functions for output in FUNCTIONS[function].outputs))
    by_name = dict(zip(outputs, found, strict=True))
    for function in functions:
        assert_true([by_name[output] for output in FUNCTIONS[function].outputs], arm, function, g)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [f for f in GENERAL if f not in (*TORQUES, "regressor", "base_regressor")]
)
def test_other_functions_too(function: str) -> None:
    for name in ("standard", "tree"):
        arm = ARMS[name]
        g = given(arm, 2)
        program = program_for(arm, function, "all")
        other = other_values(arm, list(program.parameters))
        found = by_python(program, g, [*other.values()])
        assert_true(found, with_values(arm, other), function, g)


@pytest.mark.parametrize("name", ["ascher2", "standard"])
def test_the_regressor_depends_on_gravity(name: str) -> None:
    arm = ARMS[name]
    g = given(arm, 3)
    program = program_for(arm, "regressor", "gravity")
    other = other_values(arm, list(program.parameters))
    found = by_python(program, g, [*other.values()])
    assert_true(found, with_values(arm, other), "regressor", g)


GEOMETRIC = ("joint2.alpha", "joint2", "joint1.theta", ["joint1.a", "joint2.d"], "all")


@pytest.mark.slow
@pytest.mark.parametrize("parameters", GEOMETRIC, ids=str)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.sweep
def test_geometry_may_stay_symbols_where_it_is_a_table(name: str, parameters: Any) -> None:
    arm = ARMS[name]
    g = given(arm, 8)
    # its columns depend on the geometry
    functions = [function for function in GENERAL if function != "base_regressor"]
    program = program_for(arm, functions, parameters, name="fused")
    assert_all_true(functions, by_python(program, g), arm, g)
    other = other_values(arm, list(program.parameters))
    assert_all_true(functions, by_python(program, g, [*other.values()]), with_values(arm, other), g)


@pytest.mark.parametrize("name", TABLES)
def test_geometry_may_become_special(name: str) -> None:
    """Every length 0, every axis parallel: what was found with generic numbers must hold there too."""
    arm = ARMS[name]
    g = given(arm, 9)
    program = program_for(arm, ("inverse_dynamics", "inertia_matrix", "jacobian"), "all", name="f")
    special = dict(zip(program.parameters, program.defaults, strict=True)) | dict.fromkeys(
        geometry_values(arm), 0.0
    )
    tau, M, J = by_python(program, g, [*special.values()])
    there = with_values(arm, special)
    for function, found in (("inverse_dynamics", tau), ("inertia_matrix", M), ("jacobian", J)):
        assert_true([found], there, function, g)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["newton-euler", "kane", "lagrange-waters"])
def test_formulations_take_geometry(formulation: str) -> None:
    for name in ("standard table", "modified table"):
        arm = ARMS[name]
        g = given(arm, 10)
        program = program_for(arm, "inverse_dynamics", "all", formulation)
        other = other_values(arm, list(program.parameters))
        assert_true(by_python(program, g), arm, "inverse_dynamics", g)
        assert_true(by_python(program, g, [*other.values()]), with_values(arm, other), "inverse_dynamics", g)


def test_base_parameters_refuse_symbols_of_joints() -> None:
    with pytest.raises(
        InputError, match=r"depends on the geometry, so base_regressor does not support open joint parameters"
    ):
        generate(ARMS["standard table"], "base_regressor", parameters="joint2.alpha")
    program_for(ARMS["standard table"], "base_regressor", "part2.mass")


def test_geometry_is_a_parameter_only_of_tables() -> None:
    for name in ("tree", "standard", "sliding", "stanford-dhanaraj3"):
        assert geometry_values(ARMS[name]) == {}
    assert len(geometry_values(ARMS["standard table"])) == 12
    with pytest.raises(
        NameNotFound, match="geometry can be left open only for a serial arm of revolute joints given as one"
    ):
        generate(ARMS["sliding"], "gravity", parameters="joint1.a")


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)])
def test_base_parameters_are_enough_for_every_gravity(gravity: tuple[float, float, float]) -> None:
    """Along the first axis two fewer would do, but gravity may come from anywhere."""
    arm = fa.load("puma560-dhanaraj3")
    g = given(arm, 4)
    general = base_parameters(arm.replace(gravity=(1.0, 1.0, 1.0)))
    (Y,) = by_python(program_for(arm, "base_regressor", "gravity"), g, gravity)
    assert Y.shape == (3, len(general)) == (3, len(base_parameters(arm)) + 2)
    torques = fa.dynamics.inverse(arm.replace(gravity=gravity), g.q, g.qd, g.qdd)
    assert_close(Y @ general.of(fa.dynamics.inertial_parameters(arm)), torques)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["newton-euler", "gibbs-appell", "kane", "lagrange-waters"])
def test_formulations_take_parameters(formulation: str) -> None:
    arm = ARMS["standard"]
    g = given(arm, 4)
    program = program_for(arm, "inverse_dynamics", "all", formulation)
    other = other_values(arm, list(program.parameters))
    assert_true(by_python(program, g), arm, "inverse_dynamics", g)
    assert_true(by_python(program, g, [*other.values()]), with_values(arm, other), "inverse_dynamics", g)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
def test_compiled_languages_prepare_alike(language: str, tmp_path: Any) -> None:
    arm = ARMS["tree"]
    g = given(arm, 5)
    program = program_for(arm, ("inverse_dynamics", "inertia_matrix"), "all", name="both")
    other = other_values(arm, list(program.parameters))
    for p, truth in ((None, arm), (np.array([*other.values()]), with_values(arm, other))):
        tau, M = run(program, language, tmp_path, g._asdict(), p).values()
        assert_true([tau], truth, "inverse_dynamics", g)
        assert_true([M], truth, "inertia_matrix", g)


@pytest.mark.slow
def test_a_round_tip_may_become_another() -> None:
    """With numbers the tip of PUMA 560 need not turn at all; as a symbol it must."""
    arm = fa.load("puma560-akb")
    assert (
        generate(arm, "inverse_dynamics").counts.trig
        < generate(arm, "inverse_dynamics", parameters="link6").counts.trig
    )


def test_gravity_may_come_from_anywhere() -> None:
    """With numbers gravity along the first axis is worth much; as a symbol it may lie along anything."""
    arm = fa.load("puma560-dhanaraj3")
    g = given(arm, 6)
    program = program_for(arm, "inverse_dynamics", "gravity")
    for gravity in ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (9.81, 0.0, 0.0), (0.0, 0.0, -9.81)):
        assert_true(by_python(program, g, gravity), arm.replace(gravity=gravity), "inverse_dynamics", g)


@pytest.mark.slow
def test_what_depends_on_parameters_alone_is_prepared() -> None:
    """An evaluation costs hardly more with symbols than with numbers:
    no more than what one generic link costs.
    """
    arm = fa.load("chain3")
    plain, whole = (
        generate(arm, "inverse_dynamics").counts,
        generate(arm, "inverse_dynamics", parameters="all").counts,
    )
    assert whole.mul + whole.add <= 1.25 * (plain.mul + plain.add)
    program = program_for(arm, "inverse_dynamics", "all")
    assert program.prepare
    assert 0 < program.kept <= len(program.prepare)
    assert generate(arm, "inverse_dynamics", parameters="all").counts.div == 0


def test_names_of_parameters() -> None:
    arm = fa.load("stanford-dhanaraj3")
    link3 = [
        "link3.mass",
        *(f"link3.com.{x}" for x in "xyz"),
        *(f"link3.inertia.{p}" for p in ("xx", "xy", "xz", "yy", "yz", "zz")),
    ]
    assert list(chosen_parameters(arm, ["link3"])) == link3
    assert list(chosen_parameters(arm, ["link3.inertia", "link3.mass", "link3.com"])) == link3
    assert list(chosen_parameters(arm, ["gravity.z", "link1.mass"])) == ["link1.mass", "gravity.z"]
    assert chosen_parameters(arm, ["gravity.z"]) == {"gravity.z": arm.gravity[2]}
    assert chosen_parameters(arm, ()) == {}
    assert len(chosen_parameters(arm, ["all"])) == 33
    assert chosen_parameters(arm, ["all"]) == parameter_values(arm)


def test_links_on_fixed_joints_count_if_they_move() -> None:
    arm = ARMS["standard"]
    values = parameter_values(arm)
    moving = {link.name for link in arm.links if arm.moving.frames[link.name][0] >= 0}
    assert {name.removesuffix(".mass") for name in values if name.endswith(".mass")} == moving
    assert arm.base_link not in moving
    assert len(moving) > arm.n


@pytest.mark.parametrize(
    ("parameters", "pieces"),
    [
        (
            ["link2.mas"],
            (
                "there is no 'link2.mas' in 'stanford-dhanaraj3'",
                "LINK.mass, LINK.com.x",
                "did you mean 'link2.mass'",
            ),
        ),
        ("lnik3", ("there is no 'lnik3'", "did you mean 'link3'")),
        ("gravity.w", ("there is no 'gravity.w'", "did you mean 'gravity.z' or 'gravity.y' or 'gravity.x'")),
        ("link2.inertia.yx", ("there is no 'link2.inertia.yx'", "did you mean 'link2.inertia.")),
        ("link0", ("there is no 'link0'", "that link cannot move, so nothing depends on it")),
        (["link0.mass"], ("there is no 'link0.mass'", "that link cannot move")),
        ("", ("there is no ''",)),
    ],
)
def test_misspelt_parameters(parameters: Any, pieces: tuple[str, ...]) -> None:
    with pytest.raises(NameNotFound) as error:
        generate(fa.load("stanford-dhanaraj3"), "gravity", parameters=parameters)
    for piece in pieces:
        assert piece in str(error.value)


@pytest.mark.parametrize("parameters", [5, None, [3], [None]])
def test_what_is_no_name_is_refused(parameters: Any) -> None:
    with pytest.raises(InputError, match="parameters"):
        generate(fa.load("ascher2"), "gravity", parameters=parameters)


def test_values_are_in_the_text_with_their_names() -> None:
    source = generate(fa.load("ascher2"), "gravity", "c", ["link2.mass", "gravity.z"])
    arm = fa.load("ascher2")
    for k, (name, value) in enumerate(
        {"link2.mass": arm.link("link2").mass, "gravity.z": arm.gravity[2]}.items()
    ):
        assert f"p[{k}]  {name} = {float(value)!r}" in source.header
    assert "ascher2_gravity_prepare(const double p[2]" in source.header


def test_counts_are_of_one_evaluation() -> None:
    """What is prepared is not counted; what is left is counted in the statements."""
    arm = ARMS["standard"]
    program = program_for(arm, "inverse_dynamics", "all")
    kinds = {"*": "mul", "+": "add", "-": "add", "/": "div", "cos": "trig", "sin": "trig"}
    found = dict.fromkeys(("mul", "add", "div", "trig"), 0)

    def walk(tree: Any) -> None:
        for operand in getattr(tree, "operands", ()):
            walk(operand)
        if (kind := kinds.get(getattr(tree, "operator", ""))) is not None:
            found[kind] += 1

    for statement in program.statements:
        walk(statement.value)
    assert found == {kind: getattr(program.counts, kind) for kind in found}


def test_equal_values_are_not_the_same_symbol() -> None:
    """Two masses that happen to be equal may come apart."""
    arm = fa.load("ascher2")
    same: dict[str, Array] = {name: np.array(1.0) for name in ("link1.mass", "link2.mass")}
    arm = with_values(arm, {name: float(value) for name, value in same.items()})
    program = program_for(arm, "gravity", list(same))
    g = given(arm, 7)
    found = by_python(program, g, [2.0, 3.0])
    truth = with_values(arm, {"link1.mass": 2.0, "link2.mass": 3.0})
    assert_close(found[0], fa.dynamics.gravity(truth, g.q))
