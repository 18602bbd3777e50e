"""The classical controllers: what is computed from the model, what from the error,
and what is left out of either.

Each is made as `Name(arm, ...)` from the arm that it believes in, and asked for torques by the loop.
"""
