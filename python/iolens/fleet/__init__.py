"""The jobs of a machine, in one place."""
