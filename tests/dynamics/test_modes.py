"""Modes of elastic arms: closed forms, general eigenproblems, the forward dynamics linearised by differences,
and MuJoCo with rotors as bodies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, posture, random_arm
from drives.making import loaded_arm
from dynamics.cases import Array, assert_agree, simple_drives
from dynamics.elastic_cases import with_springs
from dynamics.rotors_in_mujoco import RotorsInMujoco

import forearm as fa
from forearm import Arm, Elasticity, Frame, Friction, InputError, Joint, Link, ModelError, Motor, dynamics
from forearm.arm.elastic import elastic_freedoms, link_side
from forearm.drives.elasticity import spring_torque

B, M, K = 30.0**2 * 0.002, 3.7, 800.0
SPIN: Any = (0.4, -0.7, 0.5)
ARMS: dict[str, Arm] = {
    "chain": with_springs(simple_drives(random_arm(101, 4)), 1, "spline", damping=3.0),
    "rigid first": with_springs(loaded_arm("turning", 102, 4), 2, damping=2.0, rigid=2),
    "tree": with_springs(simple_drives(random_arm(103, 4, tree=True)), 3, "linear"),
    "followers": with_springs(loaded_arm("followers", 104, 3), 4, "spline"),
    "spinning": with_springs(simple_drives(random_arm(105, 4)), 5, "linear", rigid=1, rotor_axis=SPIN),
}
each_arm = pytest.mark.parametrize("name", ARMS)


def slider(**more: Any) -> Arm:
    """A mass and a rotor with a spring between them, across gravity."""
    joint = Joint(
        name="slide",
        kind="prismatic",
        parent="base",
        child="cart",
        placement=Frame(axis=np.array([1.0, 0.0, 0.0])),
        motor=Motor(gear_ratio=30.0, rotor_inertia=0.002),
        elasticity=Elasticity(**({"stiffness": K} | more)),
    )
    return Arm(name="slider", links=(Link(name="base"), Link(name="cart", mass=M)), tree=(joint,))


def test_two_masses_and_a_spring() -> None:
    """In closed form: with the motor locked, and free, where the second motion is about the centre."""
    found = fa.modes(slider(damping=5.0), [0.3])
    locked, free = found.locked, found.free
    assert locked.frequency_hz == pytest.approx([np.sqrt(K / M) / (2.0 * np.pi)], rel=1e-12)
    assert locked.damping_ratio == pytest.approx([5.0 / (2.0 * np.sqrt(K * M))], rel=1e-12)
    assert (locked.links.tolist(), locked.rotors.tolist()) == ([[1.0]], [[0.0]])
    mass = 1.0 / (1.0 / M + 1.0 / B)
    assert free.frequency_hz == pytest.approx([0.0, np.sqrt(K / mass) / (2.0 * np.pi)], rel=1e-12)
    assert free.is_rigid.tolist() == [True, False]
    assert free.damping_ratio == pytest.approx(
        [np.nan, 5.0 / (2.0 * np.sqrt(K * mass))], rel=1e-12, nan_ok=True
    )
    assert free.links[:, 0] == pytest.approx([1.0, -B / M if B < M else 1.0], rel=1e-12)
    assert M * free.links[1, 0] + B * free.rotors[1, 0] == pytest.approx(0.0, abs=1e-12)
    assert np.abs([*free.links[1], *free.rotors[1]]).max() == 1.0


def test_viscous_friction_on_either_side() -> None:
    arm = slider()
    rubbed = Friction(viscous=4.0), Friction(side="motor", viscous=0.004)
    at_link, at_motor = (fa.modes(arm.with_drives(friction=friction), [0.0]) for friction in rubbed)
    assert at_link.locked.damping_ratio == pytest.approx([4.0 / (2.0 * np.sqrt(K * M))], rel=1e-12)
    assert at_motor.locked.damping_ratio.tolist() == [0.0]
    c = 0.004 * 30.0**2  # on the joint's side, of which the mode has the share of the rotor
    mass = 1.0 / (1.0 / M + 1.0 / B)
    share = (1.0 / B) / (1.0 / M + 1.0 / B)
    ratio = c / B * share / (2.0 * np.sqrt(K / mass))
    assert at_motor.free.damping_ratio[1] == pytest.approx(ratio, rel=1e-12)


def pendulum(K: float, q: float) -> tuple[Arm, float]:
    """A rod that hangs at q = 0, and its moment of weight."""
    mass, length, g = 2.3, 0.7, 9.81
    joint = Joint(
        name="hinge",
        kind="revolute",
        parent="base",
        child="rod",
        placement=Frame(axis=np.array([0.0, 1.0, 0.0])),
        motor=Motor(gear_ratio=-20.0, rotor_inertia=0.001),
        elasticity=Elasticity(stiffness=K),
    )
    rod = Link(name="rod", mass=mass, com=np.array([0.0, 0.0, -length]), inertia=np.diag([0.2, 0.2, 0.01]))
    return Arm(name="rod", links=(Link(name="base"), rod), tree=(joint,)), mass * g * length * np.cos(q)


@pytest.mark.parametrize(("stiffness", "q"), [(300.0, 0.3), (300.0, 2.8), (5.0, np.pi)])
def test_gravity_stiffens_what_hangs_and_softens_what_stands(stiffness: float, q: float) -> None:
    """A spring that is weaker than gravity falls."""
    arm, G = pendulum(stiffness, q)
    inertia = 0.2 + 2.3 * 0.7**2
    found, without = fa.modes(arm, [q], load=0.0), fa.modes(arm, [q], gravity=False)
    square = (stiffness + G) / inertia
    assert found.locked.frequency_hz == pytest.approx(
        [np.sign(square) * np.sqrt(abs(square)) / (2.0 * np.pi)]
    )
    assert np.isnan(found.locked.damping_ratio).all() == (square < 0.0)
    assert ("falls" in str(found)) == (G < 0.0)
    assert without.locked.frequency_hz == pytest.approx([np.sqrt(stiffness / inertia) / (2.0 * np.pi)])
    assert without.free.frequency_hz[0] == 0.0
    if square > 0.0:  # as a whole it swings, or falls
        slow = np.sqrt(abs(G) / (inertia + 400.0 * 0.001)) / (2.0 * np.pi)
        assert found.free.frequency_hz[0] == pytest.approx(np.sign(G) * slow, rel=0.02)
        assert found.free.is_rigid.tolist() == [True, False]


def _reflected(joint: Joint) -> float:
    assert joint.motor is not None
    return joint.motor.reflected_inertia


def matrices(arm: Arm, q: Array, springs: Array, gravity: bool) -> tuple[Array, Array]:
    """M and K of links and rotors, put together entry by entry; M as MuJoCo has it, but with followers."""
    own, n = list(elastic_freedoms(arm)), arm.n
    e = len(own)
    if any(joint.mimic for joint in arm.tree):
        inertia = np.diag([0.0] * n + [_reflected(arm.joints[j]) for j in own])
        inertia[:n, :n] = dynamics.inertia_matrix(link_side(arm), q)
    else:
        inertia = RotorsInMujoco(arm).inertia_matrix(q, 0.7 * q[own])
    stiffness = np.zeros((n + e, n + e))
    for k, j in enumerate(own):
        stiffness[np.ix_([j, n + k], [j, n + k])] += springs[k] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    if gravity:
        bare = link_side(arm).rigid()
        for j, unit in enumerate(np.eye(n)):
            stiffness[:n, j] += SEVEN_POINTS @ dynamics.gravity(bare, q + OFFSETS[:, None] * unit)
    return inertia, stiffness


@pytest.mark.parametrize("gravity", [True, False])
@each_arm
def test_the_general_eigenproblem(name: str, gravity: bool) -> None:
    """Eigenvalues of M^-1 K by NumPy's routine for any matrix, and K x = omega^2 M x for every shape; M by
    MuJoCo with rotors as bodies, but with followers.
    """
    arm = ARMS[name]
    q, own = posture(arm, 1), list(elastic_freedoms(arm))
    found = fa.modes(arm, q, gravity=gravity)
    inertia, stiffness = matrices(arm, q, found.stiffness, gravity)
    whole = list(range(len(inertia)))
    for modes, kept in ((found.locked, own), (found.free, whole)):
        part = np.ix_(kept, kept)
        truth = np.sort(np.linalg.eigvals(np.linalg.solve(inertia[part], stiffness[part])).real)
        squares = (2.0 * np.pi) ** 2 * modes.frequency_hz * np.abs(modes.frequency_hz)
        assert_agree(squares, truth, 1e-9)
        shapes = np.concatenate([modes.links, modes.rotors], axis=1)
        X = shapes[:, kept]
        left = X @ stiffness[part] - squares[:, None] * (X @ inertia[part])
        assert np.abs(left).max() < 1e-8 * np.abs(stiffness).max()
        assert np.abs(shapes).max(axis=1) == pytest.approx(np.ones(len(shapes)))
        assert all(x[np.abs(x) >= 0.5][0] > 0.0 for x in shapes)
    assert found.free.is_rigid.sum() == arm.n
    assert not found.locked.is_rigid.any()
    assert (np.diff(found.free.frequency_hz) >= 0.0).all()
    if not gravity:
        assert (found.free.frequency_hz[: arm.n] == 0.0).all()
        assert_agree(found.free.rotors[: arm.n], found.free.links[: arm.n][:, own], 1e-9)


@pytest.mark.parametrize("name", ["chain", "spinning"])
def test_forward_dynamics_linearised_by_differences(name: str) -> None:
    """About the equilibrium at q, motors holding gravity: accelerations by positions."""
    arm = ARMS[name].with_drives(friction=None)
    q, n, own = posture(arm, 2), arm.n, list(elastic_freedoms(arm))
    g, hang = dynamics.gravity(link_side(arm), q), np.array(q)
    for j in own:
        hang[j] += _deflection(arm.joints[j].elasticity, g[j])

    def accelerations(x: Array) -> Array:
        """Rows of links and rotors."""
        theta, rest = np.array(x[:, :n]), np.zeros((len(x), n))
        theta[:, own] = x[:, n:]
        qdd, thetadd = dynamics.elastic_forward(arm, x[:, :n], rest, theta, rest, rest + g)
        return np.concatenate([qdd, thetadd[:, own]], axis=1)

    at, small = np.concatenate([q, hang[own]]), 1e-3  # of the seven points: deflections of springs are small
    steps = [small * OFFSETS[:, None] * unit for unit in np.eye(len(at))]
    by_x = np.array([SEVEN_POINTS @ accelerations(at + h) / small for h in steps]).T
    assert np.abs(accelerations(at[None])).max() < 1e-9
    free = fa.modes(arm, q).free
    squares = (2.0 * np.pi) ** 2 * free.frequency_hz * np.abs(free.frequency_hz)
    assert_agree(squares, np.sort(-np.linalg.eigvals(by_x).real), 1e-6)


def _deflection(spring: Elasticity | None, load: float) -> float:
    """By halving."""
    assert spring is not None
    low, high = -1.0, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if spring_torque(spring, middle) < load else (low, middle)
    return low


def test_small_damping_is_that_of_the_whole_quadratic_problem() -> None:
    """Eigenvalues of the state's matrix, whose real parts are -zeta omega to the first order."""
    arm = with_springs(simple_drives(random_arm(106, 3)), 1, "linear", damping=0.5).with_drives(friction=None)
    q = posture(arm, 3)
    found = fa.modes(arm, q, gravity=False).locked
    inertia = dynamics.inertia_matrix(link_side(arm), q)
    stiffness, damping = (
        np.diag([getattr(joint.elasticity, what) for joint in arm.joints])
        for what in ("stiffness", "damping")
    )
    below = [-np.linalg.solve(inertia, stiffness), -np.linalg.solve(inertia, damping)]
    values = np.linalg.eigvals(np.block([[np.zeros((3, 3)), np.eye(3)], below]))
    values = values[values.imag > 0.0]
    values = values[np.argsort(np.abs(values))]
    assert np.abs(values) / (2.0 * np.pi) == pytest.approx(found.frequency_hz, rel=1e-2)
    assert -np.real(values) / np.abs(values) == pytest.approx(found.damping_ratio, rel=1e-2)


def test_a_curve_is_as_stiff_as_under_its_load() -> None:
    """And backlash has the modes of a flank, and a note."""
    arm = slider(stiffness=None, curve=((1e-3, 2.0), (3e-3, 10.0), (4e-3, 20.0)))
    for load, slope in ((0.0, 2000.0), (1.0, 2000.0), (-5.0, 4000.0), (15.0, 1e4), (300.0, 1e4)):
        found = fa.modes(arm, [0.0], load=load)
        assert found.stiffness == pytest.approx([slope], rel=1e-12)
        assert found.load.tolist() == [load]
        assert found.locked.frequency_hz == pytest.approx([np.sqrt(slope / M) / (2.0 * np.pi)])
    bare, gap = (fa.modes(slider(half_gap=g), [0.0], load=3.0) for g in (0.0, 2e-3))
    assert (bare.free.frequency_hz == gap.free.frequency_hz).all()
    assert bare.notes == ()
    assert gap.notes[0].startswith("backlash of slide: these are the modes at a flank, with the gap closed")


def test_rigid_joints_are_held_or_move_with_their_rotors() -> None:
    arm = ARMS["rigid first"]
    q, own = posture(arm, 7), list(elastic_freedoms(arm))
    assert_agree(fa.modes(arm, q).load, dynamics.gravity(arm.rigid(), q)[own], 1e-12)
    found = fa.modes(arm, q, gravity=False)
    assert found.joints == ("joint1", "joint2", "joint3", "joint4")
    assert found.rotors == ("joint3", "joint4")
    assert (found.locked.links.shape, found.free.links.shape) == ((2, 4), (6, 4))
    assert not found.locked.links[:, :2].any()
    assert not found.locked.rotors.any()
    assert any("joints without elasticity are fixed" in note for note in found.notes)
    # with the other joints very stiff the modes of these two stay
    elastic = {"elasticity": Elasticity(stiffness=1e9)}
    stiff = arm.with_drives({j.name: elastic for j in arm.joints if j.elasticity is None})
    modes = fa.modes(stiff, q, gravity=False).free
    assert_agree(modes.frequency_hz[4:6], found.free.frequency_hz[4:6], 1e-3)


def test_the_same_arm_gives_the_same_signs_and_order() -> None:
    """Also where all of the first frequencies are 0, and any mixture of motions would be a mode."""
    arm = ARMS["chain"]
    q = posture(arm, 8)
    found = fa.modes(arm, q, gravity=False).free
    for bit in (1e-13, -1e-13):
        other = fa.modes(arm, q + bit, gravity=False).free
        assert_agree(other.links, found.links, 1e-6)
        assert_agree(other.rotors, found.rotors, 1e-6)


def test_what_is_shown() -> None:
    found = fa.modes(ARMS["chain"], posture(ARMS["chain"], 9))
    for text in (str(found), found._repr_html_()):
        for word in ("Motors locked", "Motors free", "rotor of joint4", "damping ratio", "random101"):
            assert word in text
    assert f"{found.locked.frequency_hz[0]:.4g}" in str(found)


def test_what_has_no_modes_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"modes: 'panda' has no elastic joint\. Give joints a spring"):
        fa.modes(fa.load("panda"), np.zeros(7))
    with pytest.raises(InputError, match="modes: expected one state"):
        fa.modes(slider(), np.zeros((2, 1)))
    with pytest.raises(InputError, match="modes: q and load must be finite"):
        fa.modes(slider(), [np.nan])
    light = slider()
    light = light.replace(links=(light.links[0], replace(light.links[1], mass=0.0)))
    with pytest.raises(ModelError, match="moves neither mass nor inertia"):
        fa.modes(light, [0.0])
