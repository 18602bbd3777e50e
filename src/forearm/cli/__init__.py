"""The `forearm` command: one module per command, and what all commands share.

No mathematics here: a command parses its arguments, calls the package and
prints the result.
"""
