"""Execution of a study's parts: threads, processes, Dask, Ray, MPI, Slurm; the entry point `fa.sweep`.

Workers only compute. The leading process commits their results, and retries lost parts.
"""
