"""Rows of a study computed: from values of variables to numbers of arms, motions and laws, and to figures.

`evaluation` is what sweeps and optimisers call; `row_simulation` gives one row back as a simulation.
"""
