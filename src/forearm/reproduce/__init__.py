"""Every figure of the five documents that we can recompute, beside the printed one,
with the difference explained.

`printed/*.toml` holds what is printed, typed from the texts; `recompute` the functions that compute it anew,
one module per document or theme, with `friction_study`, `lines` and `sessions` behind them; `catalogue` puts
both together, with a verdict.
"""

from forearm.reproduce.catalogue import DOCUMENTS, Item, Result, catalogue, reproduce

__all__ = ["DOCUMENTS", "Item", "Result", "catalogue", "reproduce"]
