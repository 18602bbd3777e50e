"""A bandwidth is in rad/s wherever it is given, and gives the same gains: kp = w^2 and kd = 2 w, times the
inertia of a joint where a law commands torques.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm import control
from forearm.cli.main import main
from forearm.control.controllers.gravity_compensation import GravityCompensation
from forearm.control.rollout_laws import law_gains

Capture = pytest.CaptureFixture[str]
W = 5.0  # rad/s
SIX_DIGITS = 1e-5  # of the gains in a header
ARM = "ascher2"
MOTORS = "puma560"  # its rotors keep joints from sharing inertia, so that no gain has to be reduced


class Caught(Exception):
    """Ends a command once its controller is known."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller


def stop(_arm: Any, controller: Any, *_: Any, **__: Any) -> None:
    raise Caught(controller)


def header_gains(header: str) -> dict[str, list[float]]:
    """The gains that the header of a generated controller states."""
    text = " ".join(header.replace(" * ", " ").split())
    number = r"[-+.\de]+"
    rows = re.findall(rf"\b(k[pdi]) = ({number}(?:, {number})*)", text)
    return {name: [float(x) for x in row.split(",")] for name, row in rows}


def generated(capsys: Capture, law: str, *options: str, arm: str = ARM) -> str:
    assert main(["generate", arm, "--function", law, "--name", "law", *options]) == 0
    return capsys.readouterr().out


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "motion.json"
    control.default_motion(fa.load(MOTORS), 0.1).save(path)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "name", "law"),
    [
        (("control", "run"), "computed torque", "computed_torque"),
        (("simulate",), "PD + gravity", "pd_gravity"),
    ],
)
def test_one_number_gives_one_kp(
    words: tuple[str, ...], name: str, law: str, plan: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = fa.load(MOTORS)
    inertia = np.ones(arm.n) if law == "computed_torque" else control.joint_inertias(arm)
    monkeypatch.setattr("forearm.cli.controlled.run", stop)
    motion = (plan,) if words[0] == "control" else ("--plan", plan)
    with pytest.raises(Caught) as caught:
        main([*words, MOTORS, *motion, "--controller", name, "--bandwidth", str(W)])
    gains = caught.value.controller.gains
    np.testing.assert_allclose([gains.kp, gains.kd], [W * W * inertia, 2.0 * W * inertia], rtol=1e-12)
    in_python = law_gains(arm, law, W)
    assert (gains.kp.tolist(), gains.kd.tolist()) == (in_python.kp.tolist(), in_python.kd.tolist())
    stated = header_gains(generated(capsys, law, "--bandwidth", str(W), arm=MOTORS))
    np.testing.assert_allclose([stated["kp"], stated["kd"]], [gains.kp, gains.kd], rtol=SIX_DIGITS)


def test_a_comparison_takes_rad_per_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.cli.control_compare.compare", lambda *_, **options: stop(None, options))
    with pytest.raises(Caught) as found:
        main(["control", "compare", ARM, "--duration", "0.1", "--bandwidth", str(W)])
    assert found.value.controller["bandwidth"] == W


def test_headers_state_the_bandwidth_and_the_gains(capsys: Capture) -> None:
    slow, fast = (generated(capsys, "computed_torque", "--bandwidth", w) for w in ("5", "12.5"))
    assert "bandwidth 5 rad/s (0.796 Hz):\n *   kp = 25, 25 1/s^2\n *   kd = 10, 10 1/s" in slow
    assert "bandwidth 12.5 rad/s (1.99 Hz):\n *   kp = 156.25, 156.25 1/s^2\n *   kd = 25, 25 1/s" in fast
    usual = generated(capsys, "computed_torque")
    assert "bandwidth 31.4159 rad/s (5 Hz)" in usual


def test_headers_of_given_gains_state_these_alone() -> None:
    arm = fa.load(ARM)
    gains = control.Gains(np.array([7.0, 8.0]), np.array([1.5, 2.5]), np.array([0.25, 0.0]))
    header = control.controller_code(arm, "pid_gravity", gains=gains).header
    assert "bandwidth" not in header
    assert header_gains(header) == {"kp": [7.0, 8.0], "kd": [1.5, 2.5], "ki": [0.25, 0.0]}
    own = control.controller_code(arm, GravityCompensation(arm, damping=3.0)).header
    assert "Gains:\n *   kd = 3, 3\n" in own
    ranges = dict.fromkeys(("q", "qd", "q_wanted", "qd_wanted", "qdd_wanted"), 2.0)
    fixed = control.fixed_point(arm, "pd_gravity", ranges, bandwidth=W)
    assert header_gains(fixed.header)["kp"] == pytest.approx(
        W * W * control.joint_inertias(arm), rel=SIX_DIGITS
    )
