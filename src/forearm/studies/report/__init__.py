"""The results of a study as one HTML page that fetches nothing: tables, histograms, fronts, sensitivities.

`source` says what a study must offer, `page` puts the sections together; the scripts draw from embedded rows.
"""
