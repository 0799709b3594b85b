"""Pages, one file for each kind. A page is a function of what it is asked (``PageRequest``), listed in ``routes``."""
