"""What an identification says: tables, a JSON document, a page for a browser.

Nothing is estimated here; spectra, friction curves and advice are computed from what the fit left.
"""
