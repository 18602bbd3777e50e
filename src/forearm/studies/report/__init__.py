"""The results of a study as a self-contained HTML page: tables, histograms, fronts, sensitivities.

`source` defines what a study must provide, `page` assembles the sections; the scripts draw from embedded
rows.
"""
