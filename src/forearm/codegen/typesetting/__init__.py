"""The parts of a LaTeX document: escaped texts, names of values, sums in lines, equations, statements.

`Page` writes formulas and records the notation that readers need explained.
"""
