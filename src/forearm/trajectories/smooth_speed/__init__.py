"""The fastest speed along a path within jerk limits: a sequence of convex problems on a grid.

It starts from the profile that `shortest_time` finds without them.
"""
