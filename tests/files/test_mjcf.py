"""MJCF read: what each element and each setting becomes."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from mujoco import MjModel
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused

import forearm as fa
from forearm.arm import Arm, Friction, Joint, Limits, Mimic, Motor
from forearm.errors import IgnoredWarning
from forearm.files.mjcf.read import arm_from_mjcf
from forearm.kinematics import forward
from forearm.spatial import pose_xyz_rpy, rotation_about, rotation_rpy

INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="1.7" diaginertia="0.03 0.04 0.05"/>'

Array = NDArray[np.float64]


def read(
    world: str,
    more: str = "",
    compiler: str = 'angle="radian"',
    hand: str | None = None,
    root: str | None = None,
) -> Arm:
    """The arm of what stands in <worldbody>, which begins in line 2."""
    text = f'<mujoco model="m"><compiler {compiler}/>\n<worldbody>{world}</worldbody>\n{more}</mujoco>'
    return arm_from_mjcf(text.encode(), "m.xml", hand, root)


def body(name: str, inside: str = "", place: str = "") -> str:
    return f'<body name="{name}" {place}>{INERTIAL}{inside}</body>'


def joint(name: str = "j", more: str = "") -> str:
    return f'<joint name="{name}" {more}/>'


def one_joint(attributes: str, more: str = "", compiler: str = 'angle="radian"') -> Joint:
    return read(body("a", body("b", joint("j", attributes))), more, compiler).joint("j")


def said_of(*args: str) -> str:
    """The one warning of reading it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(*args)
    (warning,) = caught
    assert warning.category is IgnoredWarning
    return str(warning.message)


# --- the base and the tree -----------------------------------------------------------------------------


def test_a_body_without_joints_is_the_base() -> None:
    arm = read(
        body("base", body("arm", joint()), 'pos="0.1 0.2 0.3" euler="0.3 0 0"'),
        '<option gravity="0.5 -1 -9"/>',
    )
    assert (arm.base_link, arm.name, arm.n) == ("base", "m", 1)
    assert_near(arm.base, pose_xyz_rpy((0.1, 0.2, 0.3), (0.3, 0, 0)), 1e-14)
    np.testing.assert_allclose(
        arm.base[:3, :3] @ arm.gravity, [0.5, -1, -9], rtol=0, atol=1e-14, err_msg="gravity in the world"
    )


def test_a_body_with_joints_stands_on_the_world() -> None:
    arm = read(body("arm", joint(), 'pos="0.1 0.2 0.3"'), '<option><flag gravity="disable"/></option>')
    assert [link.name for link in arm.links] == ["world", "arm"]
    assert arm.link("world").massless
    np.testing.assert_array_equal(arm.tree[0].before[:3, 3], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(arm.gravity, np.zeros(3))


def test_order_is_depth_first_with_siblings_in_file_order() -> None:
    inner = body("b", joint("b1") + joint("b2") + body("c", joint("c1"))) + body("d", joint("d1"))
    arm = read(body("a", inner))
    assert [j.name for j in arm.joints] == ["b1", "b2", "c1", "d1"]
    assert [link.name for link in arm.links] == ["a", "b1_link", "b", "c", "d"]
    assert arm.link("b1_link").massless


def test_joints_of_one_body_act_in_their_order() -> None:
    """T = T_body . slide . Trans(p) turn Trans(-p), in the axes of the body, each from its reference."""
    slide = joint("s", 'type="slide" axis="0 3 4" ref="0.2"')
    joints = slide + joint("h", 'axis="1 0 0" pos="0 0.2 0.5" ref="0.4"')
    arm = read(body("a", body("b", joints, 'pos="1 2 3" euler="0 0 0.7"')))
    T = pose_xyz_rpy((1, 2, 3), (0, 0, 0.7)) @ pose_xyz_rpy((0, 0.1 * 0.6, 0.1 * 0.8), (0, 0, 0))
    T = T @ pose_xyz_rpy((0, 0.2, 0.5), (1.1 - 0.4, 0, 0)) @ pose_xyz_rpy((0, -0.2, -0.5), (0, 0, 0))
    assert_near(forward(arm, [0.3, 1.1], "b"), T, 1e-14)


def test_names_are_made_where_there_are_none_and_avoid_those_of_the_file() -> None:
    nameless = f"<body>{INERTIAL}<joint/><joint axis='1 0 0'/><body name='tip'>{INERTIAL}</body></body>"
    arm = read(body("a", nameless))
    assert [j.name for j in arm.tree] == ["body1_joint", "body1_joint2", "tip_fixed"]
    assert [link.name for link in arm.links] == ["a", "body1_joint_link", "body1", "tip"]
    taken = read(body("a", body("j_link", joint("j") + joint("k"))))
    assert [link.name for link in taken.links] == ["a", "j_link2", "j_link"]


def test_scenery_is_no_part_of_the_arm() -> None:
    table, cube = body("table"), body("cube", "<freejoint/>")
    arm = read(table + body("a", body("b", joint())) + cube)
    assert [link.name for link in arm.links] == ["a", "b"]


TWO = body("left", body("left hand", joint("l"))) + body(
    "right", body("right hand", joint("r")), 'pos="0 1 0"'
)


def test_one_of_several_arms_is_chosen_by_its_root() -> None:
    said = "m.xml: 2 bodies on the world have joints: 'left', 'right'; choose one with root=, or root='world'"
    with refused(f"InputError: {said} for all"):
        read(TWO)
    inside = read(TWO, root="right hand")
    assert (inside.n, inside.base_link) == (0, "right hand")
    right = read(TWO, root="right")
    assert ([j.name for j in right.joints], right.base_link) == (["r"], "right")
    np.testing.assert_array_equal(right.base[:3, 3], [0, 1, 0])
    both = read(TWO, root="world")
    assert ([j.name for j in both.joints], both.base_link) == (["l", "r"], "world")
    with refused(r"NameNotFound: m\.xml: there is no body 'rigth' for root=; did you mean 'right'"):
        read(TWO, root="rigth")


@pytest.mark.parametrize("free", ["<freejoint/>", '<joint type="free"/>'])
def test_free_base_needs_a_root(free: str) -> None:
    floating = body("torso", free + body("b", joint()))
    with refused(r"InputError.*is a free joint, so its base is free; root='torso' fixes it\.$"):
        read(floating)
    assert read(floating, root="torso").base_link == "torso"


def test_ball_joints_are_refused() -> None:
    with refused(r"InputError: m.xml, line 2, <joint> 'neck' is a ball joint, .*; use three hinges"):
        read(body("a", body("b", joint()) + body("c", joint("neck", 'type="ball"'))))


# --- the hand ------------------------------------------------------------------------------------------

SITE = '<site name="{}" pos="0.1 0 0" euler="0 0 1"/>'


def test_hand_is_the_site_whose_name_says_so_and_that_most_joints_move() -> None:
    sites = SITE.format("ee_site") + body("b", joint() + SITE.format("left/attachment_site"))
    hand = read(body("a", sites)).hand
    assert hand.link == "b"
    assert_near(hand.pose, pose_xyz_rpy((0.1, 0, 0), (0, 0, 1)), 1e-14)


def test_hand_may_be_any_site_or_link() -> None:
    world = body("a", body("b", joint("j") + SITE.format("probe") + body("c")))
    assert read(world).hand.link == "c"
    assert read(world, hand="b").hand.link == "b"
    assert read(world, hand="probe").hand.pose[0, 3] == 0.1
    with refused("NameNotFound.*there is no link or site 'prob'; did you mean 'probe'"):
        read(world, hand="prob")


# --- orientation ---------------------------------------------------------------------------------------

TURNS = [
    ('quat="0.8 0 0 1.2"', rotation_about(np.array([0.0, 0, 1]), 2 * math.atan2(1.2, 0.8))),
    ('axisangle="0 0 3 90"', rotation_rpy((0, 0, math.pi / 2))),
    ('xyaxes="0 2 0 5 1 0"', np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])),
    ('zaxis="0 0 -2"', np.diag([1.0, -1, -1])),
    ('zaxis="3 0 0"', rotation_rpy((0, math.pi / 2, 0))),
    ('euler="90 0 90"', rotation_rpy((math.pi / 2, 0, 0)) @ rotation_rpy((0, 0, math.pi / 2))),
]


@pytest.mark.parametrize(("attribute", "R"), TURNS)
def test_ways_to_write_a_turn(attribute: str, R: Array) -> None:
    arm = read(body("a", body("b", joint(), attribute)), compiler="")
    assert_near(arm.tree[0].before[:3, :3], R, 1e-14)


def test_frames_are_looked_through_and_euler_angles_may_be_about_fixed_axes() -> None:
    inside = body("b", joint(), 'pos="0 2 0"')
    inner = f'<frame pos="1 0 0"><frame euler="0 0 1.2">{inside}</frame></frame>'
    T = pose_xyz_rpy((1, 0, 0), (0, 0, 1.2)) @ pose_xyz_rpy((0, 2, 0), (0, 0, 0))
    assert_near(read(body("a", inner)).tree[0].before, T, 1e-14)
    fixed = 'angle="radian" eulerseq="XYZ"'
    turned = read(body("a", body("b", joint(), 'euler="0.1 -0.2 0.3"')), compiler=fixed)
    assert turned.tree[0].placement == fa.Frame(rpy=np.array([0.1, -0.2, 0.3]))  # to the last bit


# --- joints and drives ---------------------------------------------------------------------------------


def test_joint_becomes_limits_friction_and_rotor() -> None:
    found = one_joint(
        'range="-0.5 1.5" armature="0.3" damping="0.7" frictionloss="0.2" actuatorfrcrange="-5 5"'
    )
    assert found.limits == (-0.5, 1.5)
    assert found.motor == Motor(rotor_inertia=0.3)
    assert found.friction == Friction(viscous=0.7, coulomb=(0.2, -0.2))
    assert found.max_effort == 5.0
    bare = one_joint("")
    assert (bare.limits, bare.motor, bare.friction, bare.max_effort) == (Limits(), None, None, None)


@pytest.mark.parametrize(
    ("attributes", "compiler", "limits"),
    [
        ('range="-90 45"', "", (-math.pi / 2, math.pi / 4)),
        ('range="-1 2"', 'angle="radian" autolimits="false"', Limits()),
        ('range="-1 2" limited="true"', 'angle="radian" autolimits="false"', (-1.0, 2.0)),
        ('range="0 0"', "", Limits()),
        ('range="-inf 1"', 'angle="radian"', (-math.inf, 1.0)),
        ('range="-1 1e30"', 'angle="radian"', (-1.0, math.inf)),
    ],
)
def test_limits(attributes: str, compiler: str, limits: tuple[float, float]) -> None:
    assert one_joint(attributes, compiler=compiler).limits == limits


@pytest.mark.parametrize(
    ("actuator", "gear", "effort"),
    [
        ('<motor joint="j" gear="50" ctrlrange="-2 2"/>', 50.0, 100.0),
        ('<motor joint="j" gear="-50"/>', -50.0, None),
        ('<motor joint="j" ctrlrange="-2 2" ctrllimited="false"/>', 1.0, None),
        ('<motor joint="j" gear="3" ctrlrange="-2 2" forcerange="-1 1"/>', 3.0, 3.0),
        ('<position joint="j" kp="7" forcerange="-4 8"/>', 1.0, 8.0),
        ('<general joint="j" gainprm="3" ctrlrange="0 2"/>', 1.0, 6.0),
        ('<motor joint="j" gear="2" ctrlrange="-1 1"/><motor joint="j" ctrlrange="-1 1"/>', 1.0, 3.0),
        ('<motor jointinparent="j" gear="2"/>', 2.0, None),
        ('<motor tendon="t" gear="2" ctrlrange="-1 1"/>', 6.0, 6.0),
        ('<motor tendon="two" gear="2" ctrlrange="-1 1"/>', 1.0, 8.0),
    ],
)
def test_actuators_give_gear_and_effort(actuator: str, gear: float, effort: float | None) -> None:
    tendons = (
        '<tendon><fixed name="t"><joint joint="j" coef="3"/></fixed><fixed name="two">'
        '<joint joint="j" coef="-4"/><joint joint="k" coef="1"/></fixed></tendon>'
    )
    arm = read(
        body("a", body("b", joint("j", 'armature="0.9"') + body("c", joint("k")))),
        f"{tendons}<actuator>{actuator}</actuator>",
    )
    found = arm.joint("j")
    assert found.motor is not None
    assert found.motor.gear_ratio == gear
    assert found.motor.reflected_inertia == pytest.approx(0.9, rel=1e-15)
    assert found.max_effort == effort


def test_actuators_add_their_own_inertia_and_damping() -> None:
    more = '<actuator><motor joint="j" gear="3" armature="0.5" damping="0.25"/></actuator>'
    found = one_joint('armature="1" damping="2"', more)
    assert found.motor is not None
    assert found.motor.reflected_inertia == pytest.approx(1 + 9 * 0.5, rel=1e-15)
    assert found.friction == Friction(viscous=2 + 9 * 0.25)


def test_couplings_become_followers() -> None:
    world = body(
        "a", body("b", joint("j", 'ref="0.2"') + body("c", joint("k", 'ref="0.5"') + body("d", joint("l"))))
    )
    laws = '<joint joint1="k" joint2="j" polycoef="0.1 3 0 0 0"/><joint joint1="l" joint2="k"/>'
    arm = read(world, f"<equality>{laws}</equality>")
    assert [j.name for j in arm.joints] == ["j"]
    # q - ref = 0.1 + 3 (q_j - ref_j)
    assert arm.joint("k").mimic == Mimic(joint="j", multiplier=3.0, offset=0.5 + 0.1 - 3 * 0.2)
    assert arm.joint("l").mimic == Mimic(joint="k", multiplier=1.0, offset=-0.5)


# --- defaults ------------------------------------------------------------------------------------------

DEFAULTS = """<default><joint damping="1"/><default class="x"><joint damping="2" armature="5"/>
<default class="y"><joint damping="3"/></default></default></default>"""


@pytest.mark.parametrize(
    ("attributes", "childclass", "damping", "armature"),
    [
        ("", "", 1.0, 0.0),
        ("", 'childclass="x"', 2.0, 5.0),
        ('class="y"', 'childclass="x"', 3.0, 5.0),
        ('class="y" damping="4"', "", 4.0, 5.0),
        ('class="main"', 'childclass="y"', 1.0, 0.0),
    ],
)
def test_defaults(attributes: str, childclass: str, damping: float, armature: float) -> None:
    arm = read(body("a", body("b", joint("j", attributes)), childclass), DEFAULTS)
    found = arm.joint("j")
    assert found.friction == Friction(viscous=damping)
    assert (0.0 if found.motor is None else found.motor.reflected_inertia) == armature


def test_unknown_class() -> None:
    with refused(r"NameNotFound: m\.xml, line 2, <joint>: there is no default class 'z'; there are"):
        read(body("a", body("b", joint("j", 'class="z"'))), DEFAULTS)


# --- mass ----------------------------------------------------------------------------------------------


def test_inertial_is_turned_or_full() -> None:
    text = '<inertial pos="1 2 3" mass="4" diaginertia="1 2 2.5" euler="0 0 90"/>'
    link = read(f'<body name="a">{text}</body>', compiler="").link("a")
    assert (link.mass, link.com.tolist()) == (4.0, [1, 2, 3])
    assert_near(link.inertia, np.diag([2, 1, 2.5]), 1e-14)
    text = '<inertial pos="0 0 0" mass="4" fullinertia="1 2 2.5 0.1 0.2 0.3"/>'
    found = read(f'<body name="a">{text}</body>').link("a").inertia
    np.testing.assert_array_equal(found, [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])


@pytest.mark.parametrize(
    ("geom", "compiler", "mass"),
    [
        ('<geom type="box" size="0.1 0.2 0.3"/>', "", 1.7),
        ('<geom type="box" size="0.1 0.2 0.3"/>', 'inertiafromgeom="true"', 48.0),
        ('<geom type="box" size="0.1 0.2 0.3" mass="0"/>', 'inertiafromgeom="true"', 1.7),
        (
            '<geom type="box" size="0.1 0.2 0.3" group="3"/>',
            'inertiafromgeom="true" inertiagrouprange="0 2"',
            1.7,
        ),
    ],
)
def test_inertial_or_geoms(geom: str, compiler: str, mass: float) -> None:
    arm = read(body("a", body("b", joint() + geom)), compiler=compiler)
    assert arm.link("b").mass == pytest.approx(mass, rel=1e-15)
    text = f"<mujoco><compiler {compiler}/><worldbody>{body('b', joint() + geom)}</worldbody></mujoco>"
    assert MjModel.from_xml_string(text).body_mass[1] == pytest.approx(mass, rel=1e-15)


MESH = '<body name="b"><joint name="j"/><geom name="shell" type="mesh" mesh="m"/></body>'


def test_mass_of_a_mesh_is_not_known() -> None:
    with refused(
        "InputError: m.xml, line 2, <geom> 'shell': the mass of a mesh is not computed; give body 'b' an "
        "<inertial>, or the compiled model to fa.from_mujoco"
    ):
        read(body("a", MESH))
    visible = '<geom type="mesh" mesh="m" mass="0"/>'
    assert read(body("a", body("b", joint() + visible) + visible)).n == 1
    assert read(f'<body name="a"><geom type="mesh" mesh="m"/>{body("b", joint())}</body>').link("a").massless


# --- what is ignored -----------------------------------------------------------------------------------


def test_one_warning_for_all_that_was_ignored() -> None:
    world = body(
        "a", body("b", joint("j", 'stiffness="3"') + "<magnet/>" + body("c", joint("k", 'stiffness="1"')))
    )
    assert said_of(world, '<equality><weld body1="a" body2="b"/></equality><unheard/>') == (
        "m.xml: ignored <magnet> (first in line 2); springs of joints (stiffness, springdamper), 2 times "
        "(first in line 2); <unheard> (first in line 3); <weld> in <equality> that closes loops "
        "(first in line 3)."
    )


@pytest.mark.parametrize(
    "more",
    [
        '<equality><joint joint1="j" polycoef="1 0 0 0 0"/></equality>',
        '<equality><joint joint1="j" joint2="k" polycoef="0 1 1 0 0"/></equality>',
        '<equality><joint joint1="j" joint2="k"/><joint joint1="k" joint2="j"/></equality>',
        '<tendon><spatial name="t" stiffness="5"/></tendon>',
        '<actuator><motor site="s"/></actuator>',
        '<option density="1.2"/>',
        '<worldbody><flexcomp name="cloth"/></worldbody>',
    ],
)
def test_forces_that_an_arm_cannot_have_are_named(more: str) -> None:
    assert said_of(body("a", body("b", joint("j") + body("c", joint("k")))), more).startswith(
        "m.xml: ignored "
    )


def test_what_moves_nothing_is_ignored_in_silence() -> None:
    more = (
        "<asset><mesh/></asset><visual/><statistic/><sensor/><keyframe><key qpos='1'/></keyframe><contact/>"
        "<size/><custom/>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(body("a", '<light/><camera name="c"/>' + body("b", joint() + "<geom/>")), more)


# --- files ---------------------------------------------------------------------------------------------


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_load_knows_mjcf_by_its_content(tmp_path: Path) -> None:
    mjcf = f"<mujoco><worldbody>{body('a', body('b', joint()))}</worldbody></mujoco>"
    for name in ("arm.xml", "arm.mjcf", "arm.urdf"):
        assert fa.load(write(tmp_path, name, mjcf)).name == "arm"
    assert fa.load(write(tmp_path, "robot.xml", '<robot name="r"><link name="l"/></robot>')).name == "r"
    with refused(r"InputError.*root= is for MJCF files"):
        fa.load("robot.toml", root="a")
    with refused(r"InputError.*load: robot\.xml: root= is for MJCF files"):
        fa.load(tmp_path / "robot.xml", root="a")


def test_files_are_included(tmp_path: Path) -> None:
    scene = f'<mujoco>{DEFAULTS}<worldbody><include file="../parts/b.xml"/></worldbody></mujoco>'
    write(tmp_path, "scenes/arm.xml", scene)
    inner = body("a", '<include file="../parts/inner/c.xml"/>')
    write(tmp_path, "parts/b.xml", f"<mujocoinclude>{inner}</mujocoinclude>")
    write(tmp_path, "parts/inner/c.xml", f"<mujoco>{body('b', joint('j'))}</mujoco>")
    assert fa.load(tmp_path / "scenes" / "arm.xml").joint("j").friction == Friction(viscous=1.0)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("../../../../far.xml", r"at most 3 folders above it, got '../../../../far.xml'. Copy or link"),
        ("/etc/fonts.xml", r"line 1: expected a file ending in .xml or .mjcf, below the folder of arm.xml"),
        ("../secret.txt", r"expected a file ending in .xml or .mjcf, below the folder of arm.xml"),
        ("arm.xml", "the file 'arm.xml' is included twice"),
        ("missing.xml", "missing.xml: no such file"),
        ("urdf.xml", "urdf.xml, line 1: expected <mujoco> or <mujocoinclude> at the root"),
        ("", "<include> needs the attribute 'file'"),
    ],
)
def test_includes_that_are_refused(tmp_path: Path, file: str, words: str) -> None:
    write(tmp_path, "urdf.xml", "<robot/>")
    path = write(tmp_path, "arm.xml", f'<mujoco><include file="{file}"/></mujoco>')
    with refused(f".*{words}"):
        fa.load(path)
