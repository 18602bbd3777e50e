"""Geometry from measured hands: found as it is, as sure as it says, and what cannot be told is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from identification.measured_arms import DEVICE, Floats, noisy, small_arm, truth_of
from sweeps import long

import forearm as fa
from forearm.errors import InputError
from forearm.identification import Calibration, calibrate, suggest_postures
from forearm.identification.calibration.outliers import chance_of_ratio
from forearm.identification.calibration.setting import scaled_slopes, setting_of, shown_at_all
from forearm.identification.requests import GeometryModel
from forearm.spatial import pose, rotation_rpy

pytestmark = [pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning"), pytest.mark.slow]


ARMS = [
    ("small", "offsets", "points"),
    ("small", "all", "poses"),
    ("tree", "frames", "points"),
    *long([(name, group, kind) for name in ("panda", "ur10", "stanford", "tree", "modified")
           for group in ("offsets", "all") for kind in ("poses", "points")]),
]  # fmt: skip


def arm_of(name: str) -> fa.Arm:
    made: dict[str, Callable[[], fa.Arm]] = {
        "small": small_arm,
        "tree": lambda: random_arm(0, 3, "frames", tree=True),
        "modified": lambda: random_arm(6, 4, "modified", mimic=True),
    }
    return made[name]() if name in made else fa.load(name)


@pytest.mark.parametrize(("name", "group", "kind"), ARMS)
def test_exact_measurements_give_the_arm_that_was_measured(name: str, group: str, kind: str) -> None:
    truth = truth_of(arm_of(name), group, 40, hand=group == "all" and kind == "poses")
    given: dict[str, Any] = {"poses": truth.poses} if kind == "poses" else {"points": truth.poses[:, :3, 3]}
    found = calibrate(truth.file, truth.q, **given, unknowns=group)
    assert found.rms < 1e-9
    # zeros of one joint that turns and one that slides are moves of the device and of the point
    assert found.rms_before > 1e-4 or (name, group, kind) == ("tree", "offsets", "points")
    other = truth_of(arm_of(name), group, 30, hand=group == "all" and kind == "poses", seed=1)
    q = other.q[::-1] * 0.9
    expected = DEVICE @ fa.kinematics.forward(truth.arm, q)
    made = found.base @ fa.kinematics.forward(found.arm, q)
    at = made[:, :3, 3] + made[:, :3, :3] @ found.hand_point
    assert np.abs(at - expected[:, :3, 3]).max() < 1e-7
    if kind == "poses":
        assert np.abs(made - expected).max() < 1e-7


def scatter(
    group: str, seeds: int, kind: str, noise: float | tuple[float, float] | None
) -> tuple[Floats, Floats]:
    """Of repeated measurements whether intervals hold the truth, and errors over deviations, (seeds, m)."""
    truth = truth_of(small_arm(), group, 12, base=np.eye(4))
    held, errors = [], []
    for seed in range(seeds):
        poses = noisy(truth.poses, seed)
        given: dict[str, Any] = (
            {"poses": poses} if kind == "poses" else {"points": poses[:, :3, 3], "hand_point": np.zeros(3)}
        )
        found = calibrate(truth.file, truth.q, **given, unknowns=group, base=False, noise=noise)
        true = np.array([truth.values[name] for name in found.parameters])
        shown = np.isfinite(np.asarray(found.std))
        inside = (found.intervals[:, 0] <= true) & (true <= found.intervals[:, 1])
        held.append(inside[shown].astype(float))
        errors.append(((np.asarray(found.parameters) - true) / np.asarray(found.std))[shown])
    return np.array(held), np.array(errors)


@pytest.mark.parametrize(
    ("group", "kind", "noise", "seeds"),
    [
        ("offsets", "points", None, 30),
        ("dh", "poses", None, 8),
        *long(
            [
                ("offsets", "points", 2e-4, 400),
                ("offsets", "poses", None, 400),
                ("dh", "poses", None, 400),
                ("dh", "poses", (2e-4, 3e-4), 400),
            ]
        ),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(
    group: str, kind: str, noise: float | tuple[float, float] | None, seeds: int
) -> None:
    held, errors = scatter(group, seeds, kind, noise)
    assert held.shape[1] >= 3
    share = held.mean(axis=1)  # parameters of one fit hang together, fits do not
    assert abs(share.mean() - 0.95) < 4.0 * share.std() / np.sqrt(len(share)) + 0.005
    # chi^2 over the number of fits, with five of its deviations
    assert np.abs(np.mean(errors**2, axis=0) - 1.0).max() < 5.0 * np.sqrt(2.0 / len(errors)) + 0.1


@pytest.fixture(scope="module")
def found() -> Calibration:
    """All of the small arm from noisy poses, one of them wrong."""
    truth = truth_of(small_arm(), "all", 40, hand=True)
    poses = noisy(truth.poses, 5)
    poses[17, 1, 3] += 0.02
    return calibrate(truth.file, truth.q, poses=poses)


def test_what_cannot_be_told_is_told(found: Calibration) -> None:
    assert "base.z and joint1.d: only their sum is observable" in found.unobservable
    assert "base.yaw and joint1.theta: only their sum is observable" in found.unobservable
    # axes 1, 2 and 3 are parallel, the slide of joint 4 shows where it points and not where it is
    assert "joint1.d and joint2.d: only their sum is observable" in found.unobservable or (
        "base.z and joint2.d: only their sum is observable" in found.unobservable
    )
    assert found.shown == 4 * 3 + 2 + 6
    assert np.isinf(found.std["joint1.d"])
    assert found.parameters["base.z"] == pytest.approx(found.parameters["joint1.d"] - 0.12, abs=1e-5)


def test_what_other_postures_would_show_is_told_apart() -> None:
    truth = truth_of(small_arm(), "offsets", 1)
    q, points = np.tile(truth.q, (5, 1)), np.tile(truth.poses[:, :3, 3], (5, 1))
    at = noisy(np.tile(truth.poses, (5, 1, 1)), 1)[:, :3, 3]
    found = calibrate(truth.file, q, points=at, hand_point=[0, 0, 0], unknowns="offsets", base=DEVICE)
    assert found.shown == 3
    (text,) = found.unobservable
    assert text.endswith("other configurations would show it")
    whole = calibrate(truth.file, q, points=points, unknowns="offsets")
    never = [text for text in whole.unobservable if not text.endswith("other configurations would show it")]
    assert "base.yaw and joint1.theta: only their sum is observable" in never
    assert len(never) < len(whole.unobservable)


def test_one_wrong_row_is_found_and_left_out(found: Calibration) -> None:
    assert found.left_out.tolist() == [17]
    assert any("row 17 is" in text and "excluded" in text for text in found.findings)
    assert found.noise == pytest.approx((2e-4, 3e-4), rel=0.15)
    assert len(found.rows) == 39


@pytest.mark.parametrize("kind", ["poses", "points"])
def test_several_rows_of_other_postures_are_found(kind: str) -> None:
    truth = truth_of(small_arm(), "offsets", 40)
    poses, wrong = noisy(truth.poses, 4), [0, 7, 14, 21, 28, 35]
    poses[wrong] = poses[np.roll(wrong, 1)]
    given: dict[str, Any] = {"poses": poses} if kind == "poses" else {"points": poses[:, :3, 3]}
    found = calibrate(truth.file, truth.q, **given, unknowns="offsets")
    assert found.left_out.tolist() == wrong
    assert found.noise[0] == pytest.approx(2e-4, rel=0.2)


def test_good_rows_stay_and_others_are_said() -> None:
    truth = truth_of(small_arm(), "offsets", 15)

    def found(poses: Floats, **options: Any) -> Calibration:
        return calibrate(truth.file, truth.q, poses=poses, unknowns="offsets", **options)

    assert not any(len(found(noisy(truth.poses, k)).left_out) for k in range(6))
    loud = found(noisy(truth.poses, 1), noise=(5e-5, 5e-5))
    assert any("times the stated noise" in text for text in loud.findings)
    poses = truth.poses.copy()
    poses[4, 1, 3] = np.nan
    without = found(poses)
    assert without.rms < 1e-9
    assert 4 not in without.rows
    assert any("row 4 is excluded" in text for text in without.findings)


def test_rows_without_themselves_are_those_of_fits_without_them() -> None:
    truth = truth_of(small_arm(), "offsets", 8)
    poses = noisy(truth.poses, 2)
    whole = calibrate(truth.file, truth.q, poses=poses, unknowns="offsets", noise=(2e-4, 3e-4))
    sizes = []
    for row in range(8):
        kept = np.arange(8) != row
        part = calibrate(truth.file, truth.q[kept], poses=poses[kept], unknowns="offsets", noise=(2e-4, 3e-4))
        made = part.base @ fa.kinematics.forward(part.arm, truth.q[row])
        sizes.append(np.sum((poses[row, :3, 3] - made[:3, 3]) ** 2))
    assert whole.rms_left_out == pytest.approx(np.sqrt(np.mean(sizes)), rel=0.01)
    assert whole.rms_left_out > whole.rms


def test_a_report_says_it_all(found: Calibration, tmp_path: Path) -> None:
    text = found.report().text()
    for part in (
        "joint3.theta",
        "rms before",
        "not observable",
        "only their sum is observable",
        "condition number",
        "row 17",
    ):
        assert part in text
    found.save(tmp_path / "new.toml")
    read = fa.load(tmp_path / "new.toml")
    q = np.array([0.3, -0.2, 0.5, 0.1])
    assert np.abs(fa.kinematics.forward(read, q) - fa.kinematics.forward(found.arm, q)).max() < 1e-12
    document = found.document()
    assert document["parameters"][0]["name"] == "base.x"
    assert all(isinstance(joint.placement, fa.DH) for joint in found.arm.joints)


def test_a_prior_weighs_the_file_against_the_data() -> None:
    truth = truth_of(small_arm(), "offsets", 12)
    poses = noisy(truth.poses, 3)
    asked: dict[str, Any] = {"poses": poses, "unknowns": "offsets", "noise": (2e-4, 3e-4)}
    open_, tight = (
        calibrate(truth.file, truth.q, **asked),
        calibrate(truth.file, truth.q, **asked, prior=(1e-9, 1e-9)),
    )
    assert (
        max(
            abs(tight.parameters[f"joint{k}.theta"] - tight.file_values[f"joint{k}.theta"]) for k in (1, 2, 3)
        )
        < 1e-8
    )
    wide = calibrate(truth.file, truth.q, **asked, prior={"joint1.theta": 0.05})
    assert np.isinf(open_.std["joint1.theta"])
    assert wide.std["joint1.theta"] == pytest.approx(0.05, rel=1e-3)  # the base takes all of it
    assert wide.parameters["joint2.theta"] == pytest.approx(open_.parameters["joint2.theta"], abs=1e-7)


def test_a_target_that_is_turned_on_the_hand_is_found() -> None:
    truth = truth_of(small_arm(), "all", 40)
    H = pose(rotation_rpy([2.5, 0.4, -1.3]), [0.03, -0.1, 0.05])
    found = calibrate(truth.file, truth.q, poses=noisy(truth.poses @ H, 1))
    assert found.rms == pytest.approx(np.sqrt(3.0) * 2e-4, rel=0.3)
    assert np.abs(found.arm.hand.pose[:3, :3] - H[:3, :3]).max() < 0.02


def test_suggested_postures_show_more_than_random_ones() -> None:
    arm = small_arm()
    truth = truth_of(arm, "offsets", 10)
    chosen = suggest_postures(arm, truth.q[:3], 4, unknowns="offsets")
    assert chosen.shape == (4, 4)
    lower, upper = np.array([joint.limits for joint in arm.joints]).T
    assert (chosen >= lower).all()
    assert (chosen <= upper).all()
    setting = setting_of(arm, True, GeometryModel(unknowns="offsets"))
    values = setting.unknowns.start
    _, directions = shown_at_all(setting, values)

    def least(more: Floats) -> float:
        slopes = scaled_slopes(setting, np.concatenate([truth.q[:3], more]), values) @ directions
        return float(np.linalg.svd(slopes.reshape(-1, directions.shape[1]), compute_uv=False)[-1])

    others = [least(np.random.default_rng(seed).uniform(lower, upper, (4, 4))) for seed in range(20)]
    assert least(chosen) > max(others)


def test_wrong_words_and_numbers_are_refused() -> None:
    truth = truth_of(small_arm(), "offsets", 10)
    q, poses = truth.q, truth.poses
    points = poses[:, :3, 3]
    turned = q * [1.0, -1.0, 1.0, 1.0]
    asked: list[tuple[Floats, dict[str, Any], str]] = [
        (q, {}, "expected poses"),
        (q, {"points": points, "poses": poses}, "not both"),
        (q, {"points": points[:4]}, "expected shape"),
        (q, {"poses": poses, "hand_point": [0, 0, 0]}, "applies to points only"),
        (q, {"points": points, "unknowns": "joint2.aa"}, "unknown name 'joint2.aa'; did you mean"),
        (q, {"points": points, "unknowns": "frames"}, "no joint of this arm has"),
        (q, {"points": points, "noise": -1.0}, "calibrate, noise: must be above 0"),
        (q, {"poses": poses, "noise": 1e-3}, "two values"),
        (q, {"poses": poses, "prior": [1.0]}, r"expected \(m, rad\)"),
        (q, {"poses": poses, "prior": {"joint9.a": 1.0}}, "not one of the unknowns"),
        (q, {"poses": poses, "confidence": 1.0}, "confidence"),
        (q, {"poses": poses * 1.1}, "row 0 is not a pose"),
        (q, {"points": 1e3 * points}, r"column points\[:, 2\] spans"),
        (q[:2], {"points": points[:2], "unknowns": "offsets"}, r"expected at least \d+ rows"),
        (q * 57.3, {"points": points}, r"column q\[:, 0\] \(joint1\) is .* Are these degrees"),
        (turned, {"poses": poses}, r"the sign of q of joint2 reversed \(column q\[:, 1\]\)"),
        (q[:, [0, 2, 1, 3]], {"points": points}, "joint2 and joint3 swapped"),
    ]
    for at, given, text in asked:
        with pytest.raises(InputError, match=text):
            calibrate(truth.file, at, **given)


def test_chances_are_those_of_tables() -> None:
    # F at 5 % and 0.1 %, from tables
    for F, first, second, chance in ((3.0984, 3, 20, 0.05), (2.1906, 6, 100, 0.05), (6.1712, 3, 60, 0.001)):
        assert chance_of_ratio(F, first, second) == pytest.approx(chance, rel=1e-3)
