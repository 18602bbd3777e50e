"""Operation counts in Mata's Tables 1 to 4 and in the steps of his algorithms:
formulas at n = 6, sums over steps, rows of other authors, orders in n.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from forearm.counting import mata
from forearm.counting.augmented import count_augmented
from forearm.counting.cost import general
from forearm.counting.counts import GENERAL, conventional, run
from forearm.counting.luh import count_luh
from forearm.counting.models import chain
from forearm.counting.polynomial import Polynomial, fit
from forearm.counting.printed import figure, mata_steps, printed
from forearm.counting.quantities import MIDDLE
from forearm.dynamics.gibbs_appell import gibbs_appell_sum, inertia_sum
from forearm.model import cross, steps
from forearm.reproduce.recompute import Figures, by_words, divisions_too
from forearm.symbols.counts import Counts
from forearm.symbols.recorder import Recorder

LINKS = 6
WORDS = ("products", "sums")
TERM = re.compile(r"([+-]?)\s*((?:\d+ (?=\d+/))?\d+(?:\.\d+)?(?:/\d+)?)?\s*(n(?:\^(\d))?)?")
# Transcribed from Table 3, whose parts and total are not among the printed counts of `counting`.
TABLE_3 = {
    "D": ("11.5n^2 + 19.5n - 49", "8.5n^2 + 31.5n - 69"),
    "bias": ("96n - 108", "83n - 105"),
    "Cholesky": ("1/6n^3 + 1/2n^2 + 1/3n", "1/6n^3 + 1/2n^2 + 1/3n"),
    "solving": ("n^2", "n^2 - n"),
    "total": ("1/6n^3 + 13n^2 + 695/6n - 157", "1/6n^3 + 10n^2 + 683/6n - 174"),
}
# Rows of Tables 1, 2 and 4: our implementation of each author's formulation.
OURS = {
    "Angeles, Kane": ("modified-newton-euler", "inverse"),
    "Walker and Orin": ("composite-body", "inertia_matrix"),
    "Angeles and Ma": ("orthogonal-complement", "inertia_matrix"),
    "forward, Walker and Orin": ("composite-body", "forward"),
    "forward, Featherstone": ("articulated-body", "forward"),
    "forward, Angeles and Ma": ("orthogonal-complement", "forward"),
}


def polynomial(text: str) -> dict[int, Fraction]:
    """The coefficients by power of n of a printed formula such as `12n^2 + 56n` or `32 1/2 n^4 - 128`."""
    found: dict[int, Fraction] = {}
    for sign, number, n, power in TERM.findall(text.split("(")[0]):
        if number or n:
            k = int(power or 1) if n else 0
            size = sum(map(Fraction, (number or "1").split()))
            found[k] = found.get(k, Fraction(0)) + size * (-1 if sign == "-" else 1)
    return found


def value(text: str, n: int) -> Fraction:
    """The value of a printed formula at n."""
    return sum((c * n**k for k, c in polynomial(text).items()), Fraction(0))


def formulas() -> Figures:
    """Mata Tables 1-3: every printed formula at n = 6."""
    rows = {f"Table {k}, this work": figure(f"mata-{k}")["formula"] for k in (1, 2)}
    for table in printed()["cited"][:2]:
        rows |= {
            f"{table['place'].removeprefix('Mata ')}, {row[0].split(',')[0]}": row[1:]
            for row in table["rows"]
        }
    rows |= {f"Table 3, {name}": pair for name, pair in TABLE_3.items()}
    return {
        f"{label}, {word}": value(text, LINKS)
        for label, pair in rows.items()
        for word, text in zip(WORDS, pair, strict=True)
    }


def sums() -> Figures:
    """Mata 4.1, 4.2, Table 3: coefficients of his formulas summed from his own counts per step,
    and of the total summed from its parts.
    """
    figures = {}
    for k, word in enumerate(WORDS):
        figures[f"Table 1, n, {word}"] = sum(step["printed"][k] for step in printed()["step"])
        by = (fit(lambda n: mata_steps(n).mul), fit(lambda n: mata_steps(n).add))[k]
        for power in (2, 1, 0):
            figures[f"Table 2, {_power(power)}, {word}"] = by.coefficients[power]
        parts = [polynomial(pair[k]) for name, pair in TABLE_3.items() if name != "total"]
        for power in (3, 2, 1, 0):
            total = sum((part.get(power, Fraction(0)) for part in parts), Fraction(0))
            figures[f"Table 3, total, {_power(power)}, {word}"] = total
    return figures


def _power(k: int) -> str:
    return {0: "1", 1: "n"}.get(k, f"n^{k}")


def steps_41() -> Figures:
    """Mata 4.1: the steps that `forearm count --printed` counts together, each counted
    separately on recorded scalars.
    """
    graph = Recorder()
    model = conventional(chain(5).model(), graph, GENERAL)
    at = steps(model, graph.inputs("q", 5))[MIDDLE]
    a, b = graph.inputs("a", 3), graph.inputs("b", 3)
    turned, product, added = (
        graph.counts(result) for result in (at.up(a), cross(model.bodies[MIDDLE].r, a), a + b)
    )
    made = {
        "w turned": turned,
        "phi": turned + added,
        "chi": product + product + turned + added + added + added,
    }
    by = run(chain(5), "gibbs-appell").by_quantity()
    made |= {"w added": by["w", MIDDLE] - turned, "tau": by["tau", MIDDLE]}
    return _pairs(made)


def steps_42() -> Figures:
    """Mata 4.2: operations that one more pair of links, or one more link, adds to our recursion
    for the inertia matrix; psi by his accounting.
    """
    by = run(chain(LINKS, aligned=True), "gibbs-appell", "inertia_matrix").by_quantity()
    more = {symbol: by[symbol, 4] - by[symbol, 3] for symbol in ("s", "dwd", "D")}
    psi, entry = mata.count_psi()
    made = {
        "2: s, one more pair": more["s"],
        "3: z, one more pair": more["dwd"],
        "4: phi": by["phi", 2],
        "5: psi": psi,
        "5: one entry of psi_1": entry,
        "6: D_ii": by["", -1],
        "7: D_jk, one more pair": more["D"],
    }
    return _pairs(made)


def cited() -> Figures:
    """Mata Tables 1, 2, 4: our general counts of other authors' formulations at n = 6, divisions counted as
    products; Luh's by his accounting.
    """
    made = {name: general(*method).at(LINKS) for name, method in OURS.items()}
    return _pairs(made | {"Luh": count_luh(LINKS)})


def balafoutis() -> Figures:
    """Mata Table 1: our general counts of Newton-Euler with augmented bodies, n = 6."""
    return _pairs({"Balafoutis and Patel": count_augmented(LINKS)})


def cited_per_link() -> Figures:
    """Mata Table 1: operations per additional link in our recursions that match those of other authors."""
    modified = general("modified-newton-euler")
    return _pairs(
        {
            "Luh": count_luh(LINKS + 1) - count_luh(LINKS),
            "Angeles, Kane": modified.at(LINKS + 1) - modified.at(LINKS),
            "Balafoutis and Patel": count_augmented(LINKS + 1) - count_augmented(LINKS),
        }
    )


def orders() -> Figures:
    """Mata's orders in n: degrees of the polynomials fitted to our exact counts."""
    sum_13 = _fitted(gibbs_appell_sum)
    sum_21 = _fitted(lambda model, q, _qd, _qdd: inertia_sum(model, q))
    named = {
        "inverse dynamics, 4.1": general("gibbs-appell"),
        "inertia matrix, 4.2": general("gibbs-appell", "inertia_matrix"),
        "inertia matrix, CRBA": general("composite-body", "inertia_matrix"),
        "inertia matrix, NOC": general("orthogonal-complement", "inertia_matrix"),
        "forward dynamics, ABA": general("articulated-body", "forward"),
    }
    degrees = {label: by.degree for label, by in named.items()}
    return degrees | {"inverse dynamics, (13)": sum_13.degree, "inertia matrix, (21)": sum_21.degree}


def crossing() -> Figures:
    """Mata 1: the smallest number of bodies at which the articulated-body algorithm takes
    fewer operations than the composite-body algorithm.
    """

    def first(cost: Callable[[Counts], int]) -> float:
        dear, cheap = (general(name, "forward") for name in ("composite-body", "articulated-body"))
        return float(next(n for n in range(2, 100) if cost(cheap.at(n)) < cost(dear.at(n))))

    return {"by products": first(lambda c: c.mul), "by products and sums": first(lambda c: c.mul + c.add)}


def formula(texts: tuple[str, str], n: int) -> float:
    """Products plus sums of two printed formulas at n."""
    return float(sum(value(text, n) for text in texts))


def _fitted(function: Callable[..., Any]) -> Polynomial:
    """The polynomial fitted to the multiplications of a function of model, q, qd, qdd on generic chains."""

    def products(n: int) -> int:
        graph = Recorder()
        states = [graph.inputs(name, n) for name in ("q", "qd", "qdd")]
        return graph.counts(function(conventional(chain(n).model(), graph, GENERAL), *states)).mul

    return fit(products)


def _pairs(made: dict[str, Counts]) -> Figures:
    return by_words({label: divisions_too(c) for label, c in made.items()}, WORDS)
