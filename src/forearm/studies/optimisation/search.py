"""Design optimisation with a study: the values of its variables that optimise a figure while others stay
within bounds.

Rows are computed as in a sweep: each population of the optimiser is one batch of `RowEvaluation`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.progress import Progress
from forearm.records import anything, declared, flag, flat, number, record, whole
from forearm.simulation.arguments import PROGRESS
from forearm.spatial import Floats
from forearm.studies.optimisation.goal import MISSING, Bounds, Goal, goal_of
from forearm.studies.optimisation.optimum import Optimum
from forearm.studies.optimisation.space import Space
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.sampling.designs import MAX_SEED
from forearm.studies.study import Study
from forearm.values import check_kind

FEWEST, MOST = 50, 1_000_000  # rows of one search
AT_ONCE = 4096  # rows per batch when all combinations are computed
MEMBERS = 15  # population size per variable
FEWEST_MEMBERS, MOST_MEMBERS = 40, 400
LEAST_GENERATIONS = 10
MUTATION = (0.7, 1.2)  # larger than SciPy's default: fewer searches end at a nearly optimal choice
STEP = {"float64": 1e-6, "float32": 1e-3}  # finite-difference step, as a fraction of a variable's range
LAST_SHARE = 10  # one in so many evaluations is reserved for polishing
INSIDE = 1e-9  # margin of polishing to constraints, relative to their bounds
ROUNDS, ITERATIONS = 3, 60  # of polishing: restarts, and iterations of each
PRECISION = 1e-12  # relative change at which polishing ends


@record
class SearchOptions:
    """Constraints and budget of an optimisation."""

    subject_to: Mapping[str, Bounds] | None = anything(
        "(low, high) of figures by name, None for no bound; for a per-joint figure they apply to every joint",
        Mapping,
        default=None,
    )
    evaluations: int = whole("largest number of rows to compute", FEWEST, MOST, default=20_000)
    seed: int = whole("random seed; the same seed gives the same search", 0, MAX_SEED, default=0)
    tolerance: float = number(
        "relative spread of the figures in a population at which the search ends", default=1e-5, minimum=0.0
    )
    start: Mapping[str, Any] | None = anything(
        "values of all variables by name, included in the first population", Mapping, default=None
    )
    polish: bool = flag("whether to refine the numeric variables of the best point", default=True)
    threads: int | None = anything("number of threads; if absent, one per processor", default=None)
    progress: Progress | None = declared(PROGRESS, default=None)


OPTIONS = SearchOptions()


@flat(options=SearchOptions)
def optimise(
    study: Study,
    minimise: str | None = None,
    maximise: str | None = None,
    *,
    options: SearchOptions = OPTIONS,
) -> Optimum:
    """Optimise a figure of a study over its variables, subject to constraints on other figures.

    If all variables are choices with no more combinations than evaluations, all combinations are computed.
    Otherwise SciPy's differential evolution searches globally, and sequential quadratic programming polishes
    the numeric variables of the best point. Only bounds and values of distributions matter.

    Args:
        study: arms, variables and figures; its design and rows are ignored.
        minimise: the figure to minimise, such as "required_energy" or "peak_torque.joint2".
        maximise: instead, the figure to maximise.
        options: constraints and budget, as a record.
    """
    check_kind(study, Study, "optimise, study")
    goal = goal_of(study, minimise, maximise, options.subject_to or {})
    space, evaluations = Space(study), options.evaluations
    first = None if options.start is None else space.point(options.start)
    search = Search(RowEvaluation(study, options.threads), goal, space, evaluations, options.progress)
    if space.combinations <= evaluations:
        message = search.exhaust()
    else:
        last = evaluations // LAST_SHARE if options.polish and not space.is_choice.all() else 0
        message = search.evolve(options.seed, options.tolerance, first, evaluations - last)
        if last:
            message += search.polish(STEP[study.run.dtype], last)
    return search.optimum(message)


class _SpentError(Exception):
    """Polishing has used its budget of rows."""


class Search:
    """Rows computed during an optimisation, each once, and the best of them.

    Args:
        evaluation: computes rows.
        goal: the objective.
        space: the search space.
        evaluations: largest number of rows to compute.
        progress: called after each batch.
    """

    def __init__(
        self, evaluation: RowEvaluation, goal: Goal, space: Space, evaluations: int, progress: Progress | None
    ) -> None:
        self.evaluation, self.goal, self.space = evaluation, goal, space
        self.evaluations, self.progress = evaluations, progress
        self.done = 0
        self.best: tuple[float, float] = (math.inf, math.inf)  # violation, cost
        self.point: Floats = np.zeros(len(space.coordinates))
        self.figures: dict[str, float] = {}
        self.history: list[tuple[int, float]] = []
        self._known: dict[bytes, Floats] = {}

    def rows(self, points: Floats) -> Floats:
        """Violation and cost of points (B, d), (B, 2)."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        keys = [point.tobytes() for point in points]
        new = {key: k for k, key in enumerate(keys) if key not in self._known}
        if new:
            scores = self._computed(points[[*new.values()]])[1]
            self._known.update(zip(new, scores, strict=True))
        return np.array([self._known[key] for key in keys]).reshape(-1, 2)

    def _computed(self, points: Floats) -> tuple[dict[str, Floats], Floats]:
        """Figures of points by column, and their violation and cost, (B, 2)."""
        figures = self.evaluation.figures(self.space.values(points))
        scores = np.stack([self.goal.missed(figures), self.goal.costs(figures)], axis=1)
        self._keep_best(points, figures, scores)
        return figures, scores

    def _keep_best(self, points: Floats, figures: Mapping[str, Floats], scores: Floats) -> None:
        self.done += len(points)
        k = int(np.lexsort((scores[:, 1], scores[:, 0]))[0])  # the first of equals
        score = (float(scores[k, 0]), float(scores[k, 1]))
        if score < self.best or not self.figures:
            self.best, self.point = score, points[k].copy()
            self.figures = {name: float(x[k]) for name, x in figures.items()}
            if score[0] == 0.0:
                self.history.append((self.done, self.goal.sign * score[1]))
        if self.progress is not None:
            best = f"{self.figures[self.goal.column]:.6g}" if self.best[0] == 0.0 else "not feasible yet"
            self.progress(min(self.done, self.evaluations), self.evaluations, f"best {best}")

    def exhaust(self) -> str:
        """Compute every combination of choices."""
        count = int(self.space.combinations)
        for begin in range(0, count, AT_ONCE):
            self.rows(self.space.all_choices(begin, min(begin + AT_ONCE, count)))
        return self._failure or f"All {count} combinations were evaluated"

    @property
    def _failure(self) -> str:
        """Why no row is feasible; empty where one is."""
        if self.best[0] >= MISSING:
            return "No row had finite figures"
        if self.best[0] > 0.0:
            return "No row met every constraint; widen the bounds of the variables, or relax the constraints"
        return ""

    def evolve(self, seed: int, tolerance: float, first: Floats | None, most: int) -> str:
        """Search by differential evolution, within a budget of rows."""
        optimiser = _scipy().differential_evolution
        free = self.space.last > 0.0
        d = int(free.sum())
        members = min(max(MEMBERS * d, FEWEST_MEMBERS), MOST_MEMBERS, most // LEAST_GENERATIONS)
        members = max(members, 5)  # SciPy's minimum
        generations = max(most // members - 1, 0)

        def all_of(x: Floats) -> Floats:
            points = np.zeros((x.size // d, len(free)))
            points[:, free] = x.reshape(d, -1).T
            return self.rows(points)

        def missed(x: Floats) -> Floats:
            return np.asarray(all_of(x)[:, 0].reshape(1, *x.shape[1:]))

        random = "rng" if "rng" in inspect.signature(optimiser).parameters else "seed"
        found = optimiser(
            lambda x: all_of(x)[:, 1],
            [(0.0, last) for last in self.space.last[free]],
            init=self._first_population(members, seed, free, first),
            maxiter=generations,
            tol=tolerance,
            mutation=MUTATION,
            constraints=(_scipy().NonlinearConstraint(missed, -np.inf, 0.0),),
            integrality=self.space.is_choice[free],
            polish=False,
            updating="deferred",
            vectorized=True,
            **{random: np.random.default_rng(seed)},
        )
        if self._failure:
            return self._failure
        if found.success:
            return f"The search converged to {tolerance:g}"
        return f"The search ended after {self.done} evaluations; more may improve the result"

    def _first_population(self, members: int, seed: int, free: Any, first: Floats | None) -> Floats:
        """A Latin hypercube of points (members, free variables), with the start as the first."""
        rng = np.random.default_rng([seed, members])
        d = int(free.sum())
        strata = np.stack([rng.permutation(members) for _ in range(d)], axis=1)
        u = (strata + rng.random((members, d))) / members
        last, is_choice = self.space.last[free], self.space.is_choice[free]
        points: Floats = np.where(is_choice, np.minimum(np.floor(u * (last + 1.0)), last), u * last)
        if first is not None:
            points[0] = first[free]
        return points

    def polish(self, step: float, most: int) -> str:
        """Polish the best by sequential quadratic programming with fixed choices, within a budget of rows."""
        if self.best[0] > 0.0:
            return ""
        before, moved = self.best[1], ~self.space.is_choice
        end = self.done + most
        with suppress(_SpentError):
            for _ in range(ROUNDS):
                begin = self.best[1]
                self._descend(step, moved, end)
                if not begin - self.best[1] > PRECISION * abs(begin):
                    break
        gained = abs(before - self.best[1])
        return f". Polishing gained {gained:.3g}" if gained else ". Polishing found no improvement"

    def _descend(self, step: float, moved: Any, end: int) -> None:
        base, size = self.point.copy(), abs(self.best[1]) or 1.0
        limits = [
            (c.column, sign, bound, c.size)
            for c in self.goal.constraints
            for sign, bound in ((1.0, c.low), (-1.0, c.high))
            if math.isfinite(bound)
        ]
        computed: dict[bytes, tuple[Floats, Floats]] = {}

        def around(z: Floats) -> tuple[Floats, Floats]:
            """Cost and constraints at z (k,), (1 + m,), and their derivatives, (1 + m, k), by one batch."""
            z = np.clip(z, 0.0, 1.0)
            if z.tobytes() not in computed:
                k = len(z)
                ends = [np.clip(z + sign * step * np.eye(k), 0.0, 1.0) for sign in (1.0, -1.0)]
                points = np.tile(base, (1 + 2 * k, 1))
                if self.done + len(points) > end:
                    raise _SpentError
                points[:, moved] = np.concatenate([z[None], *ends])
                figures, scores = self._computed(points)
                rows = [scores[:, 1] / size]
                rows += [sign * (figures[name] - bound) / unit - INSIDE for name, sign, bound, unit in limits]
                values = np.stack(rows)
                widths = np.diagonal(ends[0]) - np.diagonal(ends[1])
                with np.errstate(invalid="ignore"):  # NaN rows have no derivative
                    slopes = (values[:, 1 : 1 + k] - values[:, 1 + k :]) / widths
                computed[z.tobytes()] = values[:, 0], slopes
            return computed[z.tobytes()]

        constraints = {
            "type": "ineq",
            "fun": lambda z: np.nan_to_num(around(z)[0][1:], nan=-1.0),
            "jac": lambda z: np.nan_to_num(around(z)[1][1:], posinf=0.0, neginf=0.0),
        }
        _scipy().minimize(
            lambda z: float(np.nan_to_num(around(z)[0][0], posinf=1e6)),
            base[moved],
            jac=lambda z: np.nan_to_num(around(z)[1][0], posinf=0.0, neginf=0.0),
            method="SLSQP",
            bounds=[(0.0, 1.0)] * int(moved.sum()),
            constraints=[constraints] if limits else [],
            options={"maxiter": ITERATIONS, "ftol": PRECISION},
        )

    def optimum(self, message: str) -> Optimum:
        """The best row computed."""
        values = {
            name: x[0] if isinstance(x[0], str) else float(x[0])
            for name, x in self.space.values(self.point[None]).items()
        }
        missed = {c.column: float(c.missed(self.figures[c.column])) for c in self.goal.constraints}
        return Optimum(
            self.evaluation.study,
            self.goal,
            values,
            self.figures,
            missed,
            self.done,
            tuple(self.history),
            message,
        )


def _scipy() -> Any:
    try:
        return import_module("scipy.optimize")
    except ImportError as error:
        raise InputError(
            "requires SciPy, which is not installed: pip install 'forearm[optimise]'.", "optimise"
        ) from error
