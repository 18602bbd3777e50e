"""Operation counts: formulations run on scalars and matrices that record, never a table of formulae.

The scalars are those of `symbols.recorder`, `matrices` has Waters' 4x4, `models` the generic chain; `counts`
runs the methods on them, `quantities` splits a count by symbol. `polynomial` fits results in n, `cost` does
so for every method. `printed` sets ours beside the figures of the documents, `waters` doing the steps in
Waters' own ways where he counts those.
"""

from forearm.counting.cost import general
from forearm.counting.counts import count
from forearm.symbols.counts import Counts

__all__ = ["Counts", "count", "general"]
