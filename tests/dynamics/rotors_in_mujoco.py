"""MuJoCo's models of arms with elastic joints, in which rotors are bodies."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
from dynamics.cases import Array

from forearm import Arm, Joint, LossWarning
from forearm.spatial import rpy_of, tilde

ROTOR_MASS = 0.043  # kg: nothing depends on it, as the link has it in its own mass
OFF_CENTRE = np.array([0.011, -0.017, 0.023])  # m: nor on where it stands, here from the link's centre


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
    bare = Arm.with_drives(arm, friction=None, bearings=(), transmission=None, elasticity=None).with_drives(
        {j.name: {"motor": None} for j in arm.joints if j.elasticity is not None}
    )
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", LossWarning)
        bare.to_mjcf(Path(folder) / "arm.xml")
        return (Path(folder) / "arm.xml").read_text(encoding="utf-8")


def _words(values: Any) -> str:
    return " ".join(repr(float(v)) for v in values)
