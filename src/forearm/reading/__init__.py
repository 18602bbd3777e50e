"""Where untrusted bytes become checked values: bounded files, TOML fields that know
their schema, hardened XML.

Nothing in here knows what an arm is.
"""
