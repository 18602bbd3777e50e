"""MJCF text of random arms, generic in every number and written in every way, for the tests of MJCF."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from urdf_making import inertia_of, numbers, random_body, words

SEQUENCES = ("xyz", "XYZ", "zyx", "ZXz", "yXZ", "xzx")
CLASSES = ("", "stiff", "stiffer", "loose")


@dataclass(frozen=True)
class MjcfMaking:
    """What a random arm may have in it."""

    bodies: int = 8
    tree: bool = True
    kinds: tuple[str, ...] = ("hinge", "slide")
    most_joints: int = 3  # of a body
    geoms: bool = True  # in place of some <inertial>s
    couplings: bool = True
    settings: str = ""  # more attributes of <compiler>


EVERYTHING = MjcfMaking()


def random_mjcf(seed: int, making: MjcfMaking = EVERYTHING) -> str:
    """The text of one arm, on a base that is turned and has no joint."""
    return _Maker(random.Random(seed), making).text()


class _Maker:
    """One random file: its angles are in degrees or radians throughout."""

    def __init__(self, rng: random.Random, making: MjcfMaking) -> None:
        self.rng, self.making = rng, making
        self.degrees = rng.random() < 0.5
        self.joints: list[str] = []

    def text(self) -> str:
        rng = self.rng
        children: dict[int, list[int]] = {}
        for i in range(1, self.making.bodies):
            children.setdefault(rng.randrange(i) if self.making.tree else i - 1, []).append(i)
        bodies = self.body(0, children)
        angle = rng.choice(("", 'angle="degree"')) if self.degrees else 'angle="radian"'
        autolimits = rng.choice(("", 'autolimits="true"'))
        compiler = (
            f'<compiler {angle} eulerseq="{rng.choice(SEQUENCES)}" {autolimits} {self.making.settings}/>'
        )
        return (
            f'<mujoco model="made">\n{compiler}\n<option gravity="{numbers(rng, 3, 9.0)}"/>\n'
            f"{self.defaults()}\n<worldbody>\n{bodies}\n</worldbody>\n{self.equality()}{self.actuators()}</mujoco>\n"
        )

    def defaults(self) -> str:
        rng = self.rng
        joint = f'<joint damping="{rng.uniform(0.1, 2)!r}" axis="{numbers(rng, 3, 1.0)}"/>'
        stiff = f'<joint armature="{rng.uniform(0.1, 2)!r}" frictionloss="{rng.uniform(0.1, 2)!r}"/>'
        stiffer = f'<joint damping="{rng.uniform(0.1, 2)!r}" pos="{numbers(rng, 3, 0.3)}"/>'
        heavy = f'<geom density="{rng.uniform(500, 3000)!r}"/>'
        return (
            f'<default>{joint}<default class="stiff">{stiff}<default class="stiffer">{stiffer}{heavy}'
            '</default></default><default class="loose">'
            f'<joint type="{rng.choice(self.making.kinds)}"/></default></default>'
        )

    def body(self, i: int, children: dict[int, list[int]]) -> str:
        rng = self.rng
        count = rng.randint(0 if i > 1 else 1, self.making.most_joints) if i else 0
        parts = [self.joint() for _ in range(count)]
        parts.append(
            self.inertial() if i == 0 or not self.making.geoms or rng.random() < 0.6 else self.geoms()
        )
        if i == 0 or rng.random() < 0.3:
            parts.append(f'<site name="site{i}" pos="{numbers(rng, 3, 0.2)}" {self.turn()}/>')
        inner = [self.body(k, children) for k in children.get(i, [])]
        parts += [self.framed(text) if rng.random() < 0.3 else text for text in inner]
        childclass = rng.choice(CLASSES)
        inherited = f'childclass="{childclass}"' if childclass else ""
        place = f'pos="{numbers(rng, 3, 0.5)}" {self.turn()}'
        return f'<body name="body{i}" {inherited} {place}>\n' + "\n".join(parts) + "\n</body>"

    def framed(self, text: str) -> str:
        return f'<frame pos="{numbers(self.rng, 3, 0.3)}" {self.turn()}>{text}</frame>'

    def joint(self) -> str:
        rng, name = self.rng, f"joint{len(self.joints)}"
        self.joints.append(name)
        kind = rng.choice(self.making.kinds)
        said = [f'name="{name}" type="{kind}"']
        options: dict[str, Callable[[], str]] = {
            "class": lambda: rng.choice(CLASSES[1:]),
            "axis": lambda: numbers(rng, 3, 2.0),
            "pos": lambda: numbers(rng, 3, 0.3),
            "ref": lambda: self.angle(rng.uniform(-1, 1), kind),
            "range": lambda: f"{self.angle(-rng.uniform(2, 3), kind)} {self.angle(rng.uniform(2, 3), kind)}",
            "armature": lambda: repr(rng.uniform(0.1, 2)),
            "damping": lambda: repr(rng.uniform(0.1, 2)),
            "frictionloss": lambda: repr(rng.uniform(0.1, 2)),
            "actuatorfrcrange": lambda: f"{-(force := rng.uniform(5, 90))!r} {force!r}",
        }
        said += [f'{key}="{make()}"' for key, make in options.items() if rng.random() < 0.5]
        element = f"<joint {' '.join(said)}/>"
        return self.framed(element) if rng.random() < 0.2 else element

    def angle(self, radians: float, kind: str) -> str:
        return repr(float(np.degrees(radians)) if self.degrees and kind == "hinge" else radians)

    def turn(self) -> str:
        """An orientation in one of the ways that there are."""
        rng = self.rng
        unit = 57.0 if self.degrees else 1.0
        ways: tuple[Callable[[], str], ...] = (
            lambda: "",
            lambda: f'quat="{numbers(rng, 4, 2.0)}"',
            lambda: f'axisangle="{numbers(rng, 3, 2.0)} {numbers(rng, 1, 3.0 * unit)}"',
            lambda: f'xyaxes="{numbers(rng, 6, 2.0)}"',
            lambda: f'zaxis="{numbers(rng, 3, 2.0)}"',
            lambda: f'euler="{numbers(rng, 3, 3.0 * unit)}"',
        )
        return rng.choice(ways)()

    def inertial(self) -> str:
        rng = self.rng
        weights, points = random_body(rng)
        inertia = inertia_of(weights, points)
        if rng.random() < 0.5:
            tensor = f'diaginertia="{words(np.linalg.eigvalsh(inertia))}" {self.turn()}'
        else:
            tensor = (
                f'fullinertia="{words([*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]])}"'
            )
        return f'<inertial pos="{numbers(rng, 3, 0.4)}" mass="{float(weights.sum())!r}" {tensor}/>'

    def geoms(self) -> str:
        """One to three solid shapes, by size or between two points, by density or by mass."""
        rng = self.rng
        made = []
        for _ in range(rng.randint(1, 3)):
            kind = rng.choice(("sphere", "capsule", "cylinder", "box", "ellipsoid"))
            size = " ".join(repr(rng.uniform(0.03, 0.2)) for _ in range(3))
            place = f'pos="{numbers(rng, 3, 0.3)}" {self.turn()}'
            if kind != "sphere" and rng.random() < 0.3:
                place = f'fromto="{numbers(rng, 6, 0.3)}"'
            weight = rng.choice(
                ("", f'density="{rng.uniform(300, 900)!r}"', f'mass="{rng.uniform(0.3, 3)!r}"')
            )
            made.append(f'<geom type="{kind}" size="{size}" {place} {weight}/>')
        made.append('<geom type="box" size="1 1 1" mass="0"/>')
        return "".join(self.framed(text) if rng.random() < 0.2 else text for text in made)

    def equality(self) -> str:
        rng = self.rng
        if not self.making.couplings or len(self.joints) < 4:
            return ""
        leader, follower, second = rng.sample(self.joints, 3)
        laws = (
            f'<joint joint1="{follower}" joint2="{leader}" polycoef="{numbers(rng, 2, 1.5)} 0 0 0"/>',
            f'<joint joint1="{second}" joint2="{follower}"/>',
            f'<joint joint1="{leader}" joint2="{second}" active="false"/>',
        )
        return f"<equality>{''.join(laws)}</equality>\n"

    def actuators(self) -> str:
        rng = self.rng
        lines = []
        for joint in self.joints:
            force = rng.uniform(1, 9)
            gear = f'gear="{numbers(rng, 1, 50)}"' if rng.random() < 0.7 else ""
            made = rng.choice(
                (
                    "",
                    f'<motor joint="{joint}" {gear} ctrlrange="{-force!r} {force!r}"/>',
                    f'<general joint="{joint}" {gear} gainprm="3" ctrlrange="{-force!r} {force!r}"/>',
                    f'<position joint="{joint}" kp="9e6" forcerange="{-force!r} {force!r}"/>',
                    f'<velocity joint="{joint}" {gear} kv="9"/>',
                )
            )
            lines.append(made)
        return "<actuator>\n" + "\n".join(filter(None, lines)) + "\n</actuator>\n"
