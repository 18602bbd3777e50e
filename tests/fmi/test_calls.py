"""What an FMU answers when it is called: outputs, parameters, saved states, and wrong calls."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import kinetic_energy, potential_energy, random_arm
from fmi.simulators import KINDS, Instance, instance, joint_names, made, rigid, rubbing, runs_here, start_of
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from fmpy.fmi3 import FMU3Slave
from fmpy.simulation import instantiate_fmu

import forearm as fa
from forearm.fmi.export import VERSIONS
from forearm.fmi.instance_memory import SLOTS

pytestmark = [runs_here, pytest.mark.slow]

ROUNDING = 1e-11  # relative to the largest: two ways to compute the same
DISCARD, ERROR = 2, 3
POSE = [f"hand.R[{i},{k}]" if k < 4 else f"hand.{'xyz'[i - 1]}" for i in (1, 2, 3) for k in (1, 2, 3, 4)]
each_version = pytest.mark.parametrize("version", VERSIONS)


def status(one: Instance, function: str, *given: object) -> int:
    """What a function of FMPy's object fails with, 0 where it does not."""
    try:
        getattr(one.fmu, function)(*given)
    except FMICallException as error:
        return int(error.status)
    return 0


def status_of_set(one: Instance, place: int, value: float) -> int:
    return status(one, "setFloat64" if hasattr(one.fmu, "setFloat64") else "setReal", [place], [value])


def status_of_get(one: Instance, place: int) -> int:
    return status(one, "getFloat64" if hasattr(one.fmu, "getFloat64") else "getReal", [place])


def test_outputs_are_those_of_the_reference() -> None:
    arm = rigid()
    written, (q, qd) = made(arm)[0], start_of(arm)
    tau = np.array([2.0, -1.5, 0.7])
    with instance(arm) as one:
        one.begin(dict(zip(written.inputs, tau, strict=True)))
        qdd, torque = (one.get(*joint_names(written, name)) for name in ("qdd", "motor_torque"))
        pose, (kinetic, potential) = one.get(*POSE), one.get("energy.kinetic", "energy.potential")
        one.fmu.doStep(0.0, 0.01)
        *later, after = one.get(*joint_names(written, "q"), "energy.potential")
    expected = fa.dynamics.forward(arm, q, qd, tau)
    assert np.abs(qdd - expected).max() <= ROUNDING * np.abs(expected).max()
    assert np.array_equal(torque, tau)
    assert np.abs(pose.reshape(3, 4) - fa.kinematics.forward(arm, q)[:3]).max() <= ROUNDING
    assert kinetic == pytest.approx(kinetic_energy(arm, q, qd), rel=1e-8)
    change = potential_energy(arm, np.array(later)) - potential_energy(arm, q)
    assert after - potential == pytest.approx(change, rel=1e-8)


def test_parameters_change_the_arm() -> None:
    arm = rubbing()
    joint = arm.joints[0]
    viscous, mass, com, gravity = 4.2, 1.7, (0.03, -0.05, 0.11), (0.4, -1.2, -8.8)
    options: dict[str, Any] = {"payload": True, "parameters": (f"{joint.name}.friction",)}
    written, (q, _) = made(arm, **options)[0], start_of(arm)
    qd = np.array([0.4, -0.3, 0.2])
    tau = np.array([20.0, -35.0, 27.0])
    values = dict(zip((f"payload.com.{axis}" for axis in "xyz"), com, strict=True))
    values |= dict(zip((f"gravity.{axis}" for axis in "xyz"), gravity, strict=True))
    values |= {"payload.mass": mass, f"{joint.name}.friction.viscous": viscous}
    assert set(values) <= set(written.parameters)
    values |= dict(zip(written.inputs, tau, strict=True))
    values |= dict(zip(joint_names_of(written, "qd0"), qd, strict=True))
    with instance(arm, **options) as one:
        before = one.get(*joint_names(written, "qdd"))
        one.begin(values)
        found = one.get(*joint_names(written, "qdd"))
    assert joint.friction is not None
    friction = dataclasses.replace(joint.friction, viscous=viscous)
    other = arm.replace(gravity=gravity).with_payload(mass, com).with_joint(joint.name, friction=friction)
    expected = fa.dynamics.forward(other, q, qd, tau)
    assert np.abs(found - expected).max() <= ROUNDING * np.abs(expected).max()
    assert np.abs(found - before).max() > 0.1


def joint_names_of(written: fa.Fmu, what: str) -> list[str]:
    return [name for name in written.parameters if name.endswith(f".{what}")]


@each_version
def test_a_saved_state_goes_on_as_before(version: int) -> None:
    arm, names = rubbing(), joint_names(made(rubbing(), version=version)[0], "q")
    get, put, out, into = (
        ("getFMUState", "setFMUState", "serializeFMUState", "deserializeFMUState")
        if version == 3
        else ("getFMUstate", "setFMUstate", "serializeFMUstate", "deSerializeFMUstate")
    )
    with instance(arm, version=version) as one, instance(arm, version=version) as other:
        one.begin()
        one.fmu.doStep(0.0, 0.05)
        state = getattr(one.fmu, get)()
        kept = getattr(one.fmu, out)(state)
        one.fmu.doStep(0.05, 0.05)
        first = one.get("time", *names)
        getattr(one.fmu, put)(state)
        one.fmu.doStep(0.05, 0.05)
        assert np.array_equal(one.get("time", *names), first)
        moved = getattr(other.fmu, into)(kept)
        getattr(other.fmu, put)(moved)
        other.fmu.doStep(0.05, 0.05)
        assert np.array_equal(other.get("time", *names), first)
        with pytest.raises(FMICallException):
            getattr(other.fmu, into)(b"\1" + bytes(kept)[1:])
        with pytest.raises(FMICallException):
            getattr(other.fmu, into)(bytes(kept)[:-1])
        for it, saved in ((one, state), (other, moved)):
            getattr(it.fmu, get.replace("get", "free"))(saved)


@each_version
def test_two_instances_are_two_arms(version: int) -> None:
    arm = rigid()
    written = made(arm, version=version)[0]
    names, pushed = joint_names(written, "q"), dict.fromkeys(written.inputs, 3.0)
    ends = []
    for order in ([0, 1] * 5, [0] * 5 + [1] * 5):
        with instance(arm, version=version) as one, instance(arm, version=version) as other:
            pair, steps = (one, other), [0, 0]
            one.begin()
            other.begin(pushed)
            for k in order:
                pair[k].fmu.doStep(0.01 * steps[k], 0.01)
                steps[k] += 1
            ends.append([each.get(*names) for each in pair])
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0][0], ends[0][1])


@each_version
def test_wrong_references_and_numbers_are_refused(version: int) -> None:
    arm = rubbing()
    with instance(arm, version=version) as one:
        u, q0, q = (one.places[name] for name in ("joint1.tau", "joint1.q0", "joint1.q"))
        one.begin()
        assert status_of_get(one, q) == 0
        for place in (10_000, 2**32 - 1, max(one.places.values()) + 1):
            assert status_of_get(one, place) == ERROR
            assert status_of_set(one, place, 1.0) == ERROR
        assert status_of_set(one, q, 0.1) == ERROR, "an output"
        assert status_of_set(one, q0, 0.1) == ERROR, "fixed once it runs"
        for value in (np.nan, np.inf, -np.inf):
            assert status_of_set(one, u, value) == DISCARD
        assert one.get("joint1.tau").tolist() == [0.0], "what was refused is not there"
        assert status_of_set(one, u, 2.5) == 0
        one.fmu.doStep(0.0, 0.01)
        assert np.isfinite(one.get("joint1.q")).all()


@each_version
def test_calls_out_of_order_are_errors(version: int) -> None:
    with instance(rubbing(), version=version) as one:
        assert status(one, "doStep", 0.0, 0.01) == ERROR
        assert status(one, "exitInitializationMode") == ERROR
        assert status(one, "terminate") == ERROR
        one.begin()
        assert status(one, "enterInitializationMode") == ERROR
        assert status(one, "doStep", 0.0, -1.0) == ERROR
        assert status(one, "doStep", 0.0, float("nan")) == ERROR
        assert status(one, "doStep", 0.0, 1e12) == ERROR
        assert status(one, "doStep", 0.0, 0.01) == 0
        moved = one.get("joint1.q", "joint1.q0")
        assert moved[0] != moved[1]
        assert status(one, "terminate") == 0
        assert status(one, "doStep", 0.01, 0.01) == ERROR
        one.fmu.reset()
        one.begin({"joint1.q0": moved[1]})
        assert one.get("joint1.q", "time").tolist() == [moved[1], 0.0]


@each_version
def test_model_exchange_is_called_in_order_too(version: int) -> None:
    arm = rubbing()
    n = arm.n
    with instance(arm, KINDS[1], version=version) as one:
        array = (ctypes.c_double * (2 * n))()
        one.begin()
        assert status(one, "setContinuousStates", array, 2 * n) == ERROR, "in event mode"
        one.fmu.enterContinuousTimeMode()
        array[0] = float("nan")
        assert status(one, "setContinuousStates", array, 2 * n) == DISCARD
        array[0] = 0.1
        assert status(one, "setContinuousStates", array, 2 * n) == 0
        assert status(one, "setContinuousStates", array, n) == ERROR
        assert one.get("joint1.q").tolist() == [0.1]
        indicators = (ctypes.c_double * n)()
        one.fmu.getEventIndicators(indicators, n)
        assert all(abs(z) > 0.0 for z in indicators), "none is 0 where no event is"


def test_what_diverges_says_where_it_was() -> None:
    """A step that is too long for the torque: states overflow on the way."""
    arm = rigid()
    with instance(arm) as one:
        one.begin({"solver.step": 0.5, "joint1.tau": 1e60})
        assert status(one, "doStep", 0.0, 100.0) == DISCARD
        time, q = one.get("time", "joint1.q")
        assert 0.0 <= time < 100.0
        assert np.isfinite(q)


@pytest.mark.long
def test_what_jams_is_told() -> None:
    """Friction that grows with the load leaves no acceleration for this arm, as simulate says too."""
    arm = random_arm(4, 4)
    q, qd = start_of(arm)
    assert not fa.simulate(arm, q, qd, 0.01, method="rk4").ok
    with instance(arm) as one:
        one.begin()
        assert status(one, "doStep", 0.0, 0.01) == DISCARD


@each_version
def test_another_token_and_too_many_instances_are_refused(version: int) -> None:
    written, folder, about = made(rigid(), version=version)
    token = written.token
    for other in (token[:-1], f"{token}x", "", token.replace("-", "+")):
        about.guid = about.instantiationToken = other
        with pytest.raises(Exception, match="instantiate"):
            instantiate_fmu(str(folder), about, fmi_type=KINDS[0])
    about.guid = about.instantiationToken = token
    library = ctypes.CDLL(str(next((folder / "binaries").rglob("*.so"))))
    new, free = (
        library[f"fmi{version}Instantiate" + ("CoSimulation" if version == 3 else "")],
        library[f"fmi{version}FreeInstance"],
    )
    new.restype, free.restype = ctypes.c_void_p, None
    callbacks = (ctypes.c_void_p * 5)()
    name, key = ctypes.c_char_p(b"one"), ctypes.c_char_p(token.encode())
    given: tuple[Any, ...] = (name, key, None, *[0] * 4, None, ctypes.c_size_t(0), None, None, None)
    given = given if version == 3 else (name, 1, key, None, callbacks, 0, 0)
    there = [new(*given) for _ in range(SLOTS + 1)]
    assert len(set(there)) == SLOTS + 1
    assert there[-1] is None
    for one in there[:-1]:
        free(ctypes.c_void_p(one))
    free(ctypes.c_void_p(there[0]))  # again: nothing happens
    terminate = library[f"fmi{version}Terminate"]
    for wrong in (None, there[0], there[1] + 8, 4096):
        assert terminate(ctypes.c_void_p(wrong)) == ERROR


@each_version
def test_messages_reach_the_simulator(version: int) -> None:
    said: list[tuple[object, ...]] = []
    _, folder, about = made(rigid(), version=version)
    given = {"guid": about.guid, "unzipDirectory": str(folder)}
    given |= {"modelIdentifier": about.coSimulation.modelIdentifier, "instanceName": "elbow"}

    def noted(*words: object) -> None:
        said.append(words)

    if version == 3:
        fmu = FMU3Slave(**given)
        fmu.instantiate(logMessage=noted)
    else:
        fmu = FMU2Slave(**given)
        callbacks = fmi2CallbackFunctions()
        callbacks.logger = fmi2CallbackLoggerTYPE(noted)
        fmu.instantiate(callbacks=callbacks)
    with pytest.raises(FMICallException):
        fmu.terminate()
    fmu.freeInstance()
    ((*first, message),) = said
    assert b"state machine" in message  # type: ignore[operator]
    assert {ERROR, b"logStatusError"} <= set(first)
    assert version == 3 or b"elbow" in first
