"""The portal: a lake as pages and as an API, each viewer's own part of it. Needs ``iolens[portal]``.

``access`` says who may see what; ``bounded`` makes a database that holds nothing else, and it is all that pages,
tables, counts and viewers' own SQL are ever given (docs/decisions/0035).
"""
