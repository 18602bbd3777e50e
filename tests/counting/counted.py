"""The numbers behind a formulation that was counted, at one state."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm import Arm
from forearm.counting.counts import CountedRun, counted_model
from forearm.counting.models import GenericChain
from forearm.model import steps
from forearm.symbols import evaluate

STATE = {"q": (0.4, 0.37), "qd": (0.31, 0.23), "qdd": (0.57, 0.23), "tau": (1.0, 0.3)}


def values(run: CountedRun, arm: Arm | GenericChain) -> Any:
    """The results as floats in one row, at the state q[j] = 0.4 + 0.37 j and so on."""
    model = counted_model(arm)
    given = {
        f"{name}[{j}]": first + step * j for name, (first, step) in STATE.items() for j in range(model.n)
    }
    q = model.coordinates([given[f"q[{j}]"] for j in range(model.n)])
    for i, step in enumerate(steps(model, q)):
        given |= {f"R{i}{list(index)}": float(x) for index, x in np.ndenumerate(step.R)}
    names = run.graph.leaves.values()
    given |= {name: float(name.split()[0]) for name in names if " at " in name}  # of a vector product in full
    parameters = iter([name for name in names if name.startswith("p[")])

    def noted(number: float) -> float:
        given[next(parameters, "")] = number
        return number

    model.map(noted)
    return np.concatenate([np.atleast_1d(row) for row in evaluate(run.graph, run.results, given)]).astype(
        float
    )
