"""The engine of the studio's page, run by node, against forearm in Python: every number that the page shows."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.cli.main import main
from forearm.kinematics.limits import limits_of
from forearm.viewer import headless
from forearm.viewer.arm_code import arm_code
from forearm.viewer.headless import in_node
from forearm.viewer.traced_functions import with_point
from tools import starts

pytestmark = pytest.mark.skipif(not starts("node"), reason="node is not installed")
# The same operations; sines of another library, and what some hundred steps make of their last digits.
CLOSE, AFTER_STEPS = 1e-12, 1e-9
ARMS = {
    "panda": lambda: fa.load("panda"),
    "friction and motors": lambda: fa.load("puma560"),
    "sliding joint": lambda: fa.load("stanford"),
    "tree, followers, a base that stands askew": lambda: _askew(random_arm(5, 2, tree=True, mimic=True)),
    "gears and Stribeck": lambda: fa.load(Path(__file__).parents[1] / "data" / "geared.toml"),
}


def _askew(arm: fa.Arm) -> fa.Arm:
    T = np.eye(4)
    T[:3, :3] = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    T[:3, 3] = 0.2, -0.1, 0.4
    return arm.replace(base=T)


code_of = cache(arm_code)


@pytest.fixture(autouse=True)
def _code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of an arm is written once for all tests: it is most of their time."""
    monkeypatch.setattr(headless, "arm_code", code_of)


def state(arm: fa.Arm, seed: int = 3) -> tuple[np.ndarray[Any, Any], ...]:
    """A posture within limits, velocities and accelerations."""
    rng = np.random.default_rng(seed)
    low, high = (np.clip(bound, -1.5, 1.5) for bound in limits_of(arm))
    return rng.uniform(0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high), *rng.uniform(-1, 1, (2, arm.n))


def close(found: Any, expected: Any, tolerance: float = CLOSE) -> None:
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_numbers_of_a_state_and_a_fall_are_those_of_python(name: str) -> None:
    arm = ARMS[name]()
    q, qd, qdd = state(arm)
    start, friction = np.append(0.0, qd[1:]), 0.0 if name in ("panda", "friction and motors") else 1.0
    script = f"""
    const q = Float64Array.from({q.tolist()}), qd = Float64Array.from({qd.tolist()}), qdd = Float64Array.from({qdd.tolist()});
    engine.configure({{ gravity: [1, 2, -9], payload: 1.5, friction: 0.7 }});
    const found = {{ tau: Array.from(engine.torque(q, qd, qdd)), friction: Array.from(engine.friction(q, qd)), energy: engine.energy(q, qd) }};
    const poses = Array.from(engine.poses(q)), volts = engine.voltage(Float64Array.from(found.tau), qd), jacobian = Array.from(engine.jacobian(q));
    const reached = engine.reach(q.map((x) => x + 0.02), poses.slice(-16));
    const branches = engine.branches(poses.slice(-16)).map((b) => b.q);
    engine.configure({{ gravity: {arm.gravity.tolist()}, payload: 0.5, friction: {friction} }});
    const state = engine.state({q.tolist()}, {start.tolist()}), rows = [], none = new Float64Array(arm.n);
    for (let k = 0; k < 30; k++) {{ engine.step(state, none, 1e-3, 10); rows.push([...state.q, ...state.qd]); }}
    return {{ ...found, poses, volts, jacobian, reached, branches, rows }};
    """
    found = in_node(arm, script)
    changed = arm.with_payload(1.5).scale_friction(0.7).replace(gravity=(1.0, 2.0, -9.0))
    close(found["tau"], fa.dynamics.inverse(changed, q, qd, qdd), 1e-10 if "gears" in name else CLOSE)
    bare = (replace(j, friction=None, bearings=(), transmission=None) for j in changed.tree)
    smooth = changed.replace(tree=tuple(bare))
    rubbing, free = (fa.dynamics.inverse(a, q, qd, np.zeros(arm.n)) for a in (changed, smooth))
    close(found["friction"], rubbing - free, 1e-10)
    kinetic, potential = fa.dynamics.kinetic_energy(changed, q, qd), fa.dynamics.potential_energy(changed, q)
    close([found["energy"]["kinetic"], found["energy"]["potential"]], [kinetic, potential])
    hand = arm.base @ fa.kinematics.forward(arm, q)
    close(np.reshape(found["poses"], (-1, 4, 4))[-1], hand)
    links = fa.kinematics.poses.body_poses(arm, q)
    close(np.reshape(found["poses"], (-1, 4, 4))[:-1], [arm.base @ T for T in links])
    R = np.kron(np.eye(2), arm.base[:3, :3])
    close(np.reshape(found["jacobian"], (6, arm.n)), R @ fa.kinematics.jacobian(arm, q))
    assert found["reached"]["distance"] < 1e-8 or arm.n < 6
    for other in found["branches"]:
        close(arm.base @ fa.kinematics.forward(arm, other), hand, 1e-9)
    if found["volts"] is not None:
        close(found["volts"], fa.drives.voltage_of(arm, found["tau"], qd))
    changed = arm.with_payload(0.5).scale_friction(friction)
    truth = fa.simulate(changed, q, start, 0.3, method="rk4", step=1e-3)
    close(found["rows"], np.hstack([truth.q, truth.qd])[10::10], AFTER_STEPS)


SETTINGS: list[dict[str, Any]] = [
    {"name": "computed_torque", "bandwidth": 20, "period": 0.002, "delay": 0, "bits": None, "saturate": True},
    {"name": "feedforward_pd", "bandwidth": 15, "period": 0.001, "delay": 1, "bits": 16, "saturate": False},
    {"name": "pd_gravity", "bandwidth": 25, "period": 0.002, "delay": 0, "bits": 14, "saturate": True},
    {"name": "pid_gravity", "bandwidth": 12, "period": 0.002, "delay": 1, "bits": None, "saturate": True},
]
TRACKED = """
const shares = { velocity: 0.8, acceleration: 0.6 }, c = SETTINGS, q0 = Q0, q1 = Q1;
const velocity = arm.joints.map((j) => (j.velocity === null ? Infinity : j.velocity * shares.velocity)), acceleration = arm.joints.map((j) => j.acceleration * shares.acceleration);
const plan = engine.plan(Float64Array.from(q0), Float64Array.from(q1), { velocity, acceleration });
engine.configure({ payload: 1.25, gravity: [0.5, 0, -9.5], friction: 0.8 });
const about = { arm, kind: "track", q0, qd0: q0.map(() => 0), q1, shares, controller: c, period: c.period, payload: 1.25, gravity: [0.5, 0, -9.5], friction: 0.8, end: plan.duration };
const controller = engine.controller(c.name, c), state = engine.state(q0, q0.map(() => 0)), rows = [], copy = (x) => ({ q: x.q.slice(), qd: x.qd.slice(), qdd: x.qdd.slice() });
for (let k = 0; k * c.period <= plan.duration - c.period; k++) {
  rows.push(Array.from(state.q));
  const wanted = copy(plan.at(k * c.period)), tau = controller.command(k, k * c.period, state.q, state.qd, wanted, copy(plan.at((k + 1) * c.period)));
  engine.step(state, tau, c.period / engine.substeps(c.period), engine.substeps(c.period));
}
return { rows, duration: plan.duration, python: pythonLine(about), command: commandLine(about), planned: pythonLine({ ...about, kind: "plan" }), fall: commandLine({ ...about, kind: "fall", end: 0.1 }), fallen: pythonLine({ ...about, kind: "fall", end: 0.1 }) };
"""


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda c: c["name"])
@pytest.mark.sweep(first=1)
def test_lines_and_commands_give_the_numbers_of_the_page(
    settings: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arm = fa.load("puma560")
    q0, q1 = state(arm)[0], state(arm, 5)[0]
    script = TRACKED.replace("SETTINGS", json.dumps(settings))
    script = script.replace("Q0", json.dumps(q0.tolist())).replace("Q1", json.dumps(q1.tolist()))
    found = in_node(arm, script, 'fa.load("puma560")', "puma560")
    rows = np.array(found["rows"])
    monkeypatch.chdir(tmp_path)
    said = _executed(found["python"])
    assert said["motion"].duration == pytest.approx(found["duration"], rel=1e-12)
    close(said["run"].q[: len(rows)], rows, AFTER_STEPS)
    for line in found["command"].splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "forearm"
        if words[1] == "control":
            words += ["--json", "--to", "run.npz"]
        assert main(words[1:]) == 0, capsys.readouterr().err
    close(np.load("run.npz")["q"][: len(rows)], rows, AFTER_STEPS)
    planned = _executed(found["planned"])
    assert planned["tau"].shape == (101, 6)
    fallen = _executed(found["fallen"])["run"]
    assert main([*shlex.split(found["fall"])[1:], "--to", "fall.npz"]) == 0
    close(np.load("fall.npz")["q"], fallen.q)


def _executed(text: str) -> dict[str, Any]:
    """What lines of Python that the page shows make, as a user would run them."""
    names: dict[str, Any] = {}
    exec(compile(text, "lines", "exec"), names)
    return names


def test_a_motion_that_cannot_be_planned_says_why() -> None:
    arm = fa.load("puma560")
    script = """
    const q0 = new Float64Array(6), q1 = Float64Array.of(9, 0, 0, 0, 0, 0);
    return engine.plan(q0, q1, { velocity: q0.map(() => 1), acceleration: q0.map(() => 1) });
    """
    assert in_node(arm, script)["why"] == ("No motion: the start or the end is outside the range of a joint.")


@pytest.mark.slow
def test_energy_of_a_fall_of_a_minute_is_kept() -> None:
    script = """
    const state = engine.state([0.3, -0.5, 0.2, -2, 0.1, 1.6, 0.5], new Float64Array(7)), none = new Float64Array(7);
    const total = () => { const e = engine.energy(state.q, state.qd); return e.kinetic + e.potential; };
    const first = total();
    let worst = 0, most = 0;
    for (let k = 0; k < 600; k++) {
      engine.step(state, none, arm.step, Math.round(0.1 / arm.step));
      worst = Math.max(worst, Math.abs(total() - first));
      most = Math.max(most, engine.energy(state.q, state.qd).kinetic);
    }
    return { worst, most };
    """
    found = in_node(fa.load("panda"), script)
    assert found["worst"] < 1e-6 * found["most"]


def test_a_point_in_the_hand_is_a_payload_over_any_scalar() -> None:
    arm = random_arm(2, 3)
    link, T = arm.link(arm.hand.link), arm.hand.pose
    for mass in (0.0, 0.3, 7.0):
        loaded = arm.with_payload(mass).link(arm.hand.link)
        pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        expected = [loaded.mass, *loaded.com, *(loaded.inertia[i, j] for i, j in pairs)]
        close(with_point(link.mass, link.com, link.inertia, mass, T[:3, 3]), expected)
    assert not any(np.isnan(with_point(0.0, link.com, link.inertia, 0.0, T[:3, 3])))


@pytest.mark.slow
def test_code_is_the_same_text_every_time() -> None:
    text = arm_code(fa.load("puma560-dhanaraj3"))
    assert text == arm_code(fa.load("puma560-dhanaraj3"))
    assert text.isascii()
    assert "</" not in text
    assert "//" not in text
