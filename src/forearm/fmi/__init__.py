"""An arm with its drives as a Functional Mock-up Unit: what it computes, FMI's functions around that as
machine code and C, its description, and the file.
"""
