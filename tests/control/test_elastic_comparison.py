"""Controllers of elastic joints by name: who is compared on which motion, what each says it needs."""

from __future__ import annotations

import numpy as np
import pytest
from control.elastic_arms import elastic_block, elastic_chain, snap_motion

import forearm as fa
from forearm import control
from forearm.control.by_name import setting_for
from forearm.control.registry import ELASTIC, available, left_out

POSTURE = np.array([0.3, -0.5, 0.7])
WAY = np.array([0.9, -0.8, 1.1])


@pytest.mark.slow
def test_a_comparison_has_them_where_joints_are_elastic() -> None:
    arm = elastic_chain(1.0)
    names = ["feed-forward", *ELASTIC]
    found = control.compare(arm, None, names, period=2e-3, payload=0.0, bandwidth=15.0)
    assert found.duration == pytest.approx(2.0)
    soft, lead, state = (found[name] for name in ELASTIC)
    assert lead.hand_rms < 1e-3 * found["feed-forward"].hand_rms
    assert state.hand_rms < 1e-3 * found["feed-forward"].hand_rms
    assert soft.ok
    assert (soft.stiffness, state.stiffness) == (1.0, 1.0)
    rigid = arm.with_drives(elasticity=None)
    ends = [control.default_motion(some).points for some in (arm, rigid)]
    assert np.array_equal(ends[0], ends[1])
    assert not set(ELASTIC) & set(available(setting_for(rigid, control.default_motion(rigid), 2e-3, 15.0, 0)))


def suited(arm: fa.Arm, motion: object, side: str) -> set[str]:
    """Of the controllers that a comparison runs, those of elastic joints."""
    setting = setting_for(arm, motion, 4e-3, 15.0, 0, side=side)  # type: ignore[arg-type]
    return {name for name in available(setting) if name in ELASTIC and name not in left_out(setting)}


def test_a_comparison_leaves_out_what_sensors_or_motion_do_not_suit() -> None:
    arm, motion = elastic_chain(1.0), snap_motion(POSTURE, POSTURE + WAY, 0.8)
    assert suited(arm, motion, "both") == set(ELASTIC)
    assert suited(arm, motion, "motor") == {"PD on motors", "elastic feed-forward"}
    assert suited(arm, motion, "link") == set()
    assert suited(arm, control.smooth(POSTURE, POSTURE + WAY, 0.8), "both") == {"PD on motors"}


@pytest.mark.slow
def test_backlash_and_spinning_rotors_are_left_out_of_models_and_that_is_said() -> None:
    gap = elastic_block(damping=20.0, half_gap=1e-3)
    row = control.compare(gap, None, ["elastic feed-forward"], period=2e-3, payload=0.0, bandwidth=8.0).rows[
        0
    ]
    assert row.message == "its model omits backlash"
    with pytest.warns(fa.ModelWarning, match="'elastic feed-forward': its model omits backlash"):
        control.controller_by_name(gap, "elastic_feed_forward", control.default_motion(gap))
    assert 1e-4 < row.largest < 5e-3
    plain = control.without_backlash(gap)
    assert plain == elastic_block(damping=20.0)
    with pytest.raises(fa.ModelError, match="half_gap"):
        control.ElasticFeedForward(gap, control.default_motion(gap))


@pytest.mark.parametrize(
    ("side", "make", "text"),
    [
        ("link", lambda a, m: control.MotorPD(a), r"PD on motors: .*Sensors\(side='motor'\) or 'both'"),
        ("link", control.ElasticFeedForward, r"elastic feed-forward: .*got link sensors alone"),
        ("link", control.StateFeedback, r"state feedback: expected sensors on the motors"),
        ("motor", control.StateFeedback, r"state feedback: .*motor sensors alone; .*Sensors\(side='both'\)"),
    ],
)
def test_each_says_where_it_needs_sensors(side: str, make: object, text: str) -> None:
    arm, motion = elastic_chain(0.5), snap_motion(POSTURE, POSTURE + WAY, 0.2)
    with pytest.raises(fa.InputError, match=text):
        control.run(arm, make(arm, motion), motion, sensors=control.Sensors(side=side))  # type: ignore[operator,arg-type]


@pytest.mark.slow
def test_what_else_they_do_not_take() -> None:
    arm, motion = elastic_chain(0.5), snap_motion(POSTURE, POSTURE + WAY, 0.2)
    rigid = arm.with_drives(elasticity=None)
    for make in (control.ElasticFeedForward, control.StateFeedback):
        with pytest.raises(fa.InputError, match="'chain3' has no elastic joint"):
            make(rigid, motion)
        with pytest.raises(fa.InputError, match=r"derivatives\(t\).* snap"):
            make(arm, control.smooth(POSTURE, POSTURE + WAY, 0.2))
        with pytest.raises(
            fa.InputError, match=r"made for a motion of 0.2 s sampled every 0.001 s.* make one"
        ):
            control.run(arm, make(arm, motion), motion, period=2e-3)
    with pytest.raises(fa.InputError, match="no continuous jerk and snap, its accelerations jump"):
        control.controller_by_name(arm, "state_feedback", control.default_motion(rigid, 0.2))
    assert control.controller_by_name(arm, "pd-on-motors", motion).name == "PD on motors"
    with pytest.raises(
        fa.InputError, match="'state feedback': it is for elastic joints, and 'chain3' has none"
    ):
        control.controller_by_name(rigid, "state feedback", control.default_motion(rigid, 0.2))
    with pytest.raises(fa.InputError, match="ElasticFeedForward, delay: expected a whole number"):
        control.ElasticFeedForward(arm, motion, delay=2)
