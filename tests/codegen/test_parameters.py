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
from codegen.truths import GENERAL, Given, assert_close, assert_true, by_python, given
from dynamics.cases import simple_drives

import forearm as fa
from forearm import DH, Arm, InputError, Joint, Link
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


def assert_all_true(functions: Sequence[str], found: list[Array], arm: Arm, g: Given) -> None:
    """The outputs of fused functions, one function after the other;
    an output that two share stands where it came first.
    """
    outputs = list(dict.fromkeys(output for function in functions for output in FUNCTIONS[function].outputs))
    by_name = dict(zip(outputs, found, strict=True))
    for function in functions:
        assert_true([by_name[output] for output in FUNCTIONS[function].outputs], arm, function, g)


CORE = ["inverse_dynamics", "forward_dynamics", "potential_energy", "regressor", "jacobian"]
# Everything, gravity, one link, one number, a centre, several; where the geometry is a table, of it too.
ASKED: list[tuple[str, Any]] = [
    ("tree", "all"),
    ("stanford-dhanaraj3", ["gravity.z", "link3.inertia.xx", "link1.inertia", "link3.com.y"]),
    ("puma560-akb", ["link6.mass"]),
    ("standard", "gravity"),
    ("sliding", "part2"),
    ("ascher2", "joint2.alpha"),
    ("standard table", "joint2"),
    ("modified table", "all"),
    ("modified table", "joint1.theta"),
    ("modified table", ["joint1.a", "joint2.d"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), ASKED, ids=str)
def test_own_values_give_the_arm_and_other_values_the_other_arm(name: str, parameters: Any) -> None:
    arm = ARMS[name]
    g = given(arm, 1)
    # the columns of base parameters depend on the geometry
    every = [function for function in GENERAL if function != "base_regressor"]
    functions = every if parameters == "all" else CORE
    # one search for the plan instead of one a function
    program = program_for(arm, functions, parameters, name="fused")
    chosen = chosen_parameters(arm, [parameters] if isinstance(parameters, str) else parameters)
    assert dict(zip(program.parameters, program.defaults, strict=True)) == chosen
    cases = [(arm, None)] + [
        (with_values(arm, values), [*values.values()]) for values in (other_values(arm, list(chosen)),)
    ]
    if parameters == "all" and "table" in name:
        # every length 0, every axis parallel: what was found with generic numbers must hold there too
        special = chosen | dict.fromkeys(geometry_values(arm), 0.0)
        functions = [f for f in functions if not f.startswith("forward_dynamics")]
        program = program_for(arm, functions, parameters, name="fused")
        cases.append((with_values(arm, special), [*special.values()]))
    for truth, values in cases:
        assert_all_true(functions, by_python(program, g, values), truth, g)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["newton-euler", "gibbs-appell", "kane", "lagrange-waters"])
def test_formulations_take_parameters(formulation: str) -> None:
    for name in ("standard", "modified table"):
        arm = ARMS[name]
        g = given(arm, 4)
        program = program_for(arm, "inverse_dynamics", "all", formulation)
        other = other_values(arm, list(program.parameters))
        for values, truth in ((None, arm), ([*other.values()], with_values(arm, other))):
            assert_true(by_python(program, g, values), truth, "inverse_dynamics", g)


def test_gravity_may_come_from_anywhere() -> None:
    """With numbers gravity along the first axis is worth much, and two base parameters fewer would do;
    as a symbol it may lie along anything.
    """
    arm = fa.load("puma560-dhanaraj3")
    g = given(arm, 6)
    general = base_parameters(arm.replace(gravity=(1.0, 1.0, 1.0)))
    program = program_for(arm, ("inverse_dynamics", "base_regressor"), "gravity", name="both")
    for gravity in ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (9.81, 0.0, 0.0), (0.0, 0.0, -9.81)):
        tau, Y = by_python(program, g, gravity)
        assert_true([tau], arm.replace(gravity=gravity), "inverse_dynamics", g)
        assert_close(Y @ general.of(fa.dynamics.inertial_parameters(arm)), tau)
        assert Y.shape == (3, len(general)) == (3, len(base_parameters(arm)) + 2)


def test_what_cannot_be_open_is_told() -> None:
    special = fa.load("stanford-dhanaraj3")
    table, unmoved = ARMS["standard table"], "that link cannot move, so nothing depends on it"
    assert len(geometry_values(table)) == 12
    refused: list[tuple[Arm, Any, str]] = [
        (
            special,
            ["link2.mas"],
            "there is no 'link2.mas' in .*LINK.mass, LINK.com.x.*did you mean 'link2.mass'",
        ),
        (
            special,
            "gravity.w",
            "there is no 'gravity.w'.*did you mean 'gravity.z' or 'gravity.y' or 'gravity.x'",
        ),
        (special, "link2.inertia.yx", "there is no 'link2.inertia.yx'.*did you mean 'link2.inertia."),
        (special, "link0", f"there is no 'link0'.*{unmoved}"),
        (special, ["link0.mass"], "there is no 'link0.mass'.*that link cannot move"),
        (special, "", "there is no ''"),
        *((special, wrong, "parameters") for wrong in (5, None, [3])),
        (ARMS["sliding"], "joint1.a", "geometry can be left open only for a serial arm of revolute joints"),
        (table, "joint2.alpha", "geometry, so base_regressor does not support open joint parameters"),
    ]
    for arm, parameters, said in refused:
        assert arm is table or geometry_values(arm) == {}
        with pytest.raises(InputError, match=said):
            generate(arm, "base_regressor", parameters=parameters)
    program_for(table, "base_regressor", "part2.mass")


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
    assert whole.div == 0
    tip = fa.load("puma560-akb")  # round: with numbers it need not turn at all, as a symbol it must
    still, turning = generate(tip, "inverse_dynamics"), generate(tip, "inverse_dynamics", parameters="link6")
    assert still.counts.trig < turning.counts.trig


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


def test_values_are_in_the_text_with_their_names() -> None:
    source = generate(fa.load("ascher2"), "gravity", "c", parameters=["link2.mass", "gravity.z"])
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
