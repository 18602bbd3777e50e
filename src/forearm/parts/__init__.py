"""The parts database: mass, centre and inertia of links from the solids in their drawings. Swartz p. 2.

`shapes` and `stl` know single solids, `database` puts them together, `refresh` keeps an
arm file true to them.
"""
