"""Optimisation of a study's design: objective and constraints, search space, and search.

Rows are computed as in a sweep, one population at a time.
"""
