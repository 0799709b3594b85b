"""From log directories into the tables of a lake."""
