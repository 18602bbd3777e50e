"""What the tests of elastic joints share: generic arms with springs, and MuJoCo's models of them, in which
rotors are bodies.
"""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from xml.etree import ElementTree

import mujoco
import numpy as np
from arms import random_arm
from drives.making import loaded_arm
from dynamics.cases import Array, simple_drives

import forearm as fa
from forearm import Arm, Elasticity, Joint
from forearm.spatial import rpy_of, tilde

Motion = tuple[Any, Any, Any, Any, Any]  # q and four derivatives by time
Spring = Literal["linear", "lines", "spline", "mixed"]
ROTOR_MASS = 0.043  # kg: nothing depends on it, as the link has it in its own mass
OFF_CENTRE = np.array([0.011, -0.017, 0.023])  # m: nor on where it stands, here from the link's centre


def spring(rng: np.random.Generator, kind: str, **more: Any) -> Elasticity:
    """A generic spring of some 1e4 N m / rad."""
    if kind == "linear":
        return Elasticity(stiffness=float(rng.uniform(4e3, 3e4)), **more)
    deflections = np.cumsum(rng.uniform(1.8e-3, 3e-3, 3))
    slopes = 3e3 + np.cumsum(rng.uniform(1e3, 4e3, 3))  # it stiffens, as gears do
    torques = np.cumsum(np.diff(deflections, prepend=0.0) * slopes)
    points = tuple(zip(deflections.tolist(), torques.tolist(), strict=True))
    interpolation: Literal["linear", "spline"] = "spline" if kind == "spline" else "linear"
    return Elasticity(curve=points, interpolation=interpolation, **more)


def with_springs(
    arm: Arm, seed: int, kind: Spring = "mixed", damping: float = 0.0, rigid: int = 0, **more: Any
) -> Arm:
    """The arm with springs in all freedoms but the first so many; damping is D of the first, and others
    differ.
    """
    rng, count = np.random.default_rng([seed, 61]), 0
    elastic = {joint.name for joint in arm.joints[rigid:]}

    def changed(joint: Joint) -> Joint:
        nonlocal count
        if joint.name not in elastic:
            return joint
        count += 1
        which = ("linear", "lines", "spline")[count % 3] if kind == "mixed" else kind
        made = spring(rng, which, damping=damping * (1.0 + 0.3 * count), **more)
        return dataclasses.replace(joint, elasticity=made)

    return arm.replace(tree=tuple(map(changed, arm.tree)))


def elastic_arms() -> dict[str, Arm]:
    """Chains and trees, turning and sliding, with every drive that there is, and rigid joints among elastic
    ones.
    """
    return {
        "bare springs": with_springs(simple_drives(random_arm(71, 4)), 1, "linear"),
        "every drive": with_springs(loaded_arm("chain", 72, 4), 2),
        "rigid first": with_springs(loaded_arm("turning", 73, 4), 3, rigid=2),
        "standard": with_springs(loaded_arm("standard", 74, 3), 4, "lines"),
        "tree": with_springs(loaded_arm("tree", 75, 4), 5, "spline"),
        "followers": with_springs(loaded_arm("followers", 76, 3), 6),
        "one joint": with_springs(loaded_arm("turning", 77, 1), 7, "spline"),
    }


def elastic_state(arm: Arm, seed: int) -> list[Array]:
    """q, qd, theta, thetad, tau, (n,) each, with deflections as springs have them."""
    rng = np.random.default_rng([seed, 62])

    def some(low: float, high: float) -> Array:
        values: Array = rng.uniform(low, high, arm.n) * rng.choice([-1.0, 1.0], arm.n)
        return values

    q, qd = some(0.2, 2.5), some(0.3, 1.5)
    return [q, qd, q + some(5e-4, 6e-3), qd + some(0.02, 0.2), some(5.0, 40.0)]


class RotorsInMujoco:
    """MuJoCo's model of an arm without friction, in which the rotor of every elastic joint is a body: on the
    world, where it turns as the joint does, or with a `rotor_axis` on the link that carries it, N times as
    fast.
    """

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        rotors = [joint for joint in arm.joints if joint.elasticity is not None]
        root = ElementTree.fromstring(_text(arm))
        bodies = {body.attrib["name"]: body for body in root.iter("body")}
        world = root.find("worldbody")
        assert world is not None
        for joint in rotors:
            assert joint.motor is not None
            assert joint.elasticity is not None
            axis = joint.elasticity.rotor_axis
            if axis is None:
                self._rotor(world, joint, joint.motor.reflected_inertia, (0.0, 0.0, 1.0))
                continue
            rotor = self._rotor(bodies[joint.parent], joint, joint.motor.rotor_inertia, axis)
            place = arm.link(joint.parent).com + OFF_CENTRE
            rotor.attrib |= {"pos": _words(place), "euler": _words(rpy_of(joint.before[:3, :3]))}
            _take_off(bodies[joint.parent], place, joint.motor.rotor_inertia)
        self.model: Any = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
        self.data: Any = mujoco.MjData(self.model)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        names = [joint.name for joint in arm.joints] + [f"rotor of {joint.name}" for joint in rotors]
        self.at = [int(self.model.joint(name).dofadr[0]) for name in names]
        own = [1.0 if j.elasticity and j.elasticity.rotor_axis is None else _ratio(j) for j in rotors]
        self.scale = np.array([1.0] * arm.n + own)  # how far MuJoCo's coordinates go for each of ours

    def inertia_matrix(self, q: Array, theta: Array) -> Array:
        """M of links and rotors."""
        self._move(np.concatenate([q, theta]), np.zeros(len(self.at)))
        M = np.zeros((self.model.nv, self.model.nv))
        for i, unit in enumerate(np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, self.data, M[i], unit)
        return np.asarray(M[np.ix_(self.at, self.at)] * np.outer(self.scale, self.scale))

    def accelerations(self, x: Array, xd: Array, forces: Array) -> Array:
        """Of links and rotors under generalised forces on them."""
        self.data.qfrc_applied[self.at] = forces / self.scale
        self._move(x, xd)
        made: Array = self.data.qacc[self.at] / self.scale
        return made

    def _move(self, x: Array, xd: Array) -> None:
        self.data.qpos[self.at], self.data.qvel[self.at] = self.scale * x, self.scale * xd
        mujoco.mj_forward(self.model, self.data)

    @staticmethod
    def _rotor(parent: ElementTree.Element, joint: Joint, inertia: float, axis: Any) -> ElementTree.Element:
        """A ball, so that nothing but its spin about the axis can be felt of where it stands."""
        rotor = ElementTree.SubElement(parent, "body", name=f"rotor of {joint.name}")
        size = _words([inertia] * 3)
        ElementTree.SubElement(rotor, "inertial", pos="0 0 0", mass=repr(ROTOR_MASS), diaginertia=size)
        ElementTree.SubElement(rotor, "joint", name=f"rotor of {joint.name}", type="hinge", axis=_words(axis))
        return rotor


def _ratio(joint: Joint) -> float:
    assert joint.motor is not None
    return joint.motor.gear_ratio


def _take_off(body: ElementTree.Element, place: Array, inertia: float) -> None:
    """A link without the ball that was counted with it."""
    at = body.find("inertial")
    assert at is not None
    m, c = float(at.attrib["mass"]), np.array(at.attrib["pos"].split(), dtype=float)
    xx, yy, zz, xy, xz, yz = (float(v) for v in at.attrib["fullinertia"].split())
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])  # noqa: E741
    rest = m - ROTOR_MASS
    centre = (m * c - ROTOR_MASS * place) / rest
    about = I - m * tilde(c) @ tilde(c) + ROTOR_MASS * tilde(place) @ tilde(place) - inertia * np.eye(3)
    about = about + rest * tilde(centre) @ tilde(centre)
    at.attrib |= {"mass": repr(rest), "pos": _words(centre)}
    at.attrib["fullinertia"] = _words(about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def _text(arm: Arm) -> str:
    """MJCF of the arm; what its rigid joints have for rotors is their armature."""
    bare = fa.Arm.with_drives(
        arm, friction=None, bearings=(), transmission=None, elasticity=None
    ).with_drives({j.name: {"motor": None} for j in arm.joints if j.elasticity is not None})
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", fa.LossWarning)
        bare.to_mjcf(Path(folder) / "arm.xml")
        return (Path(folder) / "arm.xml").read_text(encoding="utf-8")


def _words(values: Any) -> str:
    return " ".join(repr(float(v)) for v in values)
