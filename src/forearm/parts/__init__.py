"""The parts database: mass, centre of mass and inertia of links from the solids in their drawings. Swartz p.
2.

`shapes` and `stl` compute single solids, `database` combines them, `refresh` updates an arm file from them.
"""
