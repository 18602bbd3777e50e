"""Operation counts, obtained by running the formulations on recording scalars and matrices.

The scalars are those of `symbols.recorder`; `matrices` has Waters' 4x4 matrices, `models` the generic chain.
`counts` runs the methods on them, `quantities` splits a count by symbol, `polynomial` fits counts in n and
`cost` does so for every method. `printed` compares ours with the printed counts of the documents; `waters`
`mata` and `luh` have the variants of the steps that Waters, Mata and Luh count, `augmented` a recursion that
Mata cites.
"""

from forearm.counting.cost import general
from forearm.counting.counts import count
from forearm.symbols.counts import Counts

__all__ = ["Counts", "count", "general"]
