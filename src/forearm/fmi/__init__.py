"""An arm with its drives as a Functional Mock-up Unit (FMU): its model functions, FMI's functions around
them as machine code and C, its description, and the file.
"""
