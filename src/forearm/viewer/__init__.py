"""The studio: one HTML page that carries an arm's own dynamics as JavaScript.

`arm_code` writes the functions of an arm that the page calls, `arm_data` what it shows, `page` puts both into
one file with the scripts of the folder `page`.
"""
