"""Joints that move neither mass nor inertia: forward dynamics names them and the cure, whichever way it is
computed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import forearm as fa
from forearm.dynamics.forward import idle_joints

BODY = {"mass": 1.2, "com": np.array([0.1, -0.2, 0.3]), "inertia": np.diag([0.1, 0.2, 0.25])}
Q = [0.2, 0.4, -0.3]
WAYS: dict[str, Callable[[fa.Arm], object]] = {
    "reference": lambda arm: fa.dynamics.forward(arm, Q, Q, Q),
    "articulated-body": lambda arm: fa.dynamics.forward(arm, Q, Q, Q, "articulated-body"),
    "kernel": lambda arm: fa.compile(arm).forward_dynamics(Q, Q, Q),
    "text": lambda arm: fa.generate(arm, "forward_dynamics"),
    "derivatives": lambda arm: fa.generate(arm, "forward_dynamics_derivatives"),
    "simulation": lambda arm: fa.simulate(arm, Q, Q, duration=0.01),
}


def arm_of(kind: str, **last: object) -> fa.Arm:
    """Two links with mass and a last one without, on a joint of this kind."""
    links = (fa.Link(name="base"), fa.Link(name="a", **BODY), fa.Link(name="b", **BODY), fa.Link(name="tip"))  # type: ignore[arg-type]
    tree = tuple(
        fa.Joint(
            name=f"j{i + 1}",
            kind=joint_kind,  # type: ignore[arg-type]
            parent=links[i].name,
            child=links[i + 1].name,
            placement=fa.Frame(xyz=np.array([0.1, 0.2, 0.3]), rpy=np.array([0.3, -0.4, 0.5]) * i),
            **(last if i == 2 else {}),  # type: ignore[arg-type]
        )
        for i, joint_kind in enumerate(("revolute", "revolute", kind))
    )
    return fa.Arm(name="r", links=links, tree=tree)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "kind"), list(zip(WAYS, 3 * ("prismatic", "revolute"), strict=True)))
def test_forward_dynamics_names_the_joint_and_the_cure(way: str, kind: str) -> None:
    with pytest.raises(fa.ModelError) as caught:
        WAYS[way](arm_of(kind))
    assert str(caught.value) == (
        "forward dynamics of 'r': j3 moves neither mass nor inertia, so that the inertia matrix is singular "
        "and no torque fixes the acceleration. Give the links behind mass, the motor a rotor inertia, or "
        "hold the joint: arm.lock({'j3': 0.0})."
    )


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
def test_each_cure_works(kind: str) -> None:
    arm = arm_of(kind)
    assert idle_joints(arm) == ["j3"]
    geared = arm_of(kind, motor=fa.Motor(gear_ratio=10.0, rotor_inertia=1e-3))
    weighed = arm.with_link(fa.Link(name="tip", **BODY))  # type: ignore[arg-type]
    for cured in (geared, weighed):
        assert idle_joints(cured) == []
        assert np.isfinite(fa.dynamics.forward(cured, Q, Q, Q)).all()
    locked = arm.lock({"j3": 0.0})
    assert idle_joints(locked) == []
    assert np.isfinite(fa.dynamics.forward(locked, Q[:2], Q[:2], Q[:2])).all()


def test_point_mass_on_the_axis_is_another_matter() -> None:
    """It has mass, and yet nothing to accelerate: the general message."""
    arm = arm_of("revolute").with_link(fa.Link(name="tip", mass=1.0, com=np.array([0.0, 0.0, 0.2])))
    assert idle_joints(arm) == []
    said = r"^forward dynamics of 'r': the inertia matrix is singular at q = \[0\.2, 0\.4, -0\.3\]: a joint"
    with pytest.raises(fa.ModelError, match=said):
        fa.dynamics.forward(arm, Q, Q, Q)
