"""Motions from tables: through their samples, in the units that are meant, from one command into the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.logs.motion import MotionLog
from forearm.trajectories.recorded import RecordedMotion, read_motion, recorded

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
ARM = fa.load("ur5")
JOINTS = tuple(j.name for j in ARM.joints)
T = np.linspace(0.0, 2.0, 201)


def swing(t: Any, order: int = 0) -> Any:
    """A smooth motion, (m, 6), or a derivative of it."""
    w, phase = np.array([1.0, 1.3, 0.7, 2.0, 1.1, 0.9]), np.arange(6) + 0.5 * np.pi * order
    return 0.8 * w**order * np.sin(w * np.asarray(t)[..., None] + phase)


def log_of(t: Any = T, **changes: Any) -> MotionLog:
    blocks = {"q": swing(t), "qd": swing(t, 1), "qdd": swing(t, 2)}
    return MotionLog(JOINTS, t, **(blocks | changes), name="log")


def test_it_goes_through_its_samples_and_near_the_motion_between() -> None:
    motion = recorded(log_of())
    assert motion.duration == 2.0
    for found, order in zip(motion.at(T), (0, 1, 2), strict=True):
        assert np.array_equal(found, swing(T, order))
    between = np.linspace(0.0, 2.0, 1111)
    for found, order, error in zip(motion.at(between), (0, 1, 2), (1e-8, 2e-6, 2e-4), strict=True):
        np.testing.assert_allclose(found, swing(between, order), rtol=0.0, atol=error)
    q, qd, qdd = motion.at(0.505)
    assert q.shape == qd.shape == qdd.shape == (6,)
    with pytest.raises(fa.InputError, match=r"at: 2\.5 is outside the motion"):
        motion.at(2.5)
    t, h = np.linspace(0.01, 1.98, 77), 1e-6
    rise = (motion.at(t + h)[0] - motion.at(t - h)[0]) / (2.0 * h)
    np.testing.assert_allclose(motion.at(t)[1], rise, rtol=0.0, atol=1e-8)
    # What was wanted goes before what was reached; a log that begins late is a motion from 0 on.
    wanted = {"wanted_q": swing(T), "wanted_qd": swing(T, 1), "wanted_qdd": swing(T, 2)}
    late = recorded(log_of(T + 100.0, q=swing(T) + 1.0, **wanted))
    assert np.array_equal(late.q, swing(T))
    assert late.t[0] == 0.0
    assert late.duration == pytest.approx(2.0)


def test_what_the_table_does_not_have_is_taken_from_differences() -> None:
    motion = recorded(log_of(qd=None, qdd=None))
    np.testing.assert_allclose(motion.qd, swing(T, 1), rtol=0.0, atol=4e-4)
    np.testing.assert_allclose(motion.qdd[2:-2], swing(T, 2)[2:-2], rtol=0.0, atol=1e-3)
    assert recorded(log_of(T[:2], qd=None, qdd=None)).qd.shape == (2, 6)
    with pytest.raises(fa.InputError, match="a motion needs q of every joint, got qd"):
        recorded(log_of(q=None, qdd=None))
    with pytest.raises(fa.InputError, match="a motion needs at least two rows, got 1"):
        recorded(log_of(T[:1]))


# --- units --------------------------------------------------------------------------------------------


def test_degrees_are_asked_about_and_never_taken() -> None:
    degrees = log_of(q=np.degrees(swing(T)), qd=np.degrees(swing(T, 1)), qdd=None)
    with pytest.raises(
        fa.InputError, match=r"log: .* is at -?4\d\.\d+, beyond its limits, .* Are these degrees\?"
    ):
        read_motion(ARM, degrees)
    found = read_motion(ARM, degrees, units="deg")
    assert found.q is not None
    assert found.qd is not None
    np.testing.assert_allclose(found.q, swing(T), rtol=1e-15)
    np.testing.assert_allclose(found.qd, swing(T, 1), rtol=1e-15)
    assert read_motion(ARM, degrees, units=("rad", "s")).q is degrees.q


def test_sliding_joints_are_in_metres_whatever_angles_are_in() -> None:
    arm = fa.load("stanford")
    q = np.full((3, 6), 0.1)
    found = read_motion(arm, {"t": [0.0, 0.1, 0.2], "q": q}, units="deg").q
    assert found is not None
    slides = [j.kind == "prismatic" for j in arm.joints]
    assert any(slides)
    np.testing.assert_allclose(found[0], np.where(slides, 0.1, np.radians(0.1)))


@pytest.mark.parametrize(
    ("unit", "factor", "rates"), [("ms", 1e3, True), ("us", 1e6, False), ("ns", 1e9, True)]
)
def test_times_in_other_units_are_asked_about(unit: str, factor: float, rates: bool) -> None:
    log = log_of(T * factor, q=swing(T), qd=swing(T, 1) if rates else None, qdd=None)
    said = "positions change .* times more slowly than the velocities" if rates else r"rows are 1.* s apart"
    with pytest.raises(fa.InputError, match=rf"log: {said}.* Are times in {unit}\?.*\(--units {unit}\)"):
        read_motion(ARM, log)
    np.testing.assert_allclose(read_motion(ARM, log, units=unit).t, T, rtol=1e-14)
    assert read_motion(ARM, log, units="s").t is log.t


@pytest.mark.parametrize("units", ["", "ms", "rad,ms"])
def test_a_unit_in_the_name_of_the_time_column_is_applied_once(units: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log_of(1e3 * T).save(path)
    path.write_text(path.read_text().replace("t,", "stamp,", 1))
    np.testing.assert_allclose(read_motion(ARM, path, columns={"stamp": "t"}, units="ms").t, T, rtol=1e-14)
    path.write_text(path.read_text().replace("stamp,", "timestamp_ms,", 1))
    for columns in (None, {"timestamp_ms": "t"}):
        np.testing.assert_allclose(read_motion(ARM, path, columns=columns, units=units).t, T, rtol=1e-14)
    np.testing.assert_allclose(read_motion(ARM, path, units="us").t, 1e-3 * T, rtol=1e-14)


def test_a_period_is_in_seconds_whatever_unit_times_have() -> None:
    rows = {x: block for x, block in log_of().blocks.items() if x in ("q", "qd")}
    np.testing.assert_allclose(read_motion(ARM, rows, period=0.004, units="ms").t[:3], [0.0, 0.004, 0.008])
    timed = rows | {"t": 1e3 * T}
    np.testing.assert_allclose(read_motion(ARM, timed, units="ms").t, T, rtol=1e-14)


def test_units_that_fit_are_not_asked_about_and_what_is_no_motion_is_refused() -> None:
    t = np.linspace(0.0, 400.0, 401)
    slow = log_of(t, q=swing(t / 400.0), qd=swing(t / 400.0, 1) / 400.0, qdd=None)
    assert read_motion(ARM, slow).t is slow.t
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (log_of(), {"units": "degrees"}, r"units: unknown unit 'degrees'; did you mean 'deg'"),
        (log_of(), {"units": "s,ms"}, "units: times have two units in 's,ms'; give one"),
        (3, {}, "motion: expected the path of a file, arrays by name, or a plan"),
    ]
    for log, given, said in wrong:
        with pytest.raises(fa.ForearmError, match=said):
            read_motion(ARM, log, **given)
    with pytest.raises(fa.InputError, match="it has 6 joints, 'panda' has 7"):
        read_motion(fa.load("panda"), log_of())


# --- from one step into the next ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz", ".json"])
def test_a_plan_comes_back_from_its_file(ending: str, tmp_path: Path) -> None:
    made = fa.plan(ARM, [np.zeros(6), np.full(6, 0.4)], step=2e-3)
    made.save(tmp_path / f"plan{ending}")
    again = fa.plan(ARM, tmp_path / f"plan{ending}", step=2e-3)
    assert again.duration == made.duration
    np.testing.assert_allclose(again.q, made.q, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(again.tau, made.tau, rtol=0.0, atol=1e-12)
    assert repr(again).startswith("<Plan of 'ur5': ")
    assert "columns" not in repr(again)


def test_a_plan_is_taken_wherever_a_motion_is() -> None:
    arm = random_arm(4, 3)
    made = fa.plan(arm.rigid(), [np.zeros(3), np.full(3, 0.1)], step=1e-3)
    t = np.linspace(0.0, made.duration, 13)
    assert np.array_equal(made.at(t)[0], made.motion.at(t)[0])
    assert fa.plan(arm, made).motion is made.motion
    assert isinstance(fa.plan(arm, made.log).motion, RecordedMotion)
    run = fa.simulate(arm.rigid(), made.q[0], made.qd[0], made.duration, torque=made, method="rk4")
    np.testing.assert_allclose(run.q[-1], made.q[-1], rtol=0.0, atol=1e-2)
    assert isinstance(fa.plan(arm, run).motion, RecordedMotion)
    with pytest.raises(fa.InputError, match=r"plan of .*: no voltage of the joints; it has q, qd, qdd, tau"):
        fa.simulate(arm.rigid(), made.q[0], made.qd[0], 0.1, voltage=made)
