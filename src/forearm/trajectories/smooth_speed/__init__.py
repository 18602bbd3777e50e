"""The fastest speed along a path within limits of jerk: a sequence of convex problems on a grid of places.

It begins with the profile that `shortest_time` finds without them.
"""
