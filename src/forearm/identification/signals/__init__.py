"""From a user's log to samples for a fit: columns identified, rows cleaned, positions filtered and
differentiated without delay, block by block; faults of a log are reported by column name.
"""
