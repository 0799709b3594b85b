"""For pytest: `darshan` is iolens.pydarshan in this process, and so PyDarshan's tests test it."""

import os

if os.environ.get("PYDARSHAN_READER", "iolens") == "iolens":
    from iolens.pydarshan.adopted import take_name

    take_name()
