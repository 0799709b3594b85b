"""The lake: its tables, how files are written and committed, and the lake as a dataset."""
