"""Where PyDarshan has its functions of single records."""
