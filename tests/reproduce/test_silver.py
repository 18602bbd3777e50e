"""Silver's identities: they hold on our arm, and each would be seen to fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import forearm as fa
from forearm.reproduce.recompute import Figures, silver

IDENTITIES = (silver.rotations, silver.derivation, silver.forces)
ROUNDING, DIFFERENCES = 1e-13, 1e-8  # of what is computed twice, and of central differences


@pytest.mark.parametrize("identities", IDENTITIES)
def test_identities_hold(identities: Callable[[], Figures]) -> None:
    assert all(0.0 <= value < DIFFERENCES for value in identities().values())


def test_a_wrong_turn_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """w turned against its sense: what is linear in it fails, what is quadratic, such as
    energies, does not notice.
    """
    monkeypatch.setattr(silver, "rotation_rate", lambda w, W: -fa.dynamics.rotation_rate(w, W))
    rotations, derivation = silver.rotations(), silver.derivation()
    assert (
        min(rotations["2.5, against a difference quotient of W"], rotations["2.6"], derivation["3.5"]) > 1.0
    )
    assert rotations["2.8 and 2.10, kinetic energy"] < ROUNDING


def test_a_tensor_that_does_not_turn_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stiff(silver.LinkState):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            self.tensor = self.own

    monkeypatch.setattr(silver, "LinkState", Stiff)
    assert silver.derivation()["3.10"] > 0.1
    assert silver.rotations()["2.8 and 2.10, kinetic energy"] > 1e-3


def test_components_of_the_cross_product() -> None:
    found = silver.cross_tensor()
    assert (found["P of an even permutation"], found["P of an odd permutation"], found["P otherwise"]) == (
        1.0,
        -1.0,
        0.0,
    )
    assert silver.freedoms() == {"independent": 3.0}


def test_the_link_is_the_one_of_the_chain() -> None:
    """Jacobian times rates against a difference quotient of the pose."""
    arm, q, qd, _ = silver.state()
    h = 1e-6
    at, after, before = (silver.LinkState(arm, q + s * qd, qd) for s in (0.0, h, -h))
    spin = (after.W - before.W) / (2.0 * h) @ at.W.T
    assert np.abs([spin[2, 1], spin[0, 2], spin[1, 0]] - at.w).max() < 1e-8
