"""What `forearm demo` computes for its page, and the page: one HTML file that fetches nothing.

`motion`, `counted` and `speed` make the figures, `curves` draws torques, `page` puts them together.
"""
