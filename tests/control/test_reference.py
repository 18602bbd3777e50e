"""Motions that are wanted: their ends, their limits, and what a controller is told of them."""

from __future__ import annotations

import numpy as np
import pytest
from control.spying import Spy, wave

import forearm as fa
from forearm import control


def test_samples_say_what_is_wanted_now_and_next() -> None:
    arm = fa.load("chain3")
    spy, motion = Spy(3), wave(arm)
    made = control.run(arm, spy, motion, period=0.01)
    assert [s.k for s in spy.samples] == list(range(50))
    for s in spy.samples[::7]:
        assert s.t == pytest.approx(0.01 * s.k, abs=1e-15)
        for told, t in ((s.wanted, s.t), (s.ahead, s.t + 0.01)):
            assert all(np.allclose(a, b, atol=1e-14) for a, b in zip(told, motion.at(t), strict=True))
        assert np.array_equal(s.q, made.q[s.k])
        assert s.qdd is None
    assert made.operations_per_second == pytest.approx(700.0)
    assert made.t[-1] == pytest.approx(0.5)


def test_motions_meet_their_ends() -> None:
    motion = control.smooth([0.1, 0.2], [0.5, -0.4], 0.8)
    for t, q in ((0.0, [0.1, 0.2]), (0.8, [0.5, -0.4])):
        here = motion.at(t)
        assert np.allclose(here[0], q, atol=1e-15)
        assert not here[1].any()
        assert np.allclose(here[2], 0.0, atol=1e-12)
    times, h = np.linspace(0.1, 0.7, 7), 1e-6
    assert np.allclose(
        (motion.at(times + h)[0] - motion.at(times - h)[0]) / (2.0 * h), motion.at(times)[1], atol=1e-9
    )
    assert np.allclose(
        (motion.at(times + h)[1] - motion.at(times - h)[1]) / (2.0 * h), motion.at(times)[2], atol=1e-8
    )


@pytest.mark.parametrize("name", ["puma560-akb", "stanford", "panda", "ascher2", "chain9"])
def test_the_usual_motion_stays_within_limits(name: str) -> None:
    arm = fa.load(name)
    motion = control.default_motion(arm)
    t = np.linspace(0.0, motion.duration, 301)
    q, qd, _ = motion.at(t)
    lower, upper = np.array([j.limits for j in arm.joints]).T
    assert np.all((q >= lower - 1e-12) & (q <= upper + 1e-12))
    way = 0.5 * (qd[1:] + qd[:-1]).sum(axis=0) * (t[1] - t[0])
    assert np.allclose(q[-1] - q[0], way, atol=1e-4)
    assert np.all(np.abs(q[-1] - q[0]) > 0.1)
