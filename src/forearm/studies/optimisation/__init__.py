"""The best design of a study: a goal with constraints, the space of its variables, and a search in it.

Rows are those of a sweep, computed a population at a time.
"""
