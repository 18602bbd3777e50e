"""The expression graph: values that remember how they were made, each once.

Built by running a formulation on its `Expr` scalars; counted, differentiated, evaluated, refined,
ordered, and written as code.
"""

from forearm.symbols.calculus import derivative, gradient, jacobian, substituted
from forearm.symbols.counts import Counts
from forearm.symbols.evaluate import evaluate
from forearm.symbols.graph import Expr, Graph
from forearm.symbols.ordering import most_live, order
from forearm.symbols.refine import refined

__all__ = [
    "Counts",
    "Expr",
    "Graph",
    "derivative",
    "evaluate",
    "gradient",
    "jacobian",
    "most_live",
    "order",
    "refined",
    "substituted",
]
