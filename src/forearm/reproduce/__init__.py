"""Every figure of the five documents that we can recompute, beside the printed one, with the difference explained.

`printed/*.toml` holds what is printed, typed from the texts; `recompute` holds the functions that compute it anew; `catalogue`
puts the two together and gives the verdict.
"""

from forearm.reproduce.catalogue import DOCUMENTS, Item, Result, catalogue, reproduce

__all__ = ["DOCUMENTS", "Item", "Result", "catalogue", "reproduce"]
