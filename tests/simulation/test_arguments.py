"""What callers give that cannot be used is refused with an error that says what is needed,
by every method alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_joint import block
from simulation.making import spelt

import forearm as fa
from forearm.simulation import Ending, Status

METHODS = ("rk4", "dp45", "gauss4")  # a path each


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dac": 0.01}, "sampling, dac: expected DAC, got 0.01."),
        ({"continued": 5}, "simulate, continued: expected Simulation, got 5."),
        ({"controller": [3.0]}, "simulate, controller: expected a function of (t, q, qd); pass"),
        (
            {"torque": lambda t, q, qd: q},
            "expected a function of t alone; pass a function of (t, q, qd) as controller=. The",
        ),
        (
            {"controller": lambda t: 0.0},
            "pass a function of t alone as torque=. The signature of this one is (t).",
        ),
        ({"progress": 5}, "simulate, progress: expected a function of (done, total, what), got 5."),
        ({"until": 3.0}, "ending, until: expected a function of (t, q, qd), got 3.0."),
        ({"until": lambda t, q, qd: None}, "ending, until: expected a number, not NaN, or True or False"),
        ({"until": lambda t, q, qd: q - 0.5}, "or True or False, got array([-0.5]) at t = 0 s."),
        ({"until": lambda t, q, qd: math.nan if t > 0.05 else -1.0}, "or True or False, got nan at t = 0.0"),
        ({"until": lambda t, q, qd: "later"}, "got 'later'"),
        ({"until": lambda t, q, qd: 10**400}, "ending, until: expected a number, not NaN"),
        ({"rtol": "x"}, "accuracy, rtol: expected a number, got 'x'."),
        ({"rtol": -1}, "rtol: must be at least 1e-14 and at most 0.1, got -1"),
        ({"atol": 0.0}, "accuracy, atol: must be above 0"),
        ({"atol": [1e-9]}, "accuracy, atol: expected a number"),
        ({"duration": -1.0}, "simulate, duration: must be at least 0, got -1."),
        ({"duration": "x"}, "simulate, duration: expected a number"),
        ({"step": -1e-3}, "simulate, step: must be above 0, got -0.001."),
        ({"stops": "no"}, "ending, stops: expected true or false, got 'no'."),
        ({"torque": [10**400]}, "simulate, torque: expected numbers"),
        ({"torque": [1j]}, "simulate, torque: expected numbers, got [1j]."),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_it_is_an_input_error(given: dict[str, Any], said: str) -> None:
    for method in METHODS:
        rest = {"duration": 0.1, "method": method, **given}
        with pytest.raises(fa.InputError) as caught:
            fa.simulate(block(), [0.0], [1.0], **spelt(**rest))
        assert said in str(caught.value)


def test_what_is_no_arm_and_no_method_is_said() -> None:
    wrong: Any = "puma560"
    with pytest.raises(fa.InputError, match=r"expected an Arm, such as fa\.load\('puma560'\), got 'puma560'"):
        fa.simulate(wrong, [0.0], [0.0], 1.0)
    wrong = ["rk4"]
    with pytest.raises(fa.NameNotFound, match="simulate, method: expected one of"):
        fa.simulate(block(), [0.0], [0.0], 1.0, method=wrong)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "dp45"}, "simulate_many, method: expected one of"),
        ({"q0": [0.0, 1.0], "qd0": [0.0]}, "simulate_many, q0: expected shape (1,) or (B, 1)"),
        ({"torque": [1.0], "voltage": [1.0]}, "voltage"),
        ({"torque": [math.nan]}, "simulate_many: q0, qd0, torque and voltage must be finite"),
        ({"torque": [[math.inf]]}, "must be finite"),
        ({"qd0": [[math.nan]]}, "must be finite"),
        ({"torque": "x"}, "simulate_many, torque: expected numbers, got 'x'."),
        ({"torque": lambda t: [1.0]}, "simulate_many, torque: expected numbers"),
        ({"duration": "x"}, "simulate_many, duration: expected a number, got 'x'."),
        ({"duration": -1.0}, "simulate_many, duration: must be at least 0"),
        ({"step": 0.0}, "simulate_many, step: must be above 0"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_many_refuse_the_same(given: dict[str, Any], said: str) -> None:
    rest = {"q0": [[0.0]], "qd0": [[1.0]], "duration": 0.1, **given}
    with pytest.raises(fa.ForearmError) as caught:
        fa.simulate_many(block(), **rest)
    assert said in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [bool, np.bool_, int, np.array], ids=["bool", "numpy", "int", "array"])
@pytest.mark.sweep
def test_a_condition_may_be_yes_or_no(kind: Any, method: str) -> None:
    def until(t: float, q: Any, qd: Any) -> Any:
        met = t > 0.05
        return kind(met) if kind in (bool, np.bool_) else kind(1 if met else -1)

    run = fa.simulate(block(), [0.0], [1.0], 0.2, method=method, ending=Ending(until=until))
    assert run.status is Status.EVENT
    assert run.t[-1] == pytest.approx(0.05, abs=1e-11 if method in ("dp45", "radau") else 1.1e-3)
    never = fa.simulate(
        block(), [0.0], [1.0], 0.01, method=method, ending=Ending(until=lambda t, q, qd: t >= 0.0)
    )
    assert never.status is Status.END, "it was met from the start"


def test_fields_of_records_may_be_given_one_by_one() -> None:
    given: dict[str, Any] = {"torque": lambda t: [t], "dac": fa.DAC(2e-3), "record": 3, "rtol": 1e-5}
    given |= {"atol": 1e-8, "stops": True, "until": lambda t, q, qd: t - 0.013}
    for method in ("rk4", "dp45"):
        flat = fa.simulate(block(), [0.0], [1.0], 0.02, method=method, **given)
        in_records = fa.simulate(block(), [0.0], [1.0], 0.02, method=method, **spelt(**given))
        assert np.array_equal(flat.q, in_records.q)
        assert flat.events == in_records.events


def test_a_misspelt_argument_names_the_nearest() -> None:
    with pytest.raises(fa.InputError, match=r"there is no parameter 'acuracy': did you mean 'accuracy'"):
        fa.simulate(block(), [0.0], [1.0], 0.02, **dict[str, Any](acuracy=1.0))
    wrong: Any = 1e-3
    with pytest.raises(fa.InputError, match=r"simulate, sampling: expected Sampling, got 0\.001\."):
        fa.simulate(block(), [0.0], [1.0], 0.02, sampling=wrong)
