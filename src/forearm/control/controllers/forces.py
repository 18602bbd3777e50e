"""Torques from a model, exact or with terms left out, as machine code;
with exact counts of what each takes. Waters IV.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.control.model_error import without_friction, without_gravity
from forearm.drives.joint import depends_on_load, driven, held_freedoms
from forearm.errors import NameNotFound, shorten, suggest
from forearm.kernels.elf import Loaded
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.model import refuse_tree, silent
from forearm.reduction.chain import Chain
from forearm.reduction.recursion import inverse
from forearm.simulation.machine import kernel_of
from forearm.symbols.counts import Counts

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced
    from forearm.codegen.tracing import Tracing

Floats = NDArray[np.float64]
DROPPED = ("no-velocity-terms", "no-gravity", "own-link-only")


@dataclass(frozen=True, eq=False)
class Forces:
    """tau (n,) from q, qd, qdd (n,), by the model of an arm with what is `dropped` left out of
    it, and what that costs.
    """

    arm: Arm
    dropped: str | None
    at: Callable[[Floats, Floats, Floats], Floats]
    counts: Counts

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return self.counts.mul + self.counts.add


def forces_of(arm: Arm, dropped: str | None = None) -> Forces:
    """The inverse dynamics of an arm, exact, or without velocity terms, gravity,
    or the links behind each joint's own.

    Friction stays in what is dropped from, unless it depends on the load: that is then left out too.
    """
    if dropped is None or dropped == "no-gravity":
        kernel = kernel_of(arm if dropped is None else without_gravity(arm))
        rest = np.zeros(arm.n)
        kernel.inverse_dynamics(rest, rest, rest)  # from now on the method is the machine code itself
        return Forces(arm, dropped, kernel.inverse_dynamics, kernel.counts["inverse_dynamics"])
    if dropped not in DROPPED:
        raise NameNotFound(f"dropped: there is no {shorten(dropped)}; {suggest(str(dropped), DROPPED)}")
    return _dropped(arm, dropped)


def gravity_of(arm: Arm) -> Forces:
    """What holds the arm still, from q alone: friction has no part in it, and code without it is shorter."""
    kernel = kernel_of(without_friction(arm))
    kernel.gravity(np.zeros(arm.n))
    return Forces(arm, None, lambda q, qd, qdd: kernel.gravity(q), kernel.counts["gravity"])


def named(name: str, friction: bool, dropped: str | None) -> str:
    """The name of a controller with what its model leaves out."""
    return ", ".join(
        [name, *([dropped.replace("-", " ")] if dropped else []), *([] if friction else ["no friction"])]
    )


@dataclass(frozen=True, eq=False)
class Directions:
    """Which way joints with dry friction are taken to move:
    as measured, or as wanted where they stand or go astray.
    """

    dry: NDArray[np.bool_]

    @staticmethod
    def of(arm: Arm) -> Directions | None:
        """None where no joint has dry friction, so that velocities are taken as measured."""
        dry = np.array(held_freedoms(arm), dtype=bool)
        return Directions(dry) if dry.any() else None

    def moving(self, qd: Floats, ahead: Floats) -> Floats:
        """Velocities (n,) to compute friction with: one that is about to begin must be
        overcome before it is seen.
        """
        return np.asarray(np.where(self.dry & ((qd == 0.0) | (qd * ahead < 0.0)), ahead, qd))


@lru_cache(maxsize=32)
def _dropped(arm: Arm, dropped: str) -> Forces:
    """Traced on the graph and compiled; from the cache where it was made before."""
    # this file is not among the sources that the surroundings know
    written = Path(__file__).read_text(encoding="utf-8")
    parts = ("forces", dropped, arm, written)
    counts, call = kept_or_made(parts, ["forces"], lambda: _made(arm, dropped), _placed)

    def at(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        out = np.empty(arm.n)
        arrays = [np.ascontiguousarray(x, dtype=np.float64) for x in (q, qd, qdd)]
        call(*(x.__array_interface__["data"][0] for x in (*arrays, out)), 1)
        return out

    return Forces(arm, dropped, at, counts)


def _placed(about: About, memory: Loaded) -> tuple[Counts, Callable[..., None]]:
    return Counts(**about["counts"]), function_of(memory, "forces", *[ctypes.c_void_p] * 4, ctypes.c_int64)


def _traced(arm: Arm, dropped: str) -> Traced:
    from forearm.codegen.functions import FUNCTIONS, Function, trace
    from forearm.codegen.tracing import Tracing

    # Friction that depends on the load needs what was dropped: it is left out with it.
    arm = without_friction(arm) if depends_on_load(arm) else arm
    whole = FUNCTIONS["inverse_dynamics"]
    method = _no_velocity if dropped == "no-velocity-terms" else _own_link
    return trace(Tracing(arm, {}), [Function(whole.title, whole.inputs, whole.outputs, method)])


def _no_velocity(t: Tracing) -> dict[str, Any]:
    return {"tau": [a + b for a, b in zip(t.inverse(None, t.qdd), _friction(t), strict=True)]}


def _own_link(t: Tracing) -> dict[str, Any]:
    """F_i of an arm on which link i alone has mass: one outward recursion for all, and nothing inward."""
    refuse_tree(t.model, "own-link-only")
    states = (t.model.coordinates(t.q), t.model.rates(t.qd), t.model.rates(t.qdd))
    rotors = [a * J for a, J in zip(t.qdd, t.rotor.tolist(), strict=True)]
    own = [inverse(_alone(t.plain, i), *states, silent)[i] for i in range(t.arm.n)]
    return {"tau": [a + b + c for a, b, c in zip(own, rotors, _friction(t), strict=True)]}


def _alone(chain: Chain, i: int) -> Chain:
    segments = (
        s if k == i else replace(s, m=0.0, h=np.zeros(3), J=np.zeros((3, 3)))
        for k, s in enumerate(chain.segments)
    )
    return replace(chain, segments=tuple(segments))


def _friction(t: Tracing) -> list[Any]:
    """At the freedoms."""
    rates = t.model.rates(t.qd)
    return t.model.gathered(driven(t.arm, [0.0] * len(rates), None, rates))


def _made(arm: Arm, dropped: str) -> tuple[About, bytes]:
    from forearm.kernels.ir import function_text, module_text
    from forearm.kernels.native import host, object_code

    traced, target = _traced(arm, dropped), host("float64", 1)
    counts = vars(traced.graph.counts(traced.results))
    about = {"arm": arm.name, "functions": [dropped], "dtype": "float64", "part": "single", "counts": counts}
    return about, object_code(module_text([function_text("forces", traced, target)], target))
