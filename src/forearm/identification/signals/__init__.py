"""From a user's log to what a fit reads: columns found, rows cleaned, positions filtered and differentiated
without delay, block by block; what is wrong with a log is said by the name of its column.
"""
