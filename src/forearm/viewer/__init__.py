"""The studio: one HTML page that contains an arm's own dynamics as JavaScript.

`arm_code` writes the functions of an arm that the page calls, `arm_data` the data that it shows;
`studio_page` puts both into one file with the scripts of the folder `page`, and `live` serves it. `door` has
`fa.studio`.
"""
