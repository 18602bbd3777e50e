"""The case study of friction: each part of the torque against mechanics that the
drives' code does not know.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.reproduce import friction_study
from forearm.reproduce.catalogue import pictures
from forearm.reproduce.friction_study import DURATION, PX, TABLE_3_4, arm, fitted, gears, study, without_gears
from forearm.reproduce.recompute import friction

ROUNDING = 1e-10  # N m: torques of up to 50 N m through a few hundred operations
DIFFERENCES = 1e-4  # of accelerations by second differences over 1 ms
STATIC = 1e9  # m: supports so far apart that moments do not matter


def kernel_torques(of: fa.Arm) -> np.ndarray:
    motion = study().motion
    return fa.compile(of).inverse_dynamics(motion.q, motion.qd, motion.qdd)


@pytest.mark.slow
def test_the_hand_is_on_the_line() -> None:
    found = study()
    p = fa.kinematics.forward(arm(), found.motion.q)[:, :3, 3]
    assert np.abs(p[:, 0] - PX).max() < 1e-12
    assert np.abs(p[:, 1] - p[:, 2]).max() < 1e-12
    assert len(p) == 201
    assert found.motion.t[-1] == DURATION
    assert p[0, 1] == pytest.approx(0.0, abs=1e-12)
    assert p[-1, 1] == pytest.approx(friction_study.S_END, abs=1e-12)


@pytest.mark.slow
def test_parts_are_differences_of_the_inverse_dynamics_with_and_without_drives() -> None:
    found = study()
    rigid, bearings, whole = (kernel_torques(of) for of in (arm().rigid(), without_gears(arm()), arm()))
    assert np.abs(found.basic - rigid).max() < ROUNDING
    assert np.abs(found.joint - (bearings - rigid)).max() < ROUNDING
    assert np.abs(found.transmission - (whole - bearings)).max() < ROUNDING
    assert np.abs(found.total - whole).max() < ROUNDING


def test_joint_friction_is_mu_r_times_the_force_that_newton_asks_for() -> None:
    """With supports far apart: the force across the axis is that which gives the masses behind
    it their accelerations.
    """
    driven = arm()
    tree = tuple(
        dataclasses.replace(j, bearings=(dataclasses.replace(j.bearings[0], distance=STATIC),))
        for j in driven.tree
    )
    wide = without_gears(driven).replace(tree=tuple(dataclasses.replace(j, transmission=None) for j in tree))
    row, h = 60, 1e-3
    motion = study().motion
    q, qd, qdd = motion.q[row], motion.qd[row], motion.qdd[row]
    rubs = fa.dynamics.inverse(wide, q, qd, qdd) - fa.dynamics.inverse(wide.rigid(), q, qd, qdd)
    around = [q + k * h * qd + 0.5 * (k * h) ** 2 * qdd for k in (-1, 0, 1)]
    force = np.zeros(3)
    for joint in (3, 2, 1):
        body = driven.link(f"link{joint}")
        before, at, after = (fa.kinematics.position(driven, x, body.name, body.com) for x in around)
        force = force + body.mass * ((after - 2.0 * at + before) / h**2 - driven.gravity)
        z = fa.kinematics.forward(driven, q, body.name)[:3, 2]
        across = np.linalg.norm(force - z * (z @ force))
        mu, radius, _, _ = TABLE_3_4[joint - 1]
        assert rubs[joint - 1] == pytest.approx(
            np.sign(qd[joint - 1]) * mu * radius * across, abs=DIFFERENCES
        )


def test_gears_follow_the_four_cases_of_table_3_2() -> None:
    found = study()
    moving = found.motion.qd != 0.0
    assert moving[1:-1].all()
    for link, gear in enumerate(gears()):
        loads, etas = np.array(gear.efficiency).T
        out, way = found.at_joint[:, link], np.sign(found.motion.qd[:, link])
        eta = np.interp(np.abs(out) / gear.rated_torque, loads, etas)
        expected = np.where(out * way > 0.0, out / eta, out * eta) + way * gear.breakaway
        assert np.abs(found.total[:, link] - np.where(way == 0.0, out, expected)).max() < ROUNDING


def test_friction_never_drives_and_the_table_s_directions_come_out() -> None:
    found = study()
    assert (found.joint * found.motion.qd >= 0.0).all()
    assert (found.transmission * found.motion.qd >= 0.0).all()
    assert np.array_equal(np.sign(found.motion.qd[60]), [1.0, -1.0, 1.0])


def test_the_curve_goes_past_the_three_points_as_a_power() -> None:
    factor, exponent = fitted()
    r, eta = np.array(friction_study.LOADS).T
    assert np.abs(np.log(factor * r**exponent / eta)).max() < 0.01
    # normal equations: what is missed has no mean and no slope left
    missed = np.log(factor) + exponent * np.log(r) - np.log(eta)
    assert abs(missed.sum()) < 1e-12
    assert abs(missed @ np.log(r)) < 1e-12


def test_no_distance_and_no_moment_brings_joint_friction_below_mu_r_f() -> None:
    """The bound by which two printed figures cannot be: for the pairs of signs as printed,
    and for those of mechanics.
    """
    rng = np.random.default_rng(8)
    f, n, d = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2)), rng.uniform(0.01, 1.0, 1000)
    for sign in (1.0, -1.0):
        other = np.stack([n[:, 1], sign * n[:, 0]], axis=1)
        both = np.linalg.norm(0.5 * d[:, None] * f - other, axis=1) + np.linalg.norm(
            0.5 * d[:, None] * f + other, axis=1
        )
        assert (both / d >= np.linalg.norm(f, axis=1) * (1.0 - 1e-12)).all()
    least = friction.least_joint_friction()
    at = friction.case_study()
    for link in (2, 3):
        assert abs(at[f"joint friction, link {link}"]) == pytest.approx(
            least[f"joint friction, link {link}"], rel=0.05
        )


def test_statements_of_the_text_are_shares() -> None:
    shares = friction.statements()
    assert shares["joint friction below transmission friction"] == 1.0
    assert shares["region I, same directions: total below dynamic"] == 0.0
    assert shares["region II, opposite: total above dynamic"] == 0.0


@pytest.mark.slow
def test_a_figure_is_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["reproduce", "waters", "--figures", str(tmp_path / "new" / "folder")]) == 0
    written = list((tmp_path / "new" / "folder").iterdir())
    assert {path.name for path in written} == {f"waters-{p.drawn}.png" for p in pictures("waters") if p.drawn}
    assert min(path.stat().st_size for path in written) > 5000
    assert "wrote " in capsys.readouterr().out


@pytest.mark.long
def test_figures_are_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["reproduce", "dhanaraj", "--figures", str(tmp_path / "new" / "folder")]) == 0
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    studied = {f"dhanaraj-fig-3.{k}.png" for k in ("4", "5", "6-3.7", "8-3.9", "11", "12", "13")}
    assert {name for name in names if name.startswith("dhanaraj-fig-3")} == studied
    assert names == {f"dhanaraj-{picture.drawn}.png" for picture in pictures("dhanaraj") if picture.drawn}
    assert min(path.stat().st_size for path in (tmp_path / "new" / "folder").iterdir()) > 5000
    assert all(picture.drawn or picture.reason for picture in pictures("dhanaraj"))
    assert "wrote " in capsys.readouterr().out
    assert main(["reproduce", "silver", "--figures", str(tmp_path)]) == 0
    assert "no figure of silver is drawn" in capsys.readouterr().out


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["reproduce", "dhanaraj", "--figures", str(tmp_path / "file" / "folder")]) == 2
    assert "no folder can be made there" in " ".join(capsys.readouterr().err.split())
