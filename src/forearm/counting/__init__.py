"""Operation counts: formulations run on scalars and matrices that count, never a table of formulae.

`counts` counts, `polynomial` fits its results in n, `printed` sets them beside the figures of the documents.
"""
