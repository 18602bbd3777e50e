"""What Swartz says of layout, equations and integration, by other ways than those
that the catalogue takes.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import forearm as fa
from forearm.interpreter.commands import COMMANDS
from forearm.interpreter.variables import SCALARS, VECTORS
from forearm.reproduce.recompute import swartz_model
from forearm.simulation.methods import tableau_of

SWARTZ = (
    "inverse_arm",
    "forward_arm",
    "simulate",
    "plot_simulation",
    "print_simulation",
    "write_graphic_file",
    "open_output_file",
    "close_output_file",
    "database_read",
)


def test_residuals_are_rounding() -> None:
    assert all(value < 1e-13 for value in swartz_model.equations().values())


def test_a_tensor_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = swartz_model._gathered
    monkeypatch.setattr(swartz_model, "_gathered", lambda *given: (*right(*given)[:2], np.zeros((3, 3))))
    assert swartz_model.equations()["(16)-(23): H_11 of all links as one body"] > 0.1


def test_a_frame_of_the_modified_convention_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    modified = fa.load("puma560-akb")
    monkeypatch.setattr(swartz_model, "load_builtin", lambda _name: modified)
    assert swartz_model.equations()["A, p: frames of the built-in arm"] > 0.1


def test_layout_of_another_arm_is_another() -> None:
    assert swartz_model.layout()["translational joints"] == 0.0
    arm = fa.load("cmu-dd")
    assert [joint.placement.alpha for joint in arm.joints] == pytest.approx(np.radians([-90, 90] * 3))  # type: ignore[union-attr]


def test_the_solved_coefficients_are_those_of_our_rk3() -> None:
    found, table = swartz_model.integration(), tableau_of("rk3")
    b, c, (_, _, (a31, a32)) = table.b, table.c, table.a
    assert [sum(x * y**k for x, y in zip(b, c, strict=True)) for k in range(3)] == [
        1,
        Fraction(1, 2),
        Fraction(1, 3),
    ]
    assert b[2] * a32 * c[1] == Fraction(1, 6)
    assert list(found.values()) == pytest.approx([*(6.0 * float(weight) for weight in b), a32, a31])


def test_sim_has_the_words_of_swartz_and_three_of_its_own() -> None:
    assert set(SWARTZ) == set(COMMANDS) - {"help", "quit", "exit"}
    assert (len(SCALARS), len(VECTORS)) == (2, 6)
    assert COMMANDS["print_simulation"].most == 3
