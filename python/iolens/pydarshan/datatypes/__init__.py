"""Where PyDarshan has its heat maps."""
