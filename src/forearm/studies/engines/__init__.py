"""Parts of a study run somewhere: threads, processes, Dask, Ray, MPI, Slurm; the door `fa.sweep`.

Workers only compute. The process that leads them commits what comes back, and tries again what was lost.
"""
