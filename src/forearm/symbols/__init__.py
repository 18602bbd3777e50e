"""The expression graph: hash-consed values, each expression stored once.

Built by running a formulation on its `Expr` scalars; counted, differentiated, evaluated, refined, ordered,
and written as code. It branches by `choose` and by `look_up` in a `LookupTable`, loops by `iterate`, and
stores a function that is called repeatedly once, as `Shared`.
"""

from forearm.symbols.calculus import derivative, gradient, jacobian
from forearm.symbols.counts import Counts
from forearm.symbols.evaluate import evaluate, substituted
from forearm.symbols.graph import Expr, Graph
from forearm.symbols.ordering import most_live, order
from forearm.symbols.refine import refined
from forearm.symbols.region import Region, Shared, iterate, when
from forearm.symbols.scalars import choose, look_up, maximum, minimum, quantised, rounded
from forearm.symbols.table import LookupTable

__all__ = [
    "Counts",
    "Expr",
    "Graph",
    "LookupTable",
    "Region",
    "Shared",
    "choose",
    "derivative",
    "evaluate",
    "gradient",
    "iterate",
    "jacobian",
    "look_up",
    "maximum",
    "minimum",
    "most_live",
    "order",
    "quantised",
    "refined",
    "rounded",
    "substituted",
    "when",
]
