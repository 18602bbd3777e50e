"""Computation of a study's rows: from values of variables to parameters of arms, motions and laws, and to
figures.

`evaluation` is used by sweeps and optimisers; `row_simulation` simulates one row in full.
"""
