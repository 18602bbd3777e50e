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
from forearm.arm.elastic import elastic_freedoms, expanded, link_side
from forearm.drives.elasticity import spring_torque
from forearm.dynamics.modes import ModeSet, gravity_stiffness

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
    """Locked omega^2 = K / M, free K (1/M + 1/B), with shapes that keep the centre of mass."""
    found = fa.modes(slider(damping=5.0), [0.3])
    assert found.locked.frequency_hz == pytest.approx([np.sqrt(K / M) / (2.0 * np.pi)], rel=1e-12)
    assert found.locked.damping_ratio == pytest.approx([5.0 / (2.0 * np.sqrt(K * M))], rel=1e-12)
    assert (found.locked.links.tolist(), found.locked.rotors.tolist()) == ([[1.0]], [[0.0]])
    mass = 1.0 / (1.0 / M + 1.0 / B)
    assert found.free.frequency_hz == pytest.approx([0.0, np.sqrt(K / mass) / (2.0 * np.pi)], rel=1e-12)
    assert found.free.frequency_hz[0] == 0.0
    assert found.free.is_rigid.tolist() == [True, False]
    assert np.isnan(found.free.damping_ratio[0])
    assert found.free.damping_ratio[1] == pytest.approx(5.0 / (2.0 * np.sqrt(K * mass)), rel=1e-12)
    assert found.free.links[:, 0] == pytest.approx([1.0, -B / M if B < M else 1.0], rel=1e-12)
    assert M * found.free.links[1, 0] + B * found.free.rotors[1, 0] == pytest.approx(0.0, abs=1e-12)
    assert np.abs([*found.free.links[1], *found.free.rotors[1]]).max() == 1.0


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


@pytest.mark.parametrize("q", [0.3, 2.8])
def test_gravity_stiffens_what_hangs_and_softens_what_stands(q: float) -> None:
    arm, G = pendulum(300.0, q)
    inertia = 0.2 + 2.3 * 0.7**2
    found, without = fa.modes(arm, [q]), fa.modes(arm, [q], gravity=False)
    assert found.locked.frequency_hz == pytest.approx([np.sqrt((300.0 + G) / inertia) / (2.0 * np.pi)])
    assert without.locked.frequency_hz == pytest.approx([np.sqrt(300.0 / inertia) / (2.0 * np.pi)])
    assert without.free.frequency_hz[0] == 0.0
    # as a whole it swings, or falls
    slow = np.sqrt(abs(G) / (inertia + 400.0 * 0.001)) / (2.0 * np.pi)
    assert found.free.frequency_hz[0] == pytest.approx(np.sign(G) * slow, rel=0.02)
    assert found.free.is_rigid.tolist() == [True, False]


def test_a_spring_that_is_weaker_than_gravity_falls() -> None:
    arm, G = pendulum(5.0, np.pi)
    found = fa.modes(arm, [np.pi], load=0.0)
    rate = np.sqrt(-(5.0 + G) / (0.2 + 2.3 * 0.7**2))
    assert found.locked.frequency_hz == pytest.approx([-rate / (2.0 * np.pi)])
    assert np.isnan(found.locked.damping_ratio).all()
    assert "falls" in str(found)


def matrices(arm: Arm, q: Array, springs: Array, gravity: bool) -> tuple[Array, Array]:
    """M and K of links and rotors, put together entry by entry."""
    own = list(elastic_freedoms(arm))
    n, e = arm.n, len(own)
    if any(j.elasticity and j.elasticity.rotor_axis for j in arm.joints):
        inertia = dynamics.inertia_matrix(expanded(arm), np.concatenate([q, 0.7 * q[own]]))
    else:
        inertia = np.zeros((n + e, n + e))
        inertia[:n, :n] = dynamics.inertia_matrix(link_side(arm), q)
        for k, j in enumerate(own):
            motor = arm.joints[j].motor
            assert motor is not None
            inertia[n + k, n + k] = motor.gear_ratio**2 * motor.rotor_inertia
    stiffness = np.zeros((n + e, n + e))
    for k, j in enumerate(own):
        stiffness[j, j] += springs[k]
        stiffness[n + k, n + k] += springs[k]
        stiffness[j, n + k] -= springs[k]
        stiffness[n + k, j] -= springs[k]
    if gravity:
        bare = link_side(arm).rigid()
        for j, unit in enumerate(np.eye(n)):
            stiffness[:n, j] += SEVEN_POINTS @ dynamics.gravity(bare, q + OFFSETS[:, None] * unit)
    return inertia, stiffness


@pytest.mark.parametrize("gravity", [True, False])
@each_arm
def test_the_general_eigenproblem(name: str, gravity: bool) -> None:
    """Eigenvalues of M^-1 K by NumPy's routine for any matrix, and K x = omega^2 M x for every shape."""
    arm = ARMS[name]
    q, own = posture(arm, 1), list(elastic_freedoms(arm))
    found = fa.modes(arm, q, gravity=gravity)
    inertia, stiffness = matrices(arm, q, found.stiffness, gravity)
    parts: list[tuple[ModeSet, Any]] = [
        (found.locked, np.ix_(own, own)),
        (found.free, np.ix_(*[range(len(inertia))] * 2)),
    ]
    for modes, part in parts:
        truth = np.sort(np.linalg.eigvals(np.linalg.solve(inertia[part], stiffness[part])).real)
        squares = (2.0 * np.pi) ** 2 * modes.frequency_hz * np.abs(modes.frequency_hz)
        assert_agree(squares, truth, 1e-9)
        shapes = np.concatenate([modes.links, modes.rotors], axis=1)
        for square, x in zip(squares, shapes[:, part[1].ravel()], strict=True):
            left = stiffness[part] @ x - square * (inertia[part] @ x)
            assert np.abs(left).max() < 1e-8 * np.abs(stiffness).max()
        assert np.abs(shapes).max(axis=1) == pytest.approx(np.ones(len(shapes)))
        for x in shapes:
            assert x[np.abs(x) >= 0.5][0] > 0.0
    assert found.free.is_rigid.sum() == arm.n
    assert not found.locked.is_rigid.any()
    assert (np.diff(found.free.frequency_hz) >= 0.0).all()
    if not gravity:
        assert (found.free.frequency_hz[: arm.n] == 0.0).all()
        joints = found.free.links[: arm.n][:, own]
        assert_agree(found.free.rotors[: arm.n], joints, 1e-9)


@pytest.mark.parametrize("name", ["chain", "tree", "spinning"])
def test_forward_dynamics_linearised_by_differences(name: str) -> None:
    """About the equilibrium at q, motors holding gravity: accelerations by positions, and by velocities."""
    arm = ARMS[name]
    arm = arm.with_drives({j.name: {"friction": _viscous(k)} for k, j in enumerate(arm.joints)})
    q, n, own = posture(arm, 2), arm.n, list(elastic_freedoms(arm))
    e = len(own)
    g = dynamics.gravity(link_side(arm), q)
    hang = np.array(q)
    for j in own:
        hang[j] += _deflection(arm.joints[j].elasticity, g[j])

    def accelerations(x: Array, xd: Array) -> Array:
        """Rows of links and rotors."""
        theta, thetad = np.array(x[:, :n]), np.array(xd[:, :n])
        theta[:, own], thetad[:, own] = x[:, n:], xd[:, n:]
        tau = np.tile(g, (len(x), 1))
        qdd, thetadd = dynamics.elastic_forward(arm, x[:, :n], xd[:, :n], theta, thetad, tau)
        return np.concatenate([qdd, thetadd[:, own]], axis=1)

    at, rest = np.concatenate([q, hang[own]]), np.zeros((7, n + e))
    small = 1e-3  # of the seven points: deflections of springs are small
    by_x, by_xd = np.zeros((n + e, n + e)), np.zeros((n + e, n + e))
    for k, unit in enumerate(np.eye(n + e)):
        steps = OFFSETS[:, None] * unit
        by_x[:, k] = SEVEN_POINTS @ accelerations(at + small * steps, rest) / small
        by_xd[:, k] = SEVEN_POINTS @ accelerations(np.tile(at, (7, 1)), steps)
    assert np.abs(accelerations(at[None], rest[:1])).max() < 1e-9
    found = fa.modes(arm, q)
    truth = np.sort(-np.linalg.eigvals(by_x).real)
    squares = (2.0 * np.pi) ** 2 * found.free.frequency_hz * np.abs(found.free.frequency_hz)
    assert_agree(squares, truth, 1e-6)
    # decay of a mode by itself: x^T M (-by_xd) x / (x^T M x)
    inertia, _ = matrices(arm, q, found.stiffness, gravity=False)
    for k in np.flatnonzero(~found.free.is_rigid).tolist():
        x = np.concatenate([found.free.links[k], found.free.rotors[k]])
        decay = -(x @ inertia @ by_xd @ x) / (x @ inertia @ x)
        omega = 2.0 * np.pi * found.free.frequency_hz[k]
        assert found.free.damping_ratio[k] == pytest.approx(decay / (2.0 * omega), rel=1e-6)


def _viscous(k: int) -> Friction:
    return Friction(side="motor", viscous=2e-4 * (k + 1)) if k % 2 else Friction(viscous=0.3 * (k + 1))


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
    springs = [joint.elasticity for joint in arm.joints]
    inertia = dynamics.inertia_matrix(link_side(arm), q)
    stiffness, damping = (np.diag([getattr(s, what) for s in springs]) for what in ("stiffness", "damping"))
    state = np.block(
        [
            [np.zeros((3, 3)), np.eye(3)],
            [-np.linalg.solve(inertia, stiffness), -np.linalg.solve(inertia, damping)],
        ]
    )
    values = np.linalg.eigvals(state)
    values = values[values.imag > 0.0]
    values = values[np.argsort(np.abs(values))]
    assert np.abs(values) / (2.0 * np.pi) == pytest.approx(found.frequency_hz, rel=1e-2)
    assert -values.real / np.abs(values) == pytest.approx(found.damping_ratio, rel=1e-2)


@pytest.mark.parametrize("name", ["chain", "tree", "spinning"])
def test_mujoco_with_rotors_as_bodies(name: str) -> None:
    arm = ARMS[name].with_drives(friction=None)
    q, own = posture(arm, 4), list(elastic_freedoms(arm))
    found = fa.modes(arm, q, gravity=False)
    inertia = RotorsInMujoco(arm).inertia_matrix(q, q[own])
    _, stiffness = matrices(arm, q, found.stiffness, gravity=False)
    truth = np.sort(np.linalg.eigvals(np.linalg.solve(inertia, stiffness)).real)
    assert_agree((2.0 * np.pi * found.free.frequency_hz) ** 2, truth, 1e-9)


@each_arm
def test_gravity_stiffness_is_the_slope_of_gravity(name: str) -> None:
    arm = ARMS[name]
    q = posture(arm, 5)
    bare = link_side(arm).rigid()
    G = gravity_stiffness(arm, q)
    for j, unit in enumerate(np.eye(arm.n)):
        slope = SEVEN_POINTS @ dynamics.gravity(bare, q + OFFSETS[:, None] * unit)
        assert np.abs(G[:, j] - slope).max() < 1e-9 * np.abs(G).max()
    assert (G == G.T).all()


def test_a_curve_is_as_stiff_as_under_its_load() -> None:
    points = ((1e-3, 2.0), (3e-3, 10.0), (4e-3, 20.0))
    arm = slider(stiffness=None, curve=points)
    for load, slope in ((0.0, 2000.0), (1.0, 2000.0), (-5.0, 4000.0), (15.0, 1e4), (300.0, 1e4)):
        found = fa.modes(arm, [0.0], load=load)
        assert found.stiffness == pytest.approx([slope], rel=1e-12)
        assert found.load.tolist() == [load]
        assert found.locked.frequency_hz == pytest.approx([np.sqrt(slope / M) / (2.0 * np.pi)])
    assert fa.modes(arm, [0.0]).stiffness == pytest.approx([2000.0])


def test_gravity_loads_the_springs_by_itself() -> None:
    arm = ARMS["rigid first"]
    q = posture(arm, 6)
    found = fa.modes(arm, q)
    own = list(elastic_freedoms(arm))
    assert_agree(found.load, dynamics.gravity(arm.rigid(), q)[own], 1e-12)
    again = fa.modes(arm, q, load=dynamics.gravity(arm.rigid(), q))
    assert_agree(again.free.frequency_hz, found.free.frequency_hz, 1e-12)


def test_backlash_has_the_modes_of_a_flank_and_a_note() -> None:
    bare, gap = (fa.modes(slider(half_gap=g), [0.0], load=3.0) for g in (0.0, 2e-3))
    assert (bare.free.frequency_hz == gap.free.frequency_hz).all()
    assert bare.notes == ()
    assert gap.notes[0].startswith("backlash of slide: these are the modes at a flank, with the gap closed")
    assert "backlash" in str(gap)


def test_rigid_joints_are_held_or_move_with_their_rotors() -> None:
    arm = ARMS["rigid first"]
    q = posture(arm, 7)
    found = fa.modes(arm, q, gravity=False)
    assert found.joints == ("joint1", "joint2", "joint3", "joint4")
    assert found.rotors == ("joint3", "joint4")
    assert found.locked.links.shape == (2, 4)
    assert (found.locked.links[:, :2] == 0.0).all()
    assert (found.locked.rotors == 0.0).all()
    assert found.free.links.shape == (6, 4)
    assert any("joints without elasticity are fixed" in note for note in found.notes)
    # all of it stiff: with the other springs 1000 times as stiff the modes of these two stay
    stiff = fa.modes(_stiffened(arm), q, gravity=False)
    assert_agree(stiff.free.frequency_hz[4:6], found.free.frequency_hz[4:6], 1e-3)


def _stiffened(arm: Arm) -> Arm:
    """Its rigid joints very stiff, without losing what their motors have."""
    elastic = Elasticity(stiffness=1e9)
    return arm.with_drives({j.name: {"elasticity": elastic} for j in arm.joints if j.elasticity is None})


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
    text, html = str(found), found._repr_html_()
    for word in ("Motors locked", "Motors free", "rotor of joint4", "damping ratio", "random101"):
        assert word in text
        assert word in html
    assert html.count("<table>") == 3
    assert f"{found.locked.frequency_hz[0]:.4g}" in text


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
