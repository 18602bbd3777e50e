"""What `forearm demo` computes for its page, and the page: one HTML file that fetches nothing.

`motion`, `counted`, `chapters` and `speed` make the results with their reports, `page` puts them together.
"""
