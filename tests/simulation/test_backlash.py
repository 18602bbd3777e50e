"""Backlash over time, against closed forms of two masses with a gap between them: when flanks meet, how fast
they part, and what is lost.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from one_joint import MASS, MOTOR_MASS, ROTOR, beam, two_masses
from simulation.making import FIXED, books, kinds

import forearm as fa
from forearm.simulation import Accuracy, Schedule, Simulation

Floats = NDArray[np.float64]
K, D, GAP = 250.0, 3.3, 0.02  # N/m, N s/m, m
MU = 1.0 / (1.0 / MASS + 1.0 / MOTOR_MASS)  # kg
TIGHT = Accuracy(1e-11, 1e-13)
GAPPED = two_masses(stiffness=K, damping=D, half_gap=GAP)


class Impact(NamedTuple):
    """How long two masses that meet at 1 m/s stay at a flank, how fast they part, and how far the spring is
    still pressed in then.
    """

    duration: float
    restitution: float
    pressed: float


def impact(damping: float) -> Impact:
    """mu p'' = -K p - D p' from p = 0, p' = 1 to where K p + D p' = 0:
    p = e^(-f t) sin(w t) / w, and tan(w t) = -2 f w / (w^2 - f^2) there.
    """
    f = damping / (2.0 * MU)
    w = math.sqrt(K / MU - f**2)
    angle = math.pi - math.atan2(2.0 * f * w, w**2 - f**2)
    decay = math.exp(-f * angle / w)
    return Impact(
        angle / w, -decay * (math.cos(angle) - f / w * math.sin(angle)), decay * math.sin(angle) / w
    )


def gap_of(run: Simulation) -> tuple[Floats, Floats]:
    """Deflection and its rate."""
    return (run.drives["motor_q"] - run.q)[:, 0], (run.drives["motor_qd"] - run.qd)[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "damping", "way"), [("rk4", D, -1.0), ("dp45", 0.0, 1.0), ("radau", D, 1.0)]
)
def test_masses_meet_and_part(method: str, damping: float, way: float) -> None:
    """Across the gap at an even speed, along the flank as a spring and a damper, and back, slower."""
    v, e0 = 0.7, 0.005
    stays, back, left = impact(damping)
    meets = (GAP - e0) / v
    leaves = meets + stays
    ends = leaves + 0.02
    run = fa.simulate(
        two_masses(stiffness=K, damping=damping, half_gap=GAP),
        [0.1],
        [way * 0.3],
        ends,
        motor0=([0.1 + way * e0], [way * (0.3 + v)]),
        method=method,
        step=5e-4,
        accuracy=TIGHT,
    )
    when = 5e-4 if method in FIXED else 1e-9
    assert kinds(run) == [("contact", "way"), ("release", "way")]
    assert [event.t for event in run.events] == pytest.approx([meets, leaves], abs=when)
    flank = "upper" if way > 0.0 else "lower"
    assert [event.text for event in run.events] == [
        f"way meets the {flank} flank",
        f"way leaves the {flank} flank",
    ]
    e, ed = gap_of(run)
    off = 1e-7 if method == "rk4" else 1e-9
    assert ed[-1] == pytest.approx(-way * back * v, abs=off)
    assert e[-1] == pytest.approx(way * (GAP + left * v - back * v * 0.02), abs=off)
    whole = MASS + MOTOR_MASS
    assert (MASS * run.qd + MOTOR_MASS * run.drives["motor_qd"])[:, 0] == pytest.approx(
        np.full(len(run.t), way * (whole * 0.3 + MOTOR_MASS * v)), rel=1e-12
    ), "the momentum stays"
    assert not run.drives["spring"][(run.t < meets - when) | (run.t > leaves + when)].any()
    assert (way * run.drives["spring"] >= 0.0).all(), "flanks push"
    # what the spring had at the end of the impact is lost as it comes back to its length
    still = 0.5 * K * max(way * e[-1] - GAP, 0.0) ** 2
    lost = 0.5 * MU * v**2 * (1.0 - back**2) - still
    # a damper that begins at once: the instant within a fixed step is not kept with the samples
    rough = 5e-4 if method in FIXED else 1e-9
    assert run.lost["spring"][-1, 0] == pytest.approx(lost, abs=rough * 0.5 * MU * v**2)
    assert books(run) <= rough


@pytest.mark.parametrize("method", ["rk4", "dp87"])
def test_it_rattles_from_flank_to_flank(method: str) -> None:
    """Each impact leaves the same part of the speed; the way between two is what the gap leaves."""
    v, (stays, back, left) = 0.7, impact(D)
    times, kinds_, t, e = [], [], 0.0, 0.0
    for _ in range(4):
        t += (GAP - e) / v
        times += [t, t + stays]
        kinds_ += ["contact", "release"]
        t += stays
        e, v = -GAP - left * v, back * v  # as seen from the other flank
    run = fa.simulate(
        GAPPED, [0.0], [0.0], t + 0.01, motor0=([0.0], [0.7]), method=method, step=2e-4, accuracy=TIGHT
    )
    assert [event.kind for event in run.events] == kinds_
    assert [event.t for event in run.events] == pytest.approx(times, abs=2e-4 if method == "rk4" else 1e-9)
    _, ed = gap_of(run)
    assert abs(ed[-1]) == pytest.approx(v, abs=1e-6 if method == "rk4" else 1e-9)
    assert books(run) <= (1e-4 if method == "rk4" else 1e-9)


def test_a_start_at_a_flank() -> None:
    """A beam that gravity presses on its flank begins there, beyond the gap, and stays; without a load in
    the middle of it.
    """
    pull = MASS * 9.81 * 0.3
    arm = beam(motor=ROTOR, elasticity=fa.Elasticity(stiffness=900.0, damping=2.0, half_gap=0.01))
    run = fa.simulate(arm, [0.0], [0.0], 0.1, torque=[pull], method="rk4")
    assert (run.drives["motor_q"] - run.q)[:, 0] == pytest.approx(np.full(len(run.t), 0.01 + pull / 900.0))
    assert run.drives["spring"][:, 0] == pytest.approx(np.full(len(run.t), pull))
    assert not run.events
    level = fa.simulate(GAPPED, [0.3], [0.0], 0.01)
    assert np.array_equal(level.drives["motor_q"], np.full_like(level.q, 0.3))


def test_the_link_does_not_feel_the_motor_within_the_gap() -> None:
    """A force on the motor moves it alone, evenly faster, until it has crossed the gap."""
    meets = math.sqrt(2.0 * GAP * MOTOR_MASS / 5.0)
    run = fa.simulate(GAPPED, [0.0], [0.0], 2.0 * meets, torque=[5.0], method="dp45", accuracy=TIGHT)
    assert run.events[0].kind == "contact"
    assert run.events[0].t == pytest.approx(meets, rel=1e-9)
    assert not run.q[run.t <= run.events[0].t].any()
    assert run.q[-1, 0] > 0.0


@pytest.mark.slow
@settings(max_examples=20)
@given(
    e=st.floats(-0.06, 0.06),
    v=st.floats(-3.0, 3.0),
    forces=st.lists(st.floats(-40.0, 40.0), min_size=3, max_size=3),
    method=st.sampled_from(["rk3", "rk4"]),
)
def test_flanks_push_whatever_is_done(e: float, v: float, forces: list[float], method: str) -> None:
    schedule = Schedule(times=np.array([0.0, 0.07, 0.14]), values=np.array(forces)[:, None])
    run = fa.simulate(GAPPED, [0.0], [0.0], 0.2, torque=schedule, motor0=([e], [v]), method=method, step=2e-3)
    assert run.ok
    deflection, rate = gap_of(run)
    spring = run.drives["spring"][:, 0]
    assert (spring * deflection >= 0.0).all()
    assert not spring[np.abs(deflection) <= GAP].any()
    pushed = K * (np.abs(deflection) - GAP) + D * np.sign(deflection) * rate
    assert np.abs(spring) == pytest.approx(
        np.where(np.abs(deflection) > GAP, np.maximum(pushed, 0.0), 0.0), abs=1e-9
    )
    # the books of fixed steps know the instant of an impact to a step only
    assert np.diff(run.lost["spring"][:, 0]).min() >= -0.02 * run.energy["kinetic"].max()
