"""Denavit-Hartenberg in both conventions against elementary matrices, against each other,
and the chains made so.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import pytest
from arms import DIFFERENCE, Array, kinetic_energy, potential_energy, real_tensor
from hypothesis import given, settings
from hypothesis import strategies as st
from nearness import assert_near
from refusals import refused

from forearm import DH, Arm, Joint, ModelWarning, from_dh, load
from forearm.arm.chain import MAX_JOINTS, chain
from forearm.arm.joint import Kind
from forearm.checking import check
from forearm.kinematics import forward, link_poses
from forearm.spatial import pose, rotation_rpy

ROUNDING = 1e-14  # the product of four elementary matrices with entries up to 2

numbers = st.floats(-2.0, 2.0)
# What lies within 1e-9 of a right angle is computed with as exact: test_snap.
angles = st.floats(-4.0, 4.0).filter(lambda a: not 1e-16 < abs(math.remainder(a, math.pi / 2)) < 1e-8)


def turn_x(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def turn_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def shift(x: float = 0.0, z: float = 0.0) -> Array:
    return np.array([[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, z], [0, 0, 0, 1.0]])


def elementary(convention: str, kind: str, row: tuple[float, float, float, float], q: float) -> Array:
    """The link transform as the books multiply it out."""
    a, alpha, d, theta = row
    theta, d = (theta + q, d) if kind == "revolute" else (theta, d + q if kind == "prismatic" else d)
    along_z = turn_z(theta) @ shift(z=d)
    along_x = shift(x=a) @ turn_x(alpha)
    product: Array = along_z @ along_x if convention == "standard" else along_x @ along_z
    return product


@pytest.mark.slow
@given(
    st.sampled_from(["standard", "modified"]),
    st.sampled_from(["revolute", "prismatic", "fixed"]),
    st.tuples(numbers, angles, numbers, angles),
    st.one_of(angles, st.sampled_from([0.0, math.pi, -math.pi, 1e-9])),
)
@settings(max_examples=60)
def test_transform_is_the_product_of_elementary_ones(
    convention: Any, kind: Kind, row: tuple[float, float, float, float], q: float
) -> None:
    placement = DH(convention=convention, a=row[0], alpha=row[1], d=row[2], theta=row[3])
    joint = Joint(name="j", kind=kind, parent="a", child="b", placement=placement)
    assert_near(joint.transform(q), elementary(convention, kind, row, q), ROUNDING)
    assert np.array_equal(joint.axis, [0.0, 0.0, 1.0])


def test_the_printed_matrices() -> None:
    """Standard: Swartz and Waters print the product; modified: Craig (3.6). Entry by entry."""
    a, alpha, d, theta = 0.3, 0.5, 0.7, 1.1
    ct, s, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    standard = [[ct, -s * ca, s * sa, a * ct], [s, ct * ca, -ct * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
    modified = [[ct, -s, 0, a], [s * ca, ct * ca, -sa, -sa * d], [s * sa, ct * sa, ca, ca * d], [0, 0, 0, 1]]
    for convention, printed in (("standard", standard), ("modified", modified)):
        arm = from_dh("x", [[a, alpha, d, theta]], convention=convention)  # type: ignore[arg-type]
        assert_near(forward(arm, [0.0]), np.array(printed), 1e-15)


ROWS = [(0.31, 0.7, 0.23, -0.4), (-0.27, -1.2, 0.11, 0.9), (0.19, 2.1, -0.33, 0.25)]


def both_conventions(joints: str) -> tuple[Arm, Arm, list[Array]]:
    """One physical arm of three joints, written in both conventions by hand.

    Standard A_i = Z_i(q) X_i and modified B_i = X_(i-1) Z_i(q), so that frame i of the modified arm is frame
    i of the standard one times the inverse of X_i, X_0 = 1, and the tool takes X_3.
    """
    rng = np.random.default_rng(5)
    masses = rng.uniform(1.0, 4.0, 3)
    coms = rng.uniform(-0.2, 0.2, (3, 3))
    tensors = np.array([real_tensor(rng, m, rng.uniform(0.05, 0.2, 3)) for m in masses])
    tool = pose(rotation_rpy((0.2, 0.4, -0.9)), (0.05, 0.03, 0.1))
    both: dict[str, Any] = {"joints": joints, "mass": masses, "gravity": (1.0, -4.0, -8.0)}
    standard = from_dh("s", ROWS, convention="standard", com=coms, inertia=tensors, tool=tool, **both)
    ends = [shift(x=a) @ turn_x(alpha) for a, alpha, _, _ in ROWS]
    behind = [(0.0, 0.0), *((a, alpha) for a, alpha, _, _ in ROWS[:2])]
    rows = [(a, alpha, d, theta) for (a, alpha), (_, _, d, theta) in zip(behind, ROWS, strict=True)]
    turned = np.array([X[:3, :3] @ tensor @ X[:3, :3].T for X, tensor in zip(ends, tensors, strict=True)])
    modified = from_dh(
        "m",
        rows,
        convention="modified",
        com=[(X @ np.append(c, 1.0))[:3] for X, c in zip(ends, coms, strict=True)],
        inertia=0.5 * (turned + turned.transpose(0, 2, 1)),
        tool=ends[2] @ tool,
        **both,
    )
    return standard, modified, ends


@pytest.mark.parametrize("joints", ["RRR", "RPR", "PRP"])
def test_one_arm_written_in_both_conventions(joints: str) -> None:
    standard, modified, ends = both_conventions(joints)
    rng = np.random.default_rng(6)
    for _ in range(2):
        q, qd = rng.uniform(-2.0, 2.0, 3), rng.uniform(-1.0, 1.0, 3)
        assert_near(forward(standard, q), forward(modified, q), 1e-14)
        for i, X in enumerate(ends):
            name = f"link{i + 1}"
            assert_near(link_poses(modified, q)[name] @ X, link_poses(standard, q)[name], 1e-14)
        energy = kinetic_energy(standard, q, qd)
        assert kinetic_energy(modified, q, qd) == pytest.approx(energy, rel=DIFFERENCE)
        height = potential_energy(standard, q)
        assert potential_energy(modified, q) == pytest.approx(height, rel=1e-13, abs=1e-12)


def test_inertia_about_the_origin_is_moved() -> None:
    """The tensor about the origin is tested with points, in test_urdf."""
    rng = np.random.default_rng(9)
    masses, coms = rng.uniform(1.0, 4.0, 3), rng.uniform(-0.3, 0.3, (3, 3))
    tensors = [real_tensor(rng, m, rng.uniform(0.05, 0.2, 3)) for m in masses]
    given: dict[str, Any] = {"convention": "standard", "mass": masses, "com": coms}
    one = from_dh("x", ROWS, inertia=tensors, **given)
    moved = [link.inertia_about_origin for link in one.links[1:]]
    other = from_dh("x", ROWS, inertia=moved, inertia_about="origin", **given)
    for link, tensor in zip(other.links[1:], tensors, strict=True):
        assert_near(link.inertia, tensor, 1e-15)


def test_names_and_defaults() -> None:
    arm = from_dh("x", ROWS, convention="modified", joints="rpr", limits=[(-1, 1), (0, 0.5), (-2, 2)])
    assert [j.name for j in arm.joints] == ["joint1", "joint2", "joint3"]
    assert [x.name for x in arm.links] == ["link0", "link1", "link2", "link3"]
    assert (arm.joints[1].kind, arm.joints[1].limits) == ("prismatic", (0.0, 0.5))
    assert (arm.gravity.tolist(), arm.hand.link) == ([0.0, 0.0, -9.81], "link3")
    assert all(x.massless for x in arm.links)
    assert arm.joints[0].placement == DH(convention="modified", a=0.31, alpha=0.7, d=0.23, theta=-0.4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"table": [[1.0, 2.0, 3.0]]},
            r"InputError.*DH table: expected rows \(a, alpha, d, theta\).*\(1, 3\)",
        ),
        ({"table": np.zeros((0, 4))}, r"InputError.*DH table.*\(0, 4\)"),
        ({"table": [[0.1, 0.2, 0.3, math.nan]] * 3}, "InputError.*DH, theta: the number must be finite"),
        (
            {"convention": "Craig"},
            "NameNotFound: DH, convention: expected one of standard, modified, got 'Craig'",
        ),
        ({"joints": "RR"}, r"InputError.*joints: expected 3 letters R \(revolute\) or P \(prismatic\).*'RR'"),
        ({"inertia_about": "flange"}, "NameNotFound: from_dh, inertia_about: .*com, origin, got 'flange'"),
        ({"table": [["0", "0", "1", "0"]]}, r"InputError.*DH table: expected numbers, got \[\['0'"),
        (
            {"limits": [(0, 1), (0,), (0, 1)]},
            r"InputError.*limits: expected rows of equal length, got \[\(0, 1\), \(0,\)",
        ),
        ({"limits": [(1, 0)] * 3}, "ModelError.*joint 'joint1', limits: lower must not be above upper"),
        ({"mass": [1.0, 2.0]}, r"InputError.*mass: expected shape \(3,\), got \(2,\)"),
        ({"inertia": np.zeros((3, 3))}, r"InputError.*inertia: expected shape \(3, 3, 3\)"),
        (
            {
                "mass": [1.0] * 3,
                "com": np.ones((3, 3)),
                "inertia": [np.eye(3) * 0.1] * 3,
                "inertia_about": "origin",
            },
            "ModelError.*link 'link1', inertia: must be positive semidefinite",
        ),
        ({"table": "abc"}, ".*DH table"),
        ({"table": [[1.0, 2.0, 3.0, 4.0], [1.0]]}, ".*DH table"),
        ({"tool": "flange"}, ".*tool"),
        ({"limits": [(0, 1, 2)] * 3}, ".*limits"),
        ({"joints": 5}, ".*joints"),
        ({"gravity": (0.0, -9.81)}, "InputError.*gravity: expected a list of 3"),
    ],
)
def test_from_dh_refuses(changes: dict[str, Any], words: str) -> None:
    sound: dict[str, Any] = {"name": "x", "table": ROWS, "convention": "standard"}
    with refused(words):
        from_dh(**(sound | changes))


# ------------------------------------------------------------------------------------------------------ chain


def fraction(multiple: int, prime: int) -> float:
    """The fractional part of multiple x sqrt(prime), to 30 digits."""
    getcontext().prec = 40
    return float((Decimal(prime).sqrt() * multiple) % 1)


def test_chain_is_the_formula_that_it_says() -> None:
    arm = chain(3)
    size = 1.0 / math.sqrt(3.0)
    for i, joint in enumerate(arm.joints):
        u = [fraction(i + 1, p) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)]
        length = size * (0.2 + 0.3 * u[0])
        row = (length, math.pi * (u[1] - 0.5), size * 0.3 * (u[2] - 0.5), math.pi * (u[3] - 0.5))
        dh = joint.placement
        assert isinstance(dh, DH)
        assert dh.convention == "modified"
        assert (dh.a, dh.alpha, dh.d, dh.theta) == pytest.approx(row, rel=1e-13)
        edges = length * (0.8 + u[8]), length * (0.3 + 0.3 * u[9]), length * (0.15 + 0.2 * u[10])
        link = arm.links[i + 1]
        assert link.mass == pytest.approx(2000.0 * (0.5 + u[4]) * math.prod(edges), rel=1e-13)
        # A turn keeps the principal moments: those of a box.
        x, y, z = edges
        box = sorted(link.mass / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y]))
        assert np.linalg.eigvalsh(link.inertia) == pytest.approx(box, rel=1e-12)


def test_chain_golden_numbers() -> None:
    arm = load("chain7")
    assert arm == chain(7)
    first: Any = arm.joints[0].placement
    last: Any = arm.joints[6].placement
    com, tensor = arm.links[7].com, arm.links[4].inertia
    found = [first.a, first.alpha, last.d, last.theta, arm.links[1].mass, com[1], tensor[0, 2]]
    golden = [
        0.1225602978465319,
        0.7290091123179634,
        0.01728913543697829,
        0.06364608305140212,
        0.5255081743544562,
        0.012847972307626234,
        3.3531700387634006e-05,
    ]
    assert found == pytest.approx(golden, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 50])
def test_chain_passes_every_check_and_is_generic(n: int) -> None:
    arm = chain(n)
    assert [f.code for f in check(arm) if f.level != "note"] == []
    of_links = [abs(x) for name, x in arm.named_values.items() if not name.startswith(("link0", "gravity"))]
    rows: list[Any] = [joint.placement for joint in arm.joints]
    values = [*of_links, *(abs(x) for dh in rows for x in (dh.a, dh.alpha, dh.d, dh.theta))]
    assert 0.0 not in values
    assert len(set(values)) == len(values) == 14 * n


@pytest.mark.long
def test_chain_sizes() -> None:
    assert chain(MAX_JOINTS).n == MAX_JOINTS
    for n in (0, MAX_JOINTS + 1):
        with refused(f"InputError.*chain{n}: a chain has 1 to 9999 joints"):
            chain(n)
    with refused("InputError.*a chain has 1 to 9999 joints"):
        load("chain10000")
    with refused("InputError.*replace the N of 'chainN' with a number, such as 'chain7'"):
        load("chainN")


def test_degrees_are_asked_about_and_a_whole_turn_is_no_reason() -> None:
    for rows, said in (
        ([(0.3, 0.0, 0.1, 0.0), (0.2, 90.0, 0.0, 0.0)], "DH table, row 2, alpha: 90 rad is more than a turn"),
        ([(0.3, -1.5, 0.1, -180.0)], "DH table, row 1, theta: -180 rad is more than a turn"),
    ):
        with pytest.warns(ModelWarning, match=f"{said}: it looks like degrees; convert with np.deg2rad"):
            from_dh("arm", rows, convention="standard")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_dh("arm", [(0.3, -math.tau, 0.1, math.tau)], convention="standard")
