"""Which values the rows of a study have: distributions of variables, correlation between them, and designs.

Every row is computed from the seed and its own number, whatever block of rows it is asked for in.
"""
