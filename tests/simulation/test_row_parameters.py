"""Numbers that differ from row to row: bodies added to links, which parameters stay open, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulation.different_rows import ARM, Q0, QD0, ROWS

import forearm as fa
from forearm.simulation.row_parameters import added_body_names, open_names, row_arm, row_values
from forearm.spatial import TENSOR


def test_a_counterweight_on_the_hand_is_a_payload_in_its_links_frame() -> None:
    T, link = ARM.hand.pose, f"counterweight.{ARM.hand.link}"
    com, inertia = np.array([0.1, -0.2, 0.3]), np.diag([0.01, 0.02, 0.025])
    inertia[0, 1] = inertia[1, 0] = 0.003
    turned, there = T[:3, :3] @ inertia @ T[:3, :3].T, T[:3, :3] @ com + T[:3, 3]
    held, fixed = (
        {f"{body}.mass": 1.7}
        | {f"{body}.com.{axis}": x for axis, x in zip("xyz", c, strict=True)}
        | {f"{body}.inertia.{key}": J[ik] for key, ik in TENSOR.items()}
        for body, c, J in (("payload", com, inertia), (link, there, turned))
    )
    right = ARM.with_payload(1.7, com, inertia).named_values
    for given in (held, fixed):
        alone = row_arm(ARM, given).named_values
        assert np.allclose([*alone.values()], [*right.values()], rtol=1e-12, atol=1e-14)
        many = row_values(ARM, given, 2)
        assert np.allclose([np.broadcast_to(x, 2)[1] for x in many.values()], [right[name] for name in many])
    assert set(held) | set(fixed) <= set(added_body_names(ARM))


def test_what_stays_as_it_is_is_not_opened() -> None:
    puma = fa.load("puma560")  # whose last link lies on its axis, as this payload does
    names = open_names(puma, ["payload.mass", "payload.com.z"])
    assert names == ("link6.mass", "link6.com.z", "link6.inertia.xx", "link6.inertia.yy")
    assert len(open_names(puma, ["payload.mass", "payload.com.x", "payload.com.y"])) > len(names)


def at_row(k: int, wrong: float, right: float = 1.0) -> Any:
    return np.where(np.arange(ROWS) == k, wrong, right)


LAST = ARM.links[3].name
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"parameters": {"payload.mas": 1.0}}, "no payload or counterweight.*'payload.mas'.*payload.mass"),
    (
        {"parameters": {"counterweight.base.mass": 1.0}},
        "no payload or counterweight.*'counterweight.base.mass'",
    ),
    ({"parameters": {"payload.mass": -1.0}}, "payload.mass: must be at least 0, got -1"),
    (
        {"parameters": {"counterweight.part2.mass": at_row(4, -0.5)}},
        "counterweight.part2.mass, row 4: must be at",
    ),
    ({"parameters": {f"{LAST}.mass": at_row(12, -2.0)}}, f"{LAST}.mass, row 12: must be at least 0, got -2"),
    ({"parameters": {f"{LAST}.com.x": at_row(3, np.nan)}}, f"{LAST}.com.x, row 3: the number must be finite"),
    ({"parameters": {"payload.com.z": 0.1}}, "payload.com.z: a body without mass.*give payload.mass"),
    (
        {
            "parameters": {
                "payload.mass": at_row(2, 0.0),
                "payload.inertia.xx": 0.1,
                "payload.inertia.yy": 0.1,
            }
        },
        "payload.inertia, row 2: an inertia without payload.mass",
    ),
    (
        {"parameters": {"payload.mass": 1.0, "payload.inertia.xy": at_row(5, 0.1, 0.0)}},
        "payload.inertia, row 5: must be positive semidefinite, got principal moments -0.1, 0, 0.1",
    ),
    (
        {"parameters": {f"{LAST}.inertia.zz": at_row(1, -9.0, 9.0)}},
        f"{LAST}.inertia, row 1: must be positive semi",
    ),
    ({"parameters": {f"{LAST}": 1.0}}, f"{LAST!r} is a group of parameters;.*{LAST}.mass"),
    (
        {"parameters": {"joint1.friction.viscous": at_row(6, -0.1)}},
        "viscous, row 6: must be at least 0, got -0.1",
    ),
    (
        {"parameters": {"joint2.friction.coulomb.negative": at_row(6, 0.1, -0.1)}},
        "row 6: must be at most 0, got",
    ),
    ({"parameters": {"joint1.motor.gear_ratio": at_row(7, 0.0)}}, "gear_ratio, row 7: must not be 0"),
    ({"parameters": {"joint1.motor.resistance": at_row(8, 0.0)}}, "resistance, row 8: must be above 0"),
    (
        {"parameters": {"payload.mass": np.ones((ROWS, 1))}},
        r"payload.mass: expected a number, or one for each of the 13 rows",
    ),
    ({"parameters": {"payload.mass": [1.0, 2.0]}}, "same number of rows"),
    ({"parameters": {"joint9.friction.viscous": 1.0}}, "there is no 'joint9.friction.viscous'"),
    ({"summaries": ["peak_torqe"]}, "unknown figure 'peak_torqe'.*peak_torque"),
    ({"summaries": ["work", "work"]}, "listed twice"),
    ({"summaries": ["peak_error"]}, "errors need a controller"),
    ({"summaries": 3}, "expected names of figures"),
    (
        {"duration": 0.0105, "summaries": ["work"]},
        r"duration: expected a whole number of steps of 0\.001 s because of summaries, got 0\.0105 s\. "
        r"Use step=0\.0105 / 11, which divides it, or duration=0\.011\.$",
    ),
    (
        {"duration": 0.0105, "record": 2, "controller": lambda t, q, qd: -q},
        "because of a controller and record, got",
    ),
    ({"torque": [np.nan, 0.0, 0.0]}, "must be finite"),
    (
        {"torque": np.zeros((ROWS, 9, 3))},
        r"torque: expected shape \(3,\) or \(B, 3\) held, or \(1, 10, 3\) or \(B, 10, 3\) by step, got "
        r"\(13, 9, 3\)\.$",
    ),
    ({"torque": np.zeros((ROWS, 2))}, r"torque: expected shape .* by step, got \(13, 2\)\.$"),
    ({"torque": np.zeros((5, 3))}, "expected the same number of rows everywhere, got 13 of q0"),
    (
        {"torque": [0.0, 0.0, 0.0], "voltage": [0.0, 0.0, 0.0]},
        "expected one of torque, voltage and controller",
    ),
    ({"q0": Q0[0], "qd0": QD0[0]}, r"expected states \(B, 3\), or rows of parameters"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[m[:20] for _, m in WRONG])
def test_what_is_wrong_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(fa.ForearmError, match=message):
        fa.simulate_many(ARM, **({"q0": Q0, "qd0": QD0, "duration": 0.01} | given))


def test_shapes_in_messages_are_those_that_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.simulation.many.BLOCK", 4)
    law = fa.TracedController(lambda t, q, qd, goal: goal - q, reference=np.zeros((ROWS, 9, 3)))
    with pytest.raises(fa.InputError, match=r"controller, reference: expected .* got \(13, 9, 3\)\.$"):
        fa.simulate_many(ARM, Q0, QD0, 0.01, controller=law)


@pytest.mark.slow
def test_a_step_that_divides_the_duration_is_taken() -> None:
    run: dict[str, Any] = {"step": 0.0105 / 11, "summaries": ["limit_time"], "record": 11}
    made = fa.simulate_many(ARM, Q0, QD0, 0.0105, **run)
    assert made.q.shape == (ROWS, 2, 3)


def test_electrical_energy_needs_motors() -> None:
    said = (
        r"^summary 'energy', arm 'ascher2': currents, voltages and electrical energy need torque_constant "
        r"and resistance of every motor; joint1, joint2 have none\. .* figures of torques, such as work\.$"
    )
    with pytest.raises(fa.ModelError, match=said):
        fa.simulate_many(
            fa.load("ascher2"), np.zeros((2, 2)), np.zeros(2), 0.01, summaries=["work", "energy"]
        )


def test_break_away_friction_is_no_less_than_friction() -> None:
    arm = ARM.with_drives(friction=fa.Friction(coulomb=0.4, static=0.6, stribeck_speed=0.1))
    with pytest.raises(
        fa.InputError, match=r"joint1.friction.static.negative, row 9: must not be smaller than"
    ):
        row_values(arm, {"joint1.friction.coulomb.negative": at_row(9, -0.7, -0.5)}, ROWS)


def test_arms_with_states_of_their_own_take_what_is_held() -> None:
    arm = ARM.with_drives(elasticity=fa.Elasticity(stiffness=500.0, damping=1.0))
    with pytest.raises(
        fa.InputError, match="are states; with these only held torques or voltages are supported,"
    ):
        fa.simulate_many(arm, Q0, QD0, 0.01, dtype="float32")
    with pytest.raises(fa.InputError, match="expected one of torque, voltage and controller"):
        fa.simulate_many(arm, Q0, QD0, 0.01, torque=np.zeros(3), voltage=np.zeros(3))


@pytest.mark.slow
def test_a_row_that_needs_shorter_steps_is_named() -> None:
    stiff = {"joint2.friction.viscous": at_row(6, 1e5, 0.2)}
    with pytest.warns(fa.StepWarning, match="simulate_many, row 6: steps of 0.001 s are too long for joint2"):
        fa.simulate_many(ARM, Q0, QD0, 0.002, parameters=stiff)
