"""Every command and variable in scripted sessions, against the functions of the package that are meant."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from interpreter.talking import Talk, fails, talk

import forearm as fa
from forearm.drives import DAC, torque_of, voltage_of
from forearm.interpreter.commands import COMMANDS
from forearm.interpreter.variables import GRAVITY, NAMES, VECTORS
from forearm.logs.motion import MotionLog
from forearm.simulation import Sampling, Schedule, load_simulation, simulate

DOC = Path(__file__).parent.parent.parent / "docs" / "sim.md"
HANGING = fa.load("cmu-dd").replace(gravity=(0.0, 0.0, 9.80621))
THETA = [0.1, -0.4, 0.7, 0.3, -0.9, 0.5]
OMEGA = [0.2, 0.3, -0.5, 0.7, 1.1, -1.3]
ALPHA = [1.7, -1.9, 2.3, 2.9, -3.1, 3.7]
VOLTAGE = [1.3, 8.1, -1.1, 4.7, 0.6, -0.9]
# Shown are 8 digits; computed is the same by the same function.
SHOWN = 1e-7
# Compiled code and the reference round differently.
CLOSE = 1e-9
SCHEDULE = "t,v1,v2,v3,v4,v5,v6\n0,1,8,1,7,1,1\n0.01,2,7,0.5,6,-0.5,0.25\n0.03,0,0,0,0,0,0\n"


def line(name: str, values: list[float]) -> str:
    return f"{name} = {' '.join(map(repr, values))}"


START = (line("theta", THETA), line("omega", OMEGA), line("alpha", ALPHA))


def shown(ended: Talk, name: str) -> np.ndarray:
    """The numbers last shown of a variable."""
    found = re.findall(rf"^{name} = (.*?)  #", ended.out, flags=re.M)
    return np.array([float(word) for word in found[-1].split()])


def test_the_built_in_arm_starts_at_rest_hanging_and_every_name_shows_a_variable() -> None:
    ended = talk(*NAMES)
    assert (ended.code, ended.errors) == (0, [])
    assert shown(ended, "gravity") == pytest.approx([-9.80621])
    assert shown(ended, "DACTimePeriod") == pytest.approx([0.001])
    for name in VECTORS:
        assert np.array_equal(shown(ended, name), np.zeros(6))
    assert "theta = 0 0 0 0 0 0  # rad\n" in ended.out


def test_gravity_keeps_swartz_s_sign() -> None:
    arm = fa.load("cmu-dd")
    assert arm.gravity[2] == GRAVITY == -9.80621
    for lines, swung in (((), HANGING), (("gravity = 9.80621",), arm)):
        torque = talk(*lines, *START, "inverse_arm").session.variables.torque
        assert torque == pytest.approx(fa.dynamics.inverse(swung, THETA, OMEGA, ALPHA), rel=CLOSE)


def test_inverse_arm_and_forward_arm_are_inverses_and_show_their_results() -> None:
    ended = talk(*START, "inverse_arm", "alpha = 0 0 0 0 0 0", "forward_arm")
    v = ended.session.variables
    assert v.alpha == pytest.approx(ALPHA, rel=CLOSE)
    assert v.voltage == pytest.approx(voltage_of(HANGING, v.torque, OMEGA), rel=CLOSE)
    for name, values in (
        ("torque", v.torque),
        ("voltage", v.voltage),
        ("DACOut", v.voltage),
        ("alpha", v.alpha),
    ):
        assert shown(ended, name) == pytest.approx(values, rel=SHOWN)


@pytest.mark.parametrize("order", [1, -1])
def test_torque_and_voltage_are_tied_at_the_present_omega_and_what_was_set_last_stays(order: int) -> None:
    torque = [3.0, 40.0, 1.0, 5.0, 0.5, 0.2]
    set_torque = talk(*[line("omega", OMEGA), line("torque", torque)][::order]).session.variables
    assert np.array_equal(set_torque.torque, torque)
    assert np.array_equal(set_torque.get("voltage"), voltage_of(HANGING, torque, OMEGA))
    set_voltage = talk(*[line("omega", OMEGA), line("voltage", VOLTAGE)][::order]).session.variables
    for name in ("voltage", "DACOut"):
        assert np.array_equal(set_voltage.get(name), VOLTAGE)
    assert np.array_equal(set_voltage.torque, torque_of(HANGING, VOLTAGE, OMEGA))


def test_dacout_is_voltage_over_gain_in_the_steps_and_bounds_of_the_converter() -> None:
    dac = DAC(bits=6, span=4.0, gain=2.5)
    ended = talk(
        line("voltage", VOLTAGE),
        "DACOut",
        line("dacout", [0.3, -0.2, 9.0, 0.1, 0.0, -5.0]),
        "voltage",
        dac=dac,
    )
    assert f"DACOut = {' '.join(f'{v:.8g}' for v in dac.out(VOLTAGE)[0])}  # V" in ended.out
    held = dac.out(dac.voltage([0.3, -0.2, 9.0, 0.1, 0.0, -5.0]))[0]
    assert shown(ended, "voltage") == pytest.approx(2.5 * held, rel=SHOWN, abs=1e-12)
    assert talk("voltage = 20 0 0 0 0 -11", dac=dac).out.endswith(
        "note: beyond the range of the converter: joint1, joint6\n"
    )


@pytest.mark.slow
def test_amplifiers_of_the_arm_file_stand_behind_the_converter(tmp_path: Path) -> None:
    path = tmp_path / "amplified.toml"
    amplified = {"motor": {"amplifier_gain": 4.0, "inductance": 0.001}}
    arm = fa.load("cmu-dd")
    arm = arm.with_drives({joint.name: amplified for joint in arm.joints})
    arm.save(path)
    ended = talk("voltage = 2 0 0 0 0 -6", "DACOut", "dacout = 1 0 0 0 0 0.5", "voltage", arm=arm)
    assert "DACOut = 0.5 0 0 0 0 -1.5  # V" in ended.out
    assert "voltage = 4 0 0 0 0 2  # V" in ended.out
    ended = talk(f"database_read {path}", "voltage = 2 0 0 0 0 -6", "simulate new no 5")
    assert "note: winding inductance is neglected; currents follow the voltages\n" in ended.out
    plain = talk("voltage = 2 0 0 0 0 -6", "simulate new no 5")
    assert np.array_equal(ended.session.variables.theta, plain.session.variables.theta)
    refused = talk(f"database_read {path}", dac=DAC(gain=2.0))
    assert "their own amplifier_gain" in refused.errors[0]


def test_voltage_and_torque_are_what_the_motors_get_behind_the_converter() -> None:
    dac = DAC(bits=4, span=10.0)
    ended = talk("voltage = 3 3 3 3 3 3", "voltage", "DACOut", dac=dac)
    assert shown(ended, "voltage").tolist() == shown(ended, "DACOut").tolist() == [2.5] * 6
    assert np.array_equal(ended.session.variables.torque, torque_of(HANGING, [2.5] * 6, [0.0] * 6))
    run = simulate(HANGING, [0.0] * 6, [0.0] * 6, 0.005, voltage=[3.0] * 6, sampling=Sampling(dac=dac))
    after = talk("voltage = 3 3 3 3 3 3", "simulate new no 5", dac=dac).session.variables
    assert run.voltage is not None
    assert np.array_equal(after.get("voltage"), run.voltage[-1])
    assert after.torque == pytest.approx(run.tau[-1], rel=CLOSE)


def test_a_schedule_leaves_the_voltage_that_the_converter_holds_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "volts.csv"
    rows = [f"{t}{f',{volt}' * 6}" for t, volt in (("0", 3), ("0.004", 1), ("0.007", 9))]
    path.write_text("\n".join(["t,v1,v2,v3,v4,v5,v6", *rows]))
    commands = "DACTimePeriod = 0.005", f"simulate new no {path}", "voltage", "torque"
    ended = talk(*commands, dac=DAC(bits=4, span=10.0))
    run = ended.session.simulation
    assert run is not None
    assert run.voltage is not None
    assert np.unique(run.voltage[:-1]) == pytest.approx([1.25, 2.5])
    assert shown(ended, "voltage").tolist() == [1.25] * 6, "9 V would be taken over at 0.01 s"
    assert shown(ended, "torque") == pytest.approx(run.tau[-1], rel=SHOWN)


def test_limits_of_the_motors_are_told() -> None:
    limited = talk("voltage = 100 0 0 0 0 40").out
    assert "at the voltage or current limit, with the resulting torque: joint1 (280), joint6 (6)" in limited
    assert "joint2 (300)" in talk("torque = 0 301 0 0 0 0").out
    assert "note" not in talk("torque = 0 299 0 0 0 0").out


@pytest.mark.parametrize("answers", [("new", "no", "no", "30"), ("ne", "n", "30  # ms")])
def test_simulate_asks_and_its_end_is_in_the_variables(answers: tuple[str, ...]) -> None:
    ended = talk(*START, line("voltage", VOLTAGE), "simulate", "# what is asked", *answers)
    run = simulate(HANGING, THETA, OMEGA, 0.03, voltage=VOLTAGE, method="rk3", step=1e-3)
    v = ended.session.variables
    assert ended.code == 0
    for name, values in (
        ("theta", run.q[-1]),
        ("omega", run.qd[-1]),
        ("alpha", run.qdd[-1]),
        ("torque", torque_of(HANGING, VOLTAGE, run.qd[-1])),
        ("voltage", VOLTAGE),
    ):
        assert np.array_equal(v.get(name), values)
    assert "0.03 s, 31 samples: the end was reached\nenergy, J: kinetic" in ended.out
    assert "?" not in ended.out


def test_continue_takes_a_new_voltage_after_a_start_at_zero() -> None:
    other = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    ended = talk(
        *START,
        line("voltage", VOLTAGE),
        "simulate new yes 20",
        line("voltage", other),
        "simulate continue 20",
    )
    run = ended.session.run_so_far("")
    first = simulate(HANGING, [0.0] * 6, [0.0] * 6, 0.02, voltage=VOLTAGE)
    then = simulate(HANGING, first.q[-1], first.qd[-1], 0.02, voltage=other)
    assert np.array_equal(run.q, np.vstack([first.q, then.q[1:]]))


def test_continue_gives_the_same_as_one_longer_run() -> None:
    start = *START, line("voltage", VOLTAGE)
    a, b = (
        talk(*start, *runs).session.run_so_far("")
        for runs in (("simulate new no 20", "simulate", "continue", "15", "sim c 5"), ("simulate new no 40",))
    )
    assert a.t == pytest.approx(b.t, rel=1e-14)
    for name in ("q", "qd", "qdd", "tau", "voltage"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    for name, column in b.energy.items():
        assert a.energy[name] == pytest.approx(column, rel=1e-12, abs=1e-12)
    assert a.lost["winding"] == pytest.approx(b.lost["winding"], rel=1e-12)


@pytest.mark.slow
def test_steps_that_are_too_long_are_told_once_with_what_helps() -> None:
    # stands
    arm = fa.load("chain3").with_joint("joint3", friction=fa.Friction(viscous=5e3, coulomb=(1e3, -1e3)))
    said = (
        r"too long for joint3.* at most \S+ s, or method 'radau', with forearm simulate: "
        r"those of sim are fixed\.$"
    )
    with pytest.warns(fa.StepWarning, match=said) as told:
        ended = talk("simulate new yes 3", "simulate continue 2", "simulate continue 2", arm=arm)
    assert (ended.code, len(told)) == (0, 1)


def test_simulate_from_a_schedule_file_goes_to_its_last_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("volts.csv").write_text(SCHEDULE, encoding="utf-8")
    ended = talk("DACTimePeriod = 0.002", "simulate", "new", "yes", "yes", "volts.csv")
    schedule, sampling = Schedule.read("volts.csv", HANGING), Sampling(dac=DAC(period=0.002))
    run = simulate(HANGING, [0.0] * 6, [0.0] * 6, 0.03, voltage=schedule, sampling=sampling)
    assert np.array_equal(ended.session.variables.theta, run.q[-1])
    assert ended.session.run_so_far("").t[-1] == pytest.approx(0.03)
    assert np.array_equal(ended.session.variables.get("voltage"), np.zeros(6))
    later = talk("voltage = 1 8 1 7 1 1", "simulate new yes 10", "simulate continue yes volts.csv")
    whole = talk("simulate", "new", "yes", "volts.csv")
    assert np.array_equal(later.session.run_so_far("").q, whole.session.run_so_far("").q)
    assert "the simulation is at 0.03 s, but the schedule ends with its last row at 0.03 s" in fails(
        "simulate new yes volts.csv", "simulate continue volts.csv"
    )


@pytest.mark.slow
def test_an_arm_without_motors_is_driven_by_torques(tmp_path: Path) -> None:
    arm = fa.load("ascher2")
    path = tmp_path / "torques.csv"
    path.write_text("t,tau1,tau2\n0,1.5,-0.5\n0.02,0,0\n")
    falling = arm.replace(gravity=(0.0, 0.0, 9.80621))
    run = simulate(falling, [0.3, -0.7], [0.0, 0.0], 0.02, torque=[1.5, -0.5])
    for driven in (("torque = 1.5 -0.5", "simulate new no 20"), (f"simulate new no {path}",)):
        ended = talk("theta = 0.3 -0.7", *driven, "inverse_arm", arm=arm)
        assert np.array_equal(ended.session.variables.theta, run.q[-1])
        assert "voltage" not in ended.out
    for command in ("voltage = 1 2", "DACOut"):
        assert "voltages need torque_constant and resistance" in fails(command, arm=arm)


PRINTED = {  # start, end and step: how many rows
    "0.01 0.03 0.005": 5,
    "0 0.04 0": 41,
    "0 0.04 0.0001": 41,
    "0.02 0.02 0": 1,
    "0 0.04 1": 1,
    "0 0.04 0.015": 3,
    "'' '' ''": 11,
}


def test_print_simulation_shows_the_samples_asked_for() -> None:
    asked = [word for words in PRINTED for word in ("print_simulation", *words.replace("'", "").split(" "))]
    ended = talk(line("voltage", VOLTAGE), "simulate new no 40", *asked, width=None)
    tables = re.split(r"^(?= *t +theta1)", ended.out, flags=re.M)[1:]
    assert [len(table.splitlines()) - 2 for table in tables] == list(PRINTED.values())
    header, _, *rows = tables[0].splitlines()
    assert header.split()[:7] == ["t", "theta1", "theta2", "theta3", "theta4", "theta5", "theta6"]
    assert header.split()[-1] == "voltage6"
    run = ended.session.run_so_far("")
    for row, k in zip(rows, (10, 15, 20, 25, 30), strict=True):
        numbers = [float(word) for word in row.split()]
        assert numbers == pytest.approx(
            np.r_[run.t[k], run.q[k], run.qd[k], run.qdd[k], run.tau[k], VOLTAGE], rel=1e-5
        )


def test_output_file_gets_results_too_and_listings_alone(tmp_path: Path) -> None:
    path, last = tmp_path / "out.txt", tmp_path / "with blank.txt"
    inside = "theta", "print_simulation 0 0.004 0.002", "close_output_file"
    opened = "simulate new no 4", "open_output_file", str(path)
    ended = talk(*opened, *inside, "omega", f"open '{last}'", "gravity")
    assert last.read_text(encoding="utf-8") == "gravity = -9.80621  # m/s^2\n"
    assert not ended.session.output.is_open
    written = path.read_text(encoding="utf-8")
    assert written.startswith(ended.session.variables.shown("theta"))
    assert "theta1  " in written
    assert len(written.splitlines()) == 1 + 2 + 3
    assert "omega = " not in written
    assert "theta1" not in ended.out
    assert f"3 samples to {path}" in ended.out
    assert ended.session.variables.shown("omega") in ended.out


@pytest.mark.long
def test_pictures_and_pages_have_names_unless_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    plots = "plot_simulation", "plot motion.svg"
    ended = talk("simulate new no 20", *plots, "write_graphic_file", "write motion.html", "write motion.npz")
    assert ended.errors == []
    assert Path("simulation.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in Path("motion.svg").read_bytes()
    assert Path("simulation.html").read_bytes() == Path("motion.html").read_bytes()
    assert np.array_equal(load_simulation("motion.npz").q, ended.session.run_so_far("").q)


def test_database_read_takes_files_and_names_and_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    fa.load("chain3").save(path)
    ended = talk(
        "simulate new yes 5", "gravity = 1.5", "database_read", str(path), "theta", "print_simulation"
    )
    assert ended.session.variables.arm.n == 3
    assert tuple(ended.session.variables.arm.gravity) == (0.0, 0.0, -1.5)
    assert "theta = 0 0 0  # rad" in ended.out
    assert "no simulation yet" in ended.errors[0]
    stanford = talk("database_read stanford", "theta")
    assert "note: gravity is that of the session, -9.80621; that of the arm file is 9.8" in stanford.out
    assert "theta = 0 0 0 0 0 0  # rad or m" in stanford.out


@pytest.mark.parametrize("names", [("theta", "omega", "alpha", "torque"), ("q", "qd", "qdd", "tau")])
def test_inverse_arm_on_many_sets(names: tuple[str, ...], tmp_path: Path) -> None:
    rows = np.random.default_rng(5).uniform(-1.0, 1.0, (7, 18))
    header = ["label", *(f"{name}{i + 1}" for name in names[:3] for i in range(6))]
    source, target = tmp_path / "sets.csv", tmp_path / "torques.csv"
    table = [",".join(map(str, row)) for row in (header, *(("x", *row) for row in rows.tolist()))]
    source.write_text("\n".join(table))
    ended = talk(f"inverse_arm {source} {target}", f"inverse_arm {source}", width=None)
    assert (ended.code, ended.errors) == (0, [])
    torque = fa.dynamics.inverse(HANGING, rows[:, :6], rows[:, 6:12], rows[:, 12:])
    both = np.hstack([torque, voltage_of(HANGING, torque, rows[:, 6:12])])
    made, *lines = (text.split(",")[19:] for text in target.read_text(encoding="utf-8").splitlines())
    assert made == [f"{name}{i + 1}" for name in (names[3], "voltage") for i in range(6)]
    assert np.array(lines, dtype=float) == pytest.approx(both, rel=CLOSE, abs=CLOSE)
    printed = np.array([text.split()[1:] for text in ended.out.splitlines()[3:]], dtype=float)
    assert printed == pytest.approx(both, rel=1e-5)
    assert np.array_equal(ended.session.variables.torque, np.zeros(6))


def test_help_and_the_page_know_every_name() -> None:
    page = DOC.read_text(encoding="utf-8")
    names = (*COMMANDS, *NAMES)
    listed, *each = (talk(f"help {name}") for name in ("", *names))
    for name, one in zip(names, each, strict=True):
        assert f"`{name}`" in page or f"`{name} [" in page, name
        assert f"\n{name} " in listed.out
        assert one.out.startswith(name)
    assert "DACOut = v1 v2 v3 v4 v5 v6\n" in talk("help daco").out


@pytest.mark.slow
def test_the_transcript_of_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = re.findall(r"^```text\n(sim> .*?)^```", DOC.read_text(encoding="utf-8"), flags=re.M | re.S)[0]
    prompts = re.compile(r"^(?:sim> |[A-Z][^?]*\?(?: \([^)]*\))? )(.*)$")
    typed = [found[1] for text in printed.splitlines() if (found := prompts.match(text))]
    ended = talk(*typed, typed=True)
    assert ended.errors == []
    for was, now in zip(printed.splitlines(), ended.out.splitlines(), strict=True):
        for a, b in zip(re.split(r"[ ,]+", was), re.split(r"[ ,]+", now), strict=True):
            assert a == b or float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-9), (was, now)


# ---- the gravity of a motion -----------------------------------------------------------------------------

END = np.array([0.2, 0.15, -0.2, 0.25, 0.1, -0.3])  # rad
REACHED = 5e-3  # rad: voltages are held for 1 ms each


def motion_file(arm: fa.Arm, path: Path) -> Path:
    """The table of a motion from 0 to END in 0.4 s, s(x) = 10 x^3 - 15 x^4 + 6 x^5, as a plan has it."""
    t = np.linspace(0.0, 0.4, 401)
    x = t / 0.4
    s, v = 10 * x**3 - 15 * x**4 + 6 * x**5, (30 * x**2 - 60 * x**3 + 30 * x**4) / 0.4
    a = (60 * x - 180 * x**2 + 120 * x**3) / 0.16
    q, qd, qdd = (scale[:, None] * END for scale in (s, v, a))
    tau = fa.dynamics.inverse(arm, q, qd, qdd)
    MotionLog(tuple(j.name for j in arm.joints), t, q, qd, qdd, tau, voltage_of(arm, tau, qd)).save(path)
    return path


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return motion_file(fa.load("cmu-dd"), tmp_path_factory.mktemp("plans") / "plan.csv")


@pytest.mark.slow
def test_a_plan_is_replayed_under_its_own_gravity(replayed: Path) -> None:
    with pytest.warns(fa.IgnoredWarning):
        ended = talk(f"simulate new yes '{replayed}'", "gravity")
    said = f"note: the motion in {replayed} is one under gravity = 9.80621, used from here on\n"
    assert said in ended.out
    assert shown(ended, "gravity") == pytest.approx([9.80621])
    np.testing.assert_allclose(ended.session.variables.theta, END, atol=REACHED)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*not read:forearm.errors.IgnoredWarning")
def test_a_gravity_that_was_set_stays(replayed: Path) -> None:
    other, same, later = (
        talk(*lines)
        for lines in (
            ("gravity = -9.80621", f"simulate new yes '{replayed}'"),
            ("gravity = 9.80621", f"simulate new yes '{replayed}'"),
            ("simulate new yes 2", f"simulate continue '{replayed}'"),
        )
    )
    assert "is one under gravity" not in same.out
    np.testing.assert_allclose(same.session.variables.theta, END, atol=REACHED)
    assert np.abs(other.session.variables.theta - END).max() > 4 * REACHED
    for ended in (other, later):
        assert "is one under gravity = 9.80621, unlike here\n" in ended.out
        assert ended.session.variables.gravity == -9.80621


def test_the_axis_of_a_motion_s_gravity_may_be_another(tmp_path: Path) -> None:
    arm = fa.load("cmu-dd").replace(gravity=(0.0, 9.7, 0.4))
    path = motion_file(arm, tmp_path / "plan.csv")
    with pytest.warns(fa.IgnoredWarning):
        ended = talk(f"simulate new yes '{path}'", arm=arm)
    assert "one under gravity along another axis than z; 'forearm simulate' replays it\n" in ended.out
    assert ended.session.variables.gravity == -9.80621
