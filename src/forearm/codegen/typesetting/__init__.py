"""What a LaTeX document is made of: texts that mean themselves, names of values, sums in lines,
equations, statements.

`Page` writes formulas and remembers what it used that a reader has to be told.
"""
