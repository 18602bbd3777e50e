"""Compiled functions from Python: one call, and a state of a large batch by one thread."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np

from forearm.benchmarks.timing import Row, median_time
from forearm.files.builtin import load_builtin
from forearm.kernels.kernel import compile as compile_arm

BATCH = 100_000
CALLS = 20_000


def rows(peers: bool) -> list[Row]:
    """The Panda, seven joints with full tensors, rigid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = load_builtin("panda").rigid()
    q, qd, third = np.random.default_rng(1).uniform(-1.0, 1.0, (3, BATCH, arm.n))
    one = [v[0].copy() for v in (q, qd, third)]
    peer = _pinocchio(*one) if peers and find_spec("pinocchio") is not None else {}
    made = []
    for dtype in ("float64", "float32"):
        kernel = compile_arm(arm, dtype=dtype)
        batch = [v.astype(dtype) for v in (q, qd, third)]
        for name in ("inverse_dynamics", "forward_dynamics", "inertia_matrix"):
            function, given = getattr(kernel, name), batch[: 1 if name == "inertia_matrix" else 3]
            out = function(*given, threads=1)
            seconds = median_time(lambda f=function, g=given, o=out: f(*g, out=o, threads=1)) / BATCH  # type: ignore[misc]
            made.append(Row(f"{name}, {dtype}, a state of {BATCH:,}, one thread", seconds))
    kernel = compile_arm(arm)
    kernel.inverse_dynamics(*one)
    function, out = kernel.inverse_dynamics, np.empty(arm.n)
    shown = ("pin.rnea from Python", peer["inverse"]) if peer else (None, None)
    made.append(
        Row("one call of inverse_dynamics with out=", median_time(lambda: _calls(function, one, out)) / CALLS, None, *shown)
    )
    made.append(Row("the same returning a new array", median_time(lambda: _calls(function, one, None)) / CALLS, None, *shown))
    return made


def _calls(function: object, given: list[object], out: object) -> None:
    q, qd, third = given
    if out is None:
        for _ in range(CALLS):
            function(q, qd, third)  # type: ignore[operator]
    else:
        for _ in range(CALLS):
            function(q, qd, third, out=out)  # type: ignore[operator]


def _pinocchio(q: object, qd: object, qdd: object) -> dict[str, float]:
    import pinocchio

    from forearm.files.urdf_write import urdf_text

    model = pinocchio.buildModelFromXML(urdf_text(load_builtin("panda").rigid()))
    data = model.createData()

    def work() -> None:
        for _ in range(CALLS):
            pinocchio.rnea(model, data, q, qd, qdd)

    return {"inverse": median_time(work) / CALLS}
