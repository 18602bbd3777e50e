"""Untrusted bytes to checked values: bounded files, TOML fields with a schema, hardened XML.

Nothing here depends on what an arm is.
"""
