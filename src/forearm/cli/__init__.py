"""The `forearm` command: one module per command, and the voice they share.

No mathematics lives here: a command reads its arguments, calls the room that knows,
and shows what comes back.
"""
