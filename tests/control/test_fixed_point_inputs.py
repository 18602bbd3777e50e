"""Requests for fixed point that are refused: ranges that are missing or wrong, inputs outside of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.control.fixed_code import fixed_point


def test_missing_ranges_are_asked_for() -> None:
    arm = random_arm(3, 3).rigid()
    with pytest.raises(
        fa.InputError, match=r"the range of qdd is unknown; pass it in ranges, such as ranges=\{'qdd': 2.0\}"
    ):
        fixed_point(arm, "inverse_dynamics", {"qd": 1.0})
    slow = arm.replace(tree=tuple(replace(j, max_speed=None) for j in arm.tree))
    with pytest.raises(fa.InputError, match="the range of qd is unknown"):
        fixed_point(slow, "inverse_dynamics", {"qdd": 1.0})
    known = arm.replace(tree=tuple(j if j.kind == "fixed" else replace(j, max_speed=1.7) for j in arm.tree))
    assert fixed_point(known, "inverse_dynamics", {"qdd": 1.0}).ranges["qd[2]"] == (-1.7, 1.7)
    with pytest.raises(
        fa.InputError, match=r"joint1.* of 'ascher2' have no limits; set them in the arm file"
    ):
        fixed_point(fa.load("ascher2"), "gravity")
    assert fixed_point(arm, "gravity").ranges["q[0]"] == tuple(arm.joints[0].limits)


def test_wrong_requests_are_refused() -> None:
    arm = random_arm(3, 3).rigid()

    def refused(error: type[Exception], match: str, function: str = "gravity", **given: Any) -> None:
        with pytest.raises(error, match=match):
            fixed_point(arm, function, **given)

    refused(fa.NameNotFound, "got 'gravty'; did you mean 'gravity'", function="gravty")
    refused(fa.NameNotFound, "ranges: expected one of q, got 'speed'", ranges={"speed": 1.0})
    refused(fa.InputError, "one of 16, 32 bits, got 24", word=24)
    refused(fa.InputError, "for each of the 3 entries", ranges={"q": [1.0, 2.0]})
    refused(fa.InputError, "lies above", ranges={"q": [1.0, (2.0, 1.0), 1.0]})
    refused(fa.InputError, "at least 0", ranges={"q": -1.0})
    refused(fa.InputError, "finite", ranges={"q": float("nan")})
    stribeck = random_arm(3, 3)
    assert any(j.friction is not None and j.friction.static is not None for j in stribeck.joints)
    with pytest.raises(fa.InputError, match=r"Stribeck"):
        fixed_point(stribeck, "bias", {"qd": 1.0})


def test_inputs_outside_the_ranges_are_refused() -> None:
    program = fixed_point(random_arm(3, 3).rigid(), "gravity", {"q": 1.0})
    with pytest.raises(fa.InputError, match="outside the ranges"):
        program.quantised(q=[0.0, 1.1, 0.0])
    with pytest.raises(fa.InputError, match="outside the ranges"):
        program.quantised(q=[0.0, np.nan, 0.0])
    with pytest.raises(fa.InputError, match="q is missing"):
        program.quantised()
    with pytest.raises(fa.InputError, match="q is missing; expected q"):
        program.evaluate({})
    with pytest.raises(fa.InputError, match="expected 3 numbers per state"):
        program.quantised(q=[0.0, 0.1])
