"""A lake asked by Spark: the same tables, the same queries, as many machines as there are.

Needs ``iolens[spark]``, Java, and Delta's connector where Spark looks for its jars.
"""
