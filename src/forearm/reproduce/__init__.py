"""The printed values of the five documents compared with ours, each with a kind, a verdict and a reason.

`printed/*.toml` holds the printed values, typed from the texts; `recompute` the functions that compute ours,
one module per document or theme, with `friction_study`, `lines` and `sessions` behind them; `catalogue`
compares both, `kinds` says what a comparison proves, `totals` counts by kind and verdict.
"""

from forearm.reproduce.catalogue import DOCUMENTS, Item, Result, catalogue, reproduce

__all__ = ["DOCUMENTS", "Item", "Result", "catalogue", "reproduce"]
