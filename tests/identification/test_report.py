"""What an identification says of itself is what its numbers say."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from identification.identified import PERIOD, two_joints, two_link
from numpy.typing import NDArray

from forearm import InputError, Joint, Limits, load
from forearm.dynamics.reference import inverse
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.report.advice import measure_next
from forearm.identification.report.friction_curves import friction_curve, law_of
from forearm.identification.report.movement import movements
from forearm.identification.report.page import page
from forearm.identification.report.rows import parameter_rows, split_name
from forearm.identification.report.spectra import Spectrum, welch
from forearm.identification.report.summary import significant
from forearm.identification.report.thinning import breaks, running_time, thinned
from forearm.identification.result import Identification

Array = NDArray[np.float64]


def sure(found: Identification, std: float = 1e-4) -> Identification:
    """The same with every parameter known well, none with another."""
    values = np.maximum(np.abs(np.asarray(found.parameters)), 1e-3)
    deviations = ParameterSet(found.parameters.names, std * values)
    return dataclasses.replace(found, std=deviations, covariance=np.diag(np.asarray(deviations) ** 2))


def poor(found: Identification, **relative: float) -> Identification:
    """The same, some deviations so large against the values."""
    well = sure(found)
    std = dict(well.std) | {k: x * abs(found.parameters[k]) for k, x in relative.items()}
    deviations = ParameterSet(found.parameters.names, [std[k] for k in found.parameters.names])
    return dataclasses.replace(well, std=deviations, covariance=np.diag(np.asarray(deviations) ** 2))


# ------------------------------------------------------------------------------------------------ parameters


@pytest.mark.slow
def test_rows_have_what_was_and_what_is_with_its_interval() -> None:
    found = two_joints()
    rows = {row.name: row for row in parameter_rows(found)}
    assert list(rows) == list(found.parameters)
    viscous = rows["joint1.friction.viscous"]
    assert (viscous.before, viscous.value, viscous.unit) == (1e-4, 0.9, "N m s/rad")
    z = NormalDist().inv_cdf(0.975)
    assert viscous.high - viscous.low == pytest.approx(2.0 * z * viscous.std, rel=1e-12)
    base = found.before.base_parameters()
    inertia = rows["link2.Izz"]
    assert inertia.before == base.values[base.names.index("link2.Izz")]
    assert inertia.label != inertia.name
    assert inertia.unit == "kg m^2"
    assert math.isnan(rows["joint2.friction.stribeck_speed"].before)  # which has no neutral value
    assert rows["joint2.friction.static.positive"].before == 0.0
    assert not rows["joint2.motor.rotor_inertia"].is_known


def test_names_with_dots_are_split_where_the_owner_ends() -> None:
    arm = two_link()
    link = dataclasses.replace(arm.links[2], name="a.b")
    tree = (arm.tree[0], dataclasses.replace(arm.tree[1], name="c.friction", child="a.b"))
    dotted = arm.replace(links=(*arm.links[:2], link), tree=tree, hand="a.b")
    for owner, figure in (
        ("a.b", "mx"),
        ("c.friction", "friction.viscous"),
        ("payload", "mx"),
        ("log2.payload", "Ixx"),
        ("joint1", "bearing2.mu"),
        ("joint1", "transmission.loss"),
    ):
        assert split_name(f"{owner}.{figure}", dotted) == (owner, figure)


def test_digits_go_to_the_second_of_the_deviation() -> None:
    given = ((1.234567, 0.01, 4), (123.0, 1.0, 4), (0.5, 3.0, 2), (0.0, 1.0, 4), (1.0, 0.0, 4))
    assert all(significant(value, std) == digits for value, std, digits in given)


# ---------------------------------------------------------------------------------------------------- report


def test_the_report_names_joints_parameters_logs_and_doubts(tmp_path: Path) -> None:
    found = two_joints()
    text = found.report().text(100)
    for expected in (
        "two-link: 21 parameters from 1400 samples of 2 logs; 1 not determined by the data",
        "torques, on the motor's side of the gear",
        "monday.csv: q2: 12 samples repeat the one before.",
        "link1.m + link2.m: no motion of this arm shows it.",
        "8 % of what is left follows the load.",
        "What to measure next",
        "2.3 +- 0.1 ms",
        "QR of 2800 rows",
    ):
        assert expected in text
    row = next(line.split() for line in text.splitlines() if line.startswith("joint1 "))
    assert float(row[5]) == pytest.approx(found.rms[0], rel=1e-3)
    assert float(row[-2]) == pytest.approx(100.0 * found.agreement.explained[0], abs=0.006)
    assert str(found) == found.table() == found.report().text()
    assert "<table>" in found._repr_html_()
    assert repr(found) == "<Identification of 'two-link': 22 parameters, 2 logs>"
    found.save(tmp_path / "new.toml")
    assert load(tmp_path / "new.toml") == found.arm
    assert found.arm.deviations
    # without doubts nothing is said of them
    plain = dataclasses.replace(
        moving_enough(sure(found)),
        logs=found.logs[1:],
        findings=(),
        unidentifiable=(),
        tests=(),
        stages=(),
        torque_side="link",
    )
    said = plain.table()
    assert not any(
        x in said for x in ("Findings", "cannot tell", "residuals still", "measure next", "Stages")
    )
    assert "on the link's side of the gear" in said
    assert plain.measure_next == ()


def test_json_is_plain_and_has_the_whole_result() -> None:
    found = two_joints()
    again = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert again["format"] == "forearm-identification/1"
    assert [p["name"] for p in again["parameters"]] == list(found.parameters)
    unknown = next(p for p in again["parameters"] if p["name"] == "joint2.motor.rotor_inertia")
    assert unknown["std"] is None
    assert again["arm"]["deviations"]["link1.mass"] == pytest.approx(0.061)
    assert again["logs"][0]["cutoff"] == 12.5
    assert again["joints"][1]["rms"] == pytest.approx(found.rms[1])
    assert again["measure_next"] == list(found.measure_next)
    assert again["stages"][0]["std"]["joint1.offset"] > 0.0


# ---------------------------------------------------------------------------------------------------- advice


def test_how_far_joints_moved_is_told_against_their_limits() -> None:
    found = two_joints()
    moved = movements(found)
    known = found.logs[0].signals
    assert moved[0].reach == pytest.approx((known.q_high[0] - known.q_low[0]) / 5.5)
    assert moved[1].share == pytest.approx(np.abs(found.speed[:, 1]).max() / 3.5)
    free = found.before.with_joint("joint1", limits=(-math.inf, math.inf), max_speed=None)
    turning = movements(dataclasses.replace(found, before=free))[0]
    assert turning.reach == pytest.approx((known.q_high[0] - known.q_low[0]) / (2.0 * math.pi))
    assert math.isnan(turning.share)


def moving_enough(found: Identification) -> Identification:
    """The same, as if the joints' limits were what they reached."""
    known = found.logs[0].signals
    joints: list[Joint] = [
        dataclasses.replace(j, limits=Limits(low, high), max_speed=fastest)
        for j, low, high, fastest in zip(
            found.before.tree, known.q_low, known.q_high, known.fastest, strict=True
        )
    ]
    return dataclasses.replace(found, before=found.before.replace(tree=tuple(joints)))


def slowly(found: Identification) -> Identification:
    """The same, far from the fastest that joint1 could move."""
    return dataclasses.replace(found, before=found.before.with_joint("joint1", max_speed=20.0))


def fast(found: Identification) -> Identification:
    """The same, moving enough, but never slowly."""
    return dataclasses.replace(moving_enough(found), speed=np.where(found.speed < 0.0, -3.0, 3.0))


def loud(found: Identification) -> Identification:
    """The same with efforts beside which friction hardly shows."""
    return dataclasses.replace(found, measured=1000.0 * found.measured)


ADVICE: dict[str, tuple[Callable[[Identification], Identification], dict[str, float], str]] = {
    "motion of the joint that shows it": (
        sure,
        {"link2.mx": 0.4, "link2.my": 0.4},
        r"^link2: 1 of 7 parameters is poorly determined, worst mx \(\+-31 % of its size\)\..*"
        r"joint2 moved over \d+ % of its range; joint1 moved over \d+ %.*: move them further",
    ),
    # of joint2's friction at the motor, 0.018 N m behind a gear of 50 beside 2 N m
    "friction that shows": (sure, {"joint2.friction.static.positive": 0.9}, "static.positive"),
    "friction that hardly shows in efforts": (loud, {"joint2.friction.static.positive": 0.9}, ""),
    # link2.my is 0.033 beside mx of 0.69: 100 % of itself is 5 % of the link's
    "a moment near zero is held against the others of its link": (sure, {"link2.my": 1.0}, ""),
    "viscous friction is held against dry friction at the speeds": (
        sure,
        {"joint1.friction.viscous": 0.15},
        "",
    ),
    "much viscous friction": (
        sure,
        {"joint1.friction.viscous": 0.9},
        "^joint1: 1 of 5 parameters is poorly determined, worst friction.viscous",
    ),
    "not known at all": (
        sure,
        {"joint2.motor.rotor_inertia": math.inf},
        r"^joint2: 1 of 7 parameters is poorly determined, worst motor.rotor_inertia \(not determined",
    ),
    "joints moved enough: more data": (
        moving_enough,
        {"link2.mx": 0.4},
        "About 10 times as much of such data would bring it to 10 %.",
    ),
    "joints moved enough: harder motion": (
        moving_enough,
        {"link2.mx": 4.0},
        "accelerate joint2, joint1 harder",
    ),
    "slow motion for Stribeck's speed": (
        fast,
        {"joint2.friction.stribeck_speed": 0.5},
        "joint2 moved slower than twice the Stribeck speed for 0.0 % of the time: let it creep",
    ),
    "speed and not range for friction": (
        slowly,
        {"joint1.friction.coulomb.positive": 1.0},
        r"joint1 moved at no more than \d+ % of its speed: move it faster\.$",
    ),
}


@pytest.mark.parametrize(("change", "relative", "said"), ADVICE.values(), ids=ADVICE.keys())
def test_what_is_poor_asks_for_what_would_show_it(
    change: Callable[[Identification], Identification], relative: dict[str, float], said: str
) -> None:
    advice = measure_next(poor(change(two_joints()), **relative))
    if not said:
        assert advice == []
        return
    assert re.search(said, advice[0])
    assert advice[-1].endswith("forearm excite two-link --after monday.csv --after tuesday.csv")


def test_what_no_data_can_tell_is_not_asked_for_again() -> None:
    name = "joint2.motor.rotor_inertia"
    told = f"{name}: these data determine it only in combination with link2.Izz."
    found = poor(two_joints(), **{name: math.inf})
    assert measure_next(dataclasses.replace(found, unidentifiable=(told,))) == []


def test_two_that_hang_together_are_named() -> None:
    found = poor(two_joints(), **{"link1.mx": 0.5})
    covariance = np.array(found.covariance)
    a, b = found.parameters.names.index("joint1.offset"), found.parameters.names.index("link1.mx")
    covariance[a, b] = covariance[b, a] = -0.99 * math.sqrt(covariance[a, a] * covariance[b, b])
    said = measure_next(dataclasses.replace(found, covariance=covariance))
    assert "link1.mx and joint1.offset are hardly separable (correlation -0.990)" in said[1]
    well = dataclasses.replace(sure(two_joints()), covariance=covariance)  # both of them known well
    assert measure_next(well) == []


# --------------------------------------------------------------------------------------- spectra and friction


def spectrum_of(x: Array, period: float, *ends: int) -> Spectrum:
    made = welch(x, period * np.arange(float(len(x))), np.array([0, *ends, len(x)]))
    assert made is not None
    return made


def test_power_sums_to_the_variance() -> None:
    """Of coloured noise, and of a tone, which stands at its frequency."""
    noise = np.convolve(np.random.default_rng(8).standard_normal(4200), np.ones(3) / 3.0)[100:4196, None]
    tone = 2.0 * np.sin(2.0 * np.pi * 12.5 * 0.005 * np.arange(2048))[:, None]
    for x, period, off in ((noise, PERIOD, 0.05), (tone, 0.005, 0.01)):
        spectrum = spectrum_of(x, period)
        step = spectrum.f[1] - spectrum.f[0]
        assert float(spectrum.power.sum()) * step == pytest.approx(float(x.var()), rel=off)
    assert spectrum.f[int(np.argmax(spectrum.power))] == pytest.approx(12.5, abs=0.5)
    assert welch(np.zeros((40, 1)), np.arange(40.0), np.arange(0, 41, 10)) is None  # shreds


def test_white_noise_lies_at_its_level_and_stays_in_its_band() -> None:
    spectrum = spectrum_of(3.0 * np.random.default_rng(9).standard_normal((20_000, 4)), 0.002, 5_000)
    assert spectrum.level == pytest.approx(np.full(4, 2.0 * 9.0 * 0.002), rel=0.05)
    assert spectrum.power.mean(axis=0) == pytest.approx(spectrum.level, rel=0.05)
    above = np.mean(spectrum.power > spectrum.bound(0.95))
    assert 0.005 < above < 0.09  # overlap makes lines surer than counted


@pytest.mark.parametrize("side", ["motor", "link"])
def test_the_law_is_the_friction_of_the_dynamics(side: str) -> None:
    arm = two_link()
    speed = np.array([[0.3, -0.7], [-1.1, 0.02], [0.5, 2.0]])
    q, none = np.zeros_like(speed), np.zeros_like(speed)
    rubbed = inverse(arm, q, speed, none) - inverse(arm.rigid(), q, speed, none)
    laws = np.stack([law_of(joint, v, side) for joint, v in zip(arm.joints, speed.T, strict=True)], axis=1)
    if side == "link":
        rubbed[:, 1] = 0.0  # joint2's is on the motor's side
    assert laws == pytest.approx(rubbed, rel=1e-12)


def test_the_data_lie_about_the_law_that_made_them() -> None:
    found = two_joints()
    curve = friction_curve(found, 0)
    assert curve is not None
    law = law_of(two_link().joints[0], curve.speed, "motor")
    assert np.median(np.abs(curve.middle - law)) < 0.3 * found.noise[0]
    assert np.all((curve.low <= curve.middle) & (curve.middle <= curve.high))
    assert np.nanmax(np.abs(curve.before)) < np.nanmax(np.abs(curve.law))
    # none of a joint that stands
    assert friction_curve(dataclasses.replace(found, speed=np.zeros_like(found.speed)), 0) is None


def test_thinned_curves_keep_extremes_ends_and_gaps() -> None:
    rng = np.random.default_rng(4)
    x, y = np.arange(5000.0), rng.standard_normal(5000)
    y[1234], y[100:130] = 50.0, np.nan
    ends = np.array([0, 2000, 5000])
    tx, ty = thinned(x, y, ends, 100)
    assert len(tx) < 450
    assert np.nanmax(ty) == 50.0
    assert np.nanmin(ty) == np.nanmin(y)
    assert (tx[0], tx[-1]) == (0.0, 4999.0)
    assert np.isnan(tx).sum() == 1
    kept = ~np.isnan(tx)
    assert np.all(np.diff(tx[kept]) > 0.0)
    whole = thinned(x, y, ends, 5000)
    assert np.array_equal(whole[1][~np.isnan(whole[1])], y[~np.isnan(y)])


def test_logs_stand_one_after_the_other_and_gaps_part_them() -> None:
    t = np.array([5.0, 5.1, 5.2, 9.0, 9.1, 0.0, 0.1])
    log = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    time = running_time(t, log)
    assert time[0] == 0.0
    assert np.all(np.diff(time) > 0.0)
    assert breaks(time, log).tolist() == [0, 3, 5, 7]


# ------------------------------------------------------------------------------------------------------ page


class Balanced(HTMLParser):
    """Finds elements that are not closed, and what a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.fetched += [str(given[k]) for k in ("src", "srcset") if k in given]
        self.ids += [str(given["id"])] if "id" in given else []
        self.links += [str(given["href"])] if "href" in given else []
        if tag not in ("meta", "wbr", "br", "path", "circle", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif tag not in ("path", "circle", "line"):
            raise AssertionError(f"</{tag}> closes {self.open[-1:]}")


@pytest.mark.slow
def test_the_page_is_whole_small_and_fetches_nothing(tmp_path: Path) -> None:
    found = two_joints()
    found.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(text) < 2_000_000
    seen = Balanced()
    seen.feed(text)
    assert seen.open == []
    assert seen.fetched == []
    assert {link.removeprefix("#") for link in seen.links} <= set(seen.ids)
    assert "<script" not in text
    assert "nan" not in re.sub(r"[a-z]nan|nan[a-z]", "", text.lower())
    assert text.count('class="interval"') == len(found.parameters)
    n = found.arm.n
    assert text.count("<figure>") == 4 * n


def test_the_page_shows_names_as_text() -> None:
    found = two_joints()
    named = dataclasses.replace(found, findings=("<b>loud</b> & clear",), unidentifiable=())
    text = page(named)
    assert "&lt;b&gt;loud&lt;/b&gt; &amp; clear" in text
    assert "Not determined by the data" not in text


def test_a_page_of_one_short_log_without_motion_can_be_written(tmp_path: Path) -> None:
    found, none = two_joints(), np.zeros((6, 2))
    still: dict[str, Any] = dict.fromkeys(("speed", "measured", "predicted", "predicted_before"), none)
    cut: dict[str, Any] = {"t": found.t[:6], "log_of": found.log_of[:6], "logs": found.logs[:1]}
    text = page(dataclasses.replace(found, stages=(), tests=(), **still, **cut))
    assert not any(title in text for title in ("Residual spectra", "Friction</h2>", "Cross-validation"))
    with pytest.raises(InputError, match=r"page.pdf: a page for a browser ends in .html or .htm"):
        found.to_html(tmp_path / "page.pdf")
