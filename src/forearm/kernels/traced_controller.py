"""Controllers inside rollouts: a law over symbols, traced once and compiled together with the arm."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.kernels.cache_key import told
from forearm.values import check_choice, check_whole

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced
    from forearm.codegen.tracing import Tracing
    from forearm.symbols import Graph

OUTPUTS = ("torque", "voltage")
MOST_STEPS = 1 << 53  # maximum number of steps of a run, between records and between updates
TAKEN = "(t, q, qd), and if it takes more of (t, q, qd, reference, model, state, gains)"


@dataclass(frozen=True, eq=False)
class TracedController:
    """A control law inside a rollout: torques or voltages (n,) from the time, the state and a row of numbers.

    The law is called once, with symbols, and becomes part of the machine code: it may use arithmetic, NumPy
    functions such as np.sin on arrays of symbols, and the functions of `forearm.symbols.scalars` (`choose`,
    `sign`, `minimum`, ...) instead of `if`. Numbers that it refers to become constants in the code; values
    that change from call to call belong in the `reference`.

    Args:
        law: function of (t, q, qd), or of up to (t, q, qd, reference, model, state, gains): t in s, q and qd
            (n,), reference (m,), state and gains arrays of symbols; `model` is the arm's `SymbolicModel`. It
            returns (n,), or a pair of that and the next state.
        reference: numbers that the law reads, (m,), (B, m) for each arm, (steps, m) for each step, or (B,
            steps, m); None: the law has no reference.
        period: steps between two updates; the output is held in between.
        output: "torque" or "voltage", the law's output.
        arm: the arm model used by the law; None: the simulated arm itself.
        state: size of the state that the law carries from update to update, initially 0.
        gains: numbers that stay constant during a run, (k,) for all arms or (B, k) for each; None: no gains.
    """

    law: Callable[..., Sequence[Any]]
    reference: ArrayLike | None = None
    period: int = 1
    output: str = "torque"
    arm: Arm | None = None
    state: int = 0
    gains: ArrayLike | None = None
    _traced: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.law):
            raise InputError(f"expected a function of {TAKEN}, got {shorten(self.law)}.", "controller", "law")
        check_choice(self.output, OUTPUTS, "controller, output")
        check_steps(self.period, "controller, period", 1)
        check_whole(self.state, "controller, state", 0)
        if self.arm is not None:
            check_arm(self.arm, "controller, arm")

    def traced(self, arm: Arm, size: int) -> tuple[Traced, str]:
        """The law on the graph, and the digest of what it computes; traced on first use.

        Args:
            arm: the arm that it drives.
            size: width of its reference rows.
        """
        key = arm, size, () if self.gains is None else np.shape(self.gains)[-1:]
        if key not in self._traced:
            self._traced[key] = _trace(self, arm, size)
        made: tuple[Traced, str] = self._traced[key]
        return made


class SymbolicModel:
    """The law's model of the arm, evaluated over its symbols, (n,) each."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Torques (n,) of a motion, drives included."""
        return _array(self._at(q).inverse(list(qd), list(qdd)))

    def gravity(self, q: Any) -> Any:
        """Torques (n,) that hold the arm at rest against gravity."""
        return _array(self._at(q).inverse(None, None))

    def inertia_matrix(self, q: Any) -> Any:
        """M (n, n), rotor inertias included."""
        return self._at(q).inertia_matrix()

    def forward_kinematics(self, q: Any) -> Any:
        """Pose of the hand in the base frame, (4, 4)."""
        return self._at(q).hand_pose()

    def jacobian(self, q: Any) -> Any:
        """J at the hand's origin, (6, n)."""
        return self._at(q).hand_jacobian()

    def _at(self, q: Any) -> Tracing:
        self.tracing.q = list(q)
        return self.tracing


def check_steps(value: object, what: str, minimum: int) -> int:
    """A number of steps within the range of the machine code."""
    return check_whole(check_whole(value, what, minimum), what, minimum, MOST_STEPS)


def as_controller(given: object) -> TracedController:
    """A controller, from one or from a law."""
    if isinstance(given, TracedController):
        return given
    if not callable(given):
        raise InputError(
            f"expected a function of {TAKEN} or a TracedController, got {shorten(given)}.",
            "simulate",
            "controller",
        )
    return TracedController(given)


def _trace(controller: TracedController, arm: Arm, size: int) -> tuple[Traced, str]:
    from forearm.codegen.tracing import Tracing
    from forearm.symbols import refined

    n, believed = arm.n, controller.arm or arm
    if believed.n != n:
        raise InputError(
            f"expected an arm with {n} joints like {arm.name!r}, got {believed.name!r} with {believed.n}.",
            "controller",
            "arm",
        )
    tracing = Tracing(believed, {})
    graph, sizes = tracing.graph, {"t": 1, "q": n, "qd": n, "reference": size, "state": controller.state}
    if controller.gains is not None:
        sizes["gains"] = np.shape(controller.gains)[-1] if np.ndim(controller.gains) else 1
    t, reference, state, gains = (
        _array([graph.input(f"{name}[{k}]") for k in range(sizes.get(name, 0))])
        for name in ("t", "reference", "state", "gains")
    )
    given = t[0], _array(tracing.q), _array(tracing.qd), reference, SymbolicModel(tracing), state, gains
    try:
        answer = controller.law(*given[: _count(controller.law)])
    except TypeError as error:
        raise InputError(
            f"{error}. It is called with symbols: use choose, minimum and the other functions "
            "of forearm.symbols.scalars instead of comparisons, and NumPy functions instead "
            "of those of math.",
            "controller",
            "law",
        ) from error
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{error}. It is called with q and qd of {n} symbols each and a reference of {size}.",
            "controller",
            "law",
        ) from error
    if controller.state:
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InputError(
                f"with state={controller.state} expected a pair (output, next state), got {shorten(answer)}.",
                "controller",
                "law",
            )
        made = {"u": _law_values(answer[0], n), "state_next": _law_values(answer[1], controller.state)}
    else:
        made = {"u": _law_values(answer, n)}
    return of_vectors(*refined(graph, made), sizes, list(sizes.items()))


def of_vectors(graph: Graph, results: Any, sizes: Mapping[str, int], more: object) -> tuple[Traced, str]:
    """A function from inputs of these sizes, and the digest of what it computes."""
    from forearm.codegen.functions import Traced
    from forearm.codegen.program import Argument
    from forearm.symbols.content import content

    inputs = tuple(Argument(name, (size,), "") for name, size in sizes.items())
    outputs = tuple(Argument(name, (len(some),), "") for name, some in results.items())
    about = told([content(graph, {name: list(some) for name, some in results.items()}), more])
    return Traced(graph, results, inputs, outputs), hashlib.sha256(repr(about).encode()).hexdigest()


def symbols_or_numbers(given: Any, count: int, *place: str) -> list[Any]:
    """What a user's function returned: this many symbols or numbers."""
    from forearm.symbols import Expr

    values = list(given) if isinstance(given, Iterable) else []
    if len(values) != count or not all(isinstance(x, Expr | int | float | np.number) for x in values):
        raise InputError(f"expected {count} symbols or numbers, got {shorten(given)}.", *place)
    return [x if isinstance(x, Expr) else float(x) for x in values]


def _law_values(given: Any, count: int) -> Any:
    return _array(symbols_or_numbers(given, count, "controller", "law"))


def _count(law: Callable[..., Any]) -> int:
    """The number of arguments of a law, 3 to 7."""
    try:
        signature = inspect.signature(law)
    except (TypeError, ValueError):
        return 3
    for count in (7, 6, 5, 4, 3):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    raise InputError(f"expected a function of {TAKEN}; this one takes {signature}.", "controller", "law")


def _array(values: Sequence[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
