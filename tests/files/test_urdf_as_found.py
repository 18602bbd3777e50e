"""URDF as it is found: what other programs put up with is read and told, what no arm can have is repaired
where that is asked for.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nearness import assert_near
from numpy.typing import ArrayLike
from refusals import refused

import forearm as fa
from forearm.arm.link import is_semidefinite, nearest_inertia
from forearm.errors import RepairWarning
from forearm.files.urdf_read import Options, arm_from_urdf
from forearm.spatial import rotation_rpy

SOUND = '<mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001"/>'
WRONG = '<mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="-0.04" ixy="0.001"/>'
LENIENT = Options(strict=False)


def link(name: str, inertial: str = "") -> str:
    return f'<link name="{name}">{f"<inertial>{inertial}</inertial>" if inertial else ""}</link>'


def joint(name: str, parent: str, child: str, kind: str = "continuous", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def told(*blocks: str, options: Options | None = None) -> tuple[fa.Arm, list[str]]:
    """The arm in the blocks, one to a line from line 2 on, and what is said of repairs."""
    text = "\n".join(['<robot name="r">', *blocks, "</robot>"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = arm_from_urdf(text.encode(), "arm.urdf", options=options)
    return arm, [str(w.message) for w in caught if w.category is RepairWarning]


def test_parent_that_no_link_defines_is_the_base() -> None:
    arm, said = told(link("a"), link("b", SOUND), joint("weld", "world", "a", "fixed"), joint("j", "a", "b"))
    assert (arm.base_link, arm.n, arm.mass) == ("world", 1, 2.0)
    assert said == ["arm.urdf: repaired: link 'world', which joints name but no <link> defines, is the base."]


@pytest.mark.parametrize(
    "joints",
    [
        [joint("j", "wrold", "a"), joint("k", "a", "b")],  # 'c' is a base already
        [joint("j", "p", "a"), joint("k", "p", "b"), joint("l", "r", "c")],  # two that are missing
        [joint("j", "p", "a"), joint("k", "a", "b"), joint("l", "b", "p"), joint("m", "b", "c")],  # a cycle
    ],
)
def test_other_links_that_are_missing_are_still_refused(joints: list[str]) -> None:
    with refused(r"ModelError: arm\.urdf, joint '.': its (parent|child) link '\w+' is missing; "):
        told(*map(link, "abc"), *joints)


def test_words_in_the_place_of_a_reduction() -> None:
    gear = (
        '<transmission name="t"><joint name="j"/><actuator name="m"><mechanicalReduction>reduction'
        "</mechanicalReduction><motorInertia>0.3</motorInertia></actuator></transmission>"
    )
    arm, said = told(link("a"), link("b", SOUND), joint("j", "a", "b"), gear)
    assert arm.joint("j").motor == fa.Motor(gear_ratio=1.0, rotor_inertia=0.3)
    assert said == ["arm.urdf: repaired: <mechanicalReduction> 'reduction', line 5: read as 1."]


def test_impossible_inertia_on_links_that_never_move_is_repaired_and_said() -> None:
    rest = [link("c", SOUND), joint("weld", "a", "b", "fixed"), joint("j", "b", "c")]
    arm, said = told(link("a", WRONG), link("b", WRONG), *rest)
    sound, nothing = told(link("a"), link("b"), *rest)
    state = np.array([[0.3], [0.7], [-0.2]])
    assert fa.dynamics.inverse(arm, *state) == fa.dynamics.inverse(sound, *state)
    moments = (
        "principal moments -0.04, 0.0199, 0.0301 kg m^2, physically impossible, replaced with 0, 0.045, 0.045"
    )
    assert said == [
        f"arm.urdf: repaired: link 'a', which never moves, line 2: {moments}; "
        f"link 'b', which never moves, line 3: {moments}."
    ]
    assert nothing == []


def test_impossible_inertia_on_a_link_that_moves_is_refused_with_advice() -> None:
    blocks = [link("a"), link("b", WRONG), joint("j", "a", "b")]
    with refused(
        r"ModelError: arm.urdf, line 3, link 'b', inertia: must be positive semidefinite, .* With "
        r"strict=False \(forearm convert --lenient\) the nearest possible inertia is used\.$"
    ):
        told(*blocks)
    arm, (said,) = told(*blocks, options=LENIENT)
    np.testing.assert_allclose(np.linalg.eigvalsh(arm.link("b").inertia), [0.0, 0.045, 0.045], atol=1e-4)
    assert said.startswith("arm.urdf: repaired: link 'b', line 3: principal moments -0.04, 0.0199, 0.0301 ")


@pytest.mark.parametrize(
    "moments", [(-0.4, 0.2, 0.3), (0.1, 0.2, 0.9), (-3.0, -2.0, -1.0), (1e-9, -2e-9, 5e-9), (0.3, 0.4, 0.5)]
)
def test_nearest_inertia_is_that_of_a_body_and_no_other_is_nearer(moments: ArrayLike) -> None:
    """Second moments J = tr(I)/2 - I of a body are positive semidefinite, a convex cone. The nearest point of
    it is known by the variational inequality: (given - nearest) . (any - nearest) <= 0.
    """
    R = rotation_rpy((0.4, -0.9, 1.3))
    given = R @ np.diag(np.asarray(moments, dtype=float)) @ R.T
    taken = nearest_inertia(given)
    low, middle, high = np.linalg.eigvalsh(taken)
    assert low >= -1e-12
    assert high <= (low + middle) * (1 + 1e-9)
    scale = np.abs(given).max()
    J, near = (0.5 * np.trace(T) * np.eye(3) - T for T in (given / scale, taken / scale))
    assert moments != (0.3, 0.4, 0.5) or np.abs(J - near).max() <= 1e-12  # a body is its own
    rng = np.random.default_rng(5)
    for A in rng.normal(size=(50, 3, 3)):
        assert np.sum((J - near) * (A @ A.T - near)) <= 1e-10


def test_semidefinite_is_judged_against_the_mass() -> None:
    """iCub has moments of -1.7e-18 kg m^2 on 1.3 kg; a thousandth of a gram with as much is no better."""
    rounding = np.diag([-1.74e-18, -1.73e-18, -6.2e-19])
    assert is_semidefinite(rounding, 1.3)
    assert not is_semidefinite(1e4 * rounding, 1e-3)
    assert not is_semidefinite(np.diag([-1e-6, 1e-6, 1e-6]), 1.3)
    assert fa.Link(name="leg", mass=1.3, inertia=rounding).mass == 1.3


def test_floating_joint_and_limits_upside_down_are_repaired_on_request() -> None:
    ends = '<limit lower="1" upper="-1" effort="1" velocity="1"/>'
    free = joint("j", "a", "b") + joint("free", "b", "c", "floating") + joint("k", "c", "d", "revolute", ends)
    bodies = [link("a"), "".join(link(name, SOUND) for name in "bcd")]
    with refused(r"ModelError: arm\.urdf, line 4, joint 'k', limits: lower must not be above"):
        told(*bodies, free)
    with refused(r"InputError: arm\.urdf, line 4, joint 'free': joints of type 'floating' are"):
        told(*bodies, free.replace('"1" upper="-1"', '"-1" upper="1"'))
    arm, said = told(*bodies, free, options=LENIENT)
    assert [(j.name, j.kind) for j in arm.tree] == [("j", "revolute"), ("free", "fixed"), ("k", "revolute")]
    assert arm.joint("k").limits == fa.Limits()
    assert said == [
        "arm.urdf: repaired: joint 'k', line 4: lower limit 1 above upper -1, read as unlimited; "
        "joint 'free', line 4: of type floating, read as fixed."
    ]


@pytest.mark.parametrize(("kind", "offset"), [("continuous", 0.7), ("prismatic", 0.0)])
def test_joint_that_mimics_a_fixed_one_is_held(kind: str, offset: float) -> None:
    blocks = [*(link(x, SOUND) for x in "abcd"), joint("j", "a", "b"), joint("s", "b", "c", "fixed")]
    inside = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><axis xyz="1 2 3"/><limit lower="-1" upper="1"/>'
    mimic = f'<mimic joint="s" multiplier="3" offset="{offset}"/>'
    arm, said = told(*blocks, joint("k", "c", "d", kind, f"{inside}{mimic}"))
    free, _ = told(*blocks, joint("k", "c", "d", kind, inside))
    assert [j.name for j in arm.joints] == ["j"]
    found, truth = fa.kinematics.forward(arm, [0.3]), fa.kinematics.forward(free, [0.3, offset])
    assert_near(found, truth, 1e-14)
    assert said == [f"arm.urdf: repaired: joint 'k': mimics 's', which is fixed, held at {offset:g}."]


def test_chain_of_mimics_behind_a_fixed_joint_is_held() -> None:
    arm, said = told(
        *(link(name, SOUND) for name in "abcde"),
        joint("i", "a", "b"),
        joint(
            "k", "c", "d", "prismatic", '<limit upper="1"/><mimic joint="j" multiplier="-2" offset="0.1"/>'
        ),
        joint("s", "d", "e", "fixed"),
        joint("j", "b", "c", inside='<mimic joint="s" multiplier="3" offset="0.4"/>'),
    )
    assert [j.name for j in arm.joints] == ["i"]
    assert said == [
        "arm.urdf: repaired: joint 'k': mimics 'j', which is fixed, held at -0.7; joint 'j': mimics 's', "
        "which is fixed, held at 0.4."
    ]


def test_joint_that_mimics_none_is_free_on_request() -> None:
    blocks = [link("a"), link("b", SOUND), joint("j", "a", "b", inside='<mimic joint="gone"/>')]
    with refused(r"ModelError: arm\.urdf: joint 'j' mimics joint 'gone', which is missing; "):
        told(*blocks)
    arm, said = told(*blocks, options=LENIENT)
    assert arm.n == 1
    assert said == ["arm.urdf: repaired: joint 'j': mimics 'gone', which is missing, read as free."]


def test_many_repairs_are_one_bounded_warning() -> None:
    many = [link(f"l{i}", WRONG) for i in range(300)]
    welds = [joint(f"w{i}", f"l{i}", f"l{i + 1}", "fixed") for i in range(299)]
    _, (said,) = told(*many, *welds)
    assert said.endswith("; and 280 more.")
    assert len(said) < 4000


def test_declaration_behind_blank_lines_and_nul_at_the_end() -> None:
    text = f'\n\n<?xml version="1.0"?>\n<robot name="r">\n{link("a")}\n<joint/></robot>\n\0'
    with refused(r"InputError: arm\.urdf, line 6, <joint>: <joint> needs the attribute 'name'\.$"):
        arm_from_urdf(text.encode(), "arm.urdf")
    assert arm_from_urdf(text.replace("<joint/>", "").encode(), "arm.urdf").base_link == "a"


def test_arm_without_mass_says_so_once(tmp_path: Path) -> None:
    path = tmp_path / "light.urdf"
    path.write_text(f'<robot name="light">{link("a", SOUND)}{link("b")}{joint("j", "a", "b")}</robot>')
    with pytest.warns(fa.ModelWarning) as caught:
        arm = fa.load(path)
    (said,) = caught
    words = "light: no moving link has mass or inertia, .*Give the links an inertial, or .*--density 2700"
    assert re.match(words, str(said.message))
    assert next(f.code for f in fa.checking.check(arm)) == "no-mass"


def test_load_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    fa.load("ur5").save(tmp_path / "a.toml")
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("a.toml", {"density": 3.0}, r"load: .*: density and packages are for URDF files; leave them out\.$"),
        ("a.urdf", {"density": -1.0}, r"load, density \(kg/m\^3\): must be above 0, got -1\.$"),
        ("a.urdf", {"packages": ["x"]}, r"load, packages: expected Mapping, got \['x'\]\.$"),
        ("a.urdf", {"packages": {"x": 3}}, r"load, packages, 'x': expected str or PathLike, got 3\.$"),
    ]
    for name, given, words in cases:
        with refused(f"InputError: {words}"):
            fa.load(tmp_path / name, **given)
