"""A run under control is a simulation, with books, files, pictures and pages, and with what was wanted."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from arms import random_arm
from control.spying import wave
from control.test_code import with_motors

import forearm as fa
from forearm import control
from forearm.simulation import Simulation, load_simulation

ROUNDING = 1e-12
BALANCE = 1e-5  # of the energy that went through: Hermite's cubic between samples 1 ms apart


def made_by(arm: fa.Arm, **how: object) -> control.Run:
    return control.run(arm, control.ComputedTorque(arm), wave(arm), **how)


def test_it_is_a_simulation_whose_arrays_have_one_length() -> None:
    arm = fa.load("chain3")
    run = made_by(arm, sensors=control.Sensors(control.Encoder(bits=12), differences=True))
    assert isinstance(run, Simulation)
    arrays = [run.q, run.qd, run.qdd, run.tau, run.asked, run.saturated, *run.wanted, *run.measured]
    assert {array.shape for array in arrays} == {(len(run.t), 3)}
    assert not any(array.flags.writeable for array in arrays)
    assert run.plant is run.arm
    assert repr(run).startswith(
        "<Run under 'computed torque': Simulation of 'chain3' by rk4: 0 to 0.5 s in 501"
    )
    assert np.array_equal(run.tau[-1], run.tau[-2]), "the last sample has no command: the one before is held"
    step = 2.0 * np.pi / 2**12
    assert np.array_equal(run.measured[0], np.round(run.q / step) * step), "the end is measured as well"
    assert run.ok
    assert run.checked() is run


def test_supplied_is_what_energy_grew_by() -> None:
    run = made_by(random_arm(3, drives=False))
    stored = run.energy["kinetic"] + run.energy["potential"]
    off = run.energy["supplied"] - (stored - stored[0]) - run.energy["lost"]
    assert np.abs(off).max() < BALANCE * np.ptp(stored)


def test_where_friction_takes_its_share() -> None:
    run = made_by(fa.load("puma560"))
    stored = run.energy["kinetic"] + run.energy["potential"]
    off = run.energy["supplied"] - (stored - stored[0]) - run.energy["lost"]
    assert run.energy["lost"][-1] > 1.0
    assert np.abs(off).max() < 1e-3 * run.energy["lost"][-1]


@pytest.mark.slow
def test_files_and_pickles_hold_all(tmp_path: Path) -> None:
    arm = with_motors(fa.load("chain3"))
    run = made_by(arm, period=5e-3, actuators=control.Actuators(voltage=True))
    run.save(tmp_path / "run.npz")
    loaded = load_simulation(tmp_path / "run.npz")
    assert isinstance(loaded, control.Run)
    for other in (loaded, pickle.loads(pickle.dumps(run))):
        for name in ("t", "q", "qd", "qdd", "tau", "voltage", "asked", "saturated", "error"):
            assert np.array_equal(getattr(run, name), getattr(other, name))
        for name in ("wanted", "measured"):
            assert all(map(np.array_equal, getattr(run, name), getattr(other, name)))
        for name in ("controller", "period", "operations", "rms", "hand_largest", "message", "events"):
            assert getattr(run, name) == getattr(other, name)
    columns = run.columns()
    assert np.array_equal(columns["wanted_q2"], run.wanted[0][:, 1])
    assert np.array_equal(columns["asked3"], run.asked[:, 2])
    run.save(tmp_path / "run.csv")
    run.to_html(tmp_path / "run.html")
    assert "error, rad" in (tmp_path / "run.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_picture_has_the_error() -> None:
    pytest.importorskip("matplotlib")
    run = made_by(fa.load("chain3"), period=5e-3)
    assert "error\nrad" in [axis.get_ylabel() for axis in run.plot().axes]


def test_simulate_goes_on_from_its_end() -> None:
    arm = fa.load("chain3")
    run = made_by(arm)
    after = fa.simulate(arm, run.q[0], run.qd[0], 0.01, torque=run.tau[-1], method="rk4", continued=run)
    assert after.t[0] == run.t[-1]
    assert np.array_equal(after.q[0], run.q[-1])


def test_a_run_that_diverged_ends_where_it_was_last_seen(tmp_path: Path) -> None:
    arm = fa.load("chain3")
    run = control.run(arm, control.PD(arm, bandwidth=4000.0), wave(arm), period=2e-3)
    assert not run.ok
    assert run.status.name == "DIVERGED"
    assert [event.kind for event in run.events] == ["diverged"]
    assert np.isfinite(run.q).all()
    assert len(run.t) == len(run.asked) == len(run.wanted[0]) < 251
    assert np.isnan([run.rms, run.largest, run.hand_rms, run.hand_largest]).all()
    run.save(tmp_path / "run.npz")
    with pytest.raises(fa.ForearmError, match="reduce the bandwidth"):
        load_simulation(tmp_path / "run.npz").checked()
