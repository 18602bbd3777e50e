"""Time-optimal motions that are known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from timed_paths import timed

from forearm import Arm, Frame, Joint, Link
from forearm.trajectories.paths import spline
from forearm.trajectories.shortest_time.path_motion import PathMotion

Array = NDArray[np.float64]
PLANNED = 1e-3  # relative: the planner leaves 4e-4 of every limit, and has 500 intervals
MASS, LENGTH, GRAVITY = 1.3, 0.6, 9.81
INERTIA = MASS * LENGTH**2


def planar(count: int, gravity: float) -> Arm:
    """Equal links with a point mass at each end, in the vertical plane; q = 0 points along x."""
    links = [Link(name="base", mass=1.0)]
    joints = []
    for k in range(count):
        links.append(Link(name=f"link{k + 1}", mass=MASS, com=np.array([LENGTH, 0.0, 0.0])))
        at = Frame(xyz=np.array([LENGTH if k else 0.0, 0.0, 0.0]), axis=np.array([0.0, 0.0, 1.0]))
        joints.append(
            Joint(
                name=f"joint{k + 1}",
                kind="revolute",
                parent=links[-2].name,
                child=links[-1].name,
                placement=at,
            )
        )
    return Arm(
        name=f"planar{count}", links=tuple(links), tree=tuple(joints), gravity=np.array([0.0, -gravity, 0.0])
    )


PENDULUM = planar(1, GRAVITY)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "speed", "acceleration"), [(1.7, 1.1, 2.3), (0.2, 1.1, 2.3), (1e-6, 5.0, 40.0)]
)
def test_double_integrator(way: float, speed: float, acceleration: float) -> None:
    plan = timed(PENDULUM, [[0.3], [0.3 + way]], velocity=speed, acceleration=acceleration, torque=np.inf)
    top = min(speed, math.sqrt(way * acceleration))
    assert plan.duration == pytest.approx(way / top + top / acceleration, rel=PLANNED)
    assert isinstance(plan.motion, PathMotion)
    assert np.abs(plan.at(plan.motion.switches)[1]).max() == pytest.approx(top, rel=PLANNED)


@pytest.mark.slow
def test_speeds_at_the_ends_of_a_double_integrator() -> None:
    v0, v1, a, way = 0.4, 0.7, 2.0, 1.5
    path = spline([[0.0], [way]])  # its s is the angle
    plan = timed(PENDULUM, path, velocity=9.0, acceleration=a, torque=np.inf, start_speed=v0, end_speed=v1)
    top = math.sqrt(a * way + 0.5 * (v0 * v0 + v1 * v1))
    assert plan.duration == pytest.approx((2.0 * top - v0 - v1) / a, rel=PLANNED)
    assert plan.qd[0, 0] == pytest.approx(v0, rel=1e-9)
    assert plan.at(plan.duration)[1][0] == pytest.approx(v1, rel=1e-9)


def pendulum_energy(q: Array, begin: float, torque: float) -> Array:
    """qd^2 from rest at `begin` under a constant torque: the work done, less what height takes."""
    work = torque * (q - begin) - MASS * GRAVITY * LENGTH * (np.sin(q) - math.sin(begin))
    return np.asarray(2.0 * work / INERTIA)


@pytest.mark.slow
@pytest.mark.parametrize(("begin", "end", "share"), [(0.2, 2.8, 1.3), (-2.2, -0.4, 2.5)])
def test_pendulum_bangs_once(begin: float, end: float, share: float) -> None:
    """Full torque up to the angle at which full braking leads to rest: both by energy."""
    torque = share * MASS * GRAVITY * LENGTH
    low, high = begin, end
    for _ in range(60):
        switch = 0.5 * (low + high)
        up = pendulum_energy(np.array([switch]), begin, torque)[0]
        down = pendulum_energy(np.array([switch]), end, -torque)[0]
        low, high = (switch, high) if up < down else (low, switch)
    # with a substitution that takes the roots at both ends out of the integral of 1 / qd
    x, w = np.polynomial.legendre.leggauss(60)
    z = 0.5 * (x + 1.0)
    duration = 0.0
    for at, sign in ((begin, 1.0), (end, -1.0)):
        q = at + (low - at) * z**2
        speed = np.sqrt(pendulum_energy(q, at, sign * torque))
        duration += float((w * abs(low - at) * z / speed).sum())
    plan = timed(PENDULUM, [[begin], [end]], torque=torque, velocity=np.inf)
    left = PLANNED * share / (share - 1.0)  # what gravity leaves of the torque lacks more of itself
    assert plan.duration == pytest.approx(duration, rel=left)
    q, qd, _ = plan.at(np.linspace(0.0, plan.duration, 200))
    known = np.minimum(pendulum_energy(q, begin, torque), pendulum_energy(q, end, -torque))
    assert np.abs(qd**2 - known).max() < 2.0 * left * known.max()
    assert plan.limit is not None
    assert (plan.limit == "joint1 torque").mean() > 0.98  # but for the interval of the switch


@pytest.mark.slow
def test_symmetric_path_has_a_symmetric_profile() -> None:
    """Two links without gravity: q of the second half is that of the first with the other sign, and a
    mirrored arm that goes backwards is as fast.
    """
    arm = planar(2, 1e-12)
    x = np.linspace(-1.0, 1.0, 41)
    path = spline(np.stack([1.1 * x, 0.7 * np.sin(2.5 * x)], axis=1), 4, "uniform")
    plan = timed(arm, path, torque=[3.0, 2.0], velocity=np.inf)
    assert isinstance(plan.motion, PathMotion)
    t = np.linspace(0.0, plan.duration, 301)
    s = plan.motion.along(t)[0]
    assert np.abs(s + s[::-1] - path.length).max() < 2.0 * PLANNED * path.length


@pytest.mark.slow
def test_twice_the_masses_and_torques_take_the_same_time() -> None:
    arm = random_arm(3, 2, prismatic=False, fixed=False, drives=False)
    heavy = Arm(
        name="heavy",
        links=tuple(
            Link(name=x.name, mass=2.0 * x.mass, com=x.com, inertia=2.0 * x.inertia) for x in arm.links
        ),
        tree=arm.tree,
        base=arm.base,
        gravity=arm.gravity,
        hand=arm.hand,
    )
    way = [[0.0, 0.1], [0.9, 0.6], [0.3, 1.2]]
    one, two = (timed(a, way, torque=k * np.array([60.0, 40.0])) for a, k in ((arm, 1.0), (heavy, 2.0)))
    assert two.duration == pytest.approx(one.duration, rel=1e-9)
