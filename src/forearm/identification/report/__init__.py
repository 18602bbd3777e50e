"""Reports of an identification: tables, a JSON document, an HTML page.

Nothing is estimated here; spectra, friction curves and advice are computed from the residuals of the fit.
"""
