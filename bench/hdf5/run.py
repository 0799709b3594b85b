"""What observing adds to HDF5 calls: instructions per call (valgrind), or time.

`python bench/hdf5/run.py [--rounds N]`: bare, observed, and observed without H5F and H5D, which is what the POSIX calls
below cost. With rounds: nanoseconds, the least of that many runs each, taken in turn. What HDF5 clears takes 1,700 to
1,900 instructions more at some addresses.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from calls import Calls

if __name__ == "__main__":
    Calls(
        # Debian's wrapper links the static library unless it is told not to.
        compiler=["h5cc", "-shlib"],
        source=Path(__file__).resolve().with_name("hdf5.c"),
        libraries=[],
        data="data.h5",
        kinds=[
            "write-hyperslab",
            "get-select-write-close",
            "read-hyperslab",
            "write-all",
            "read-all",
            "open+close",
            "flush",
        ],
        modules="H5F,H5D",
        heading="call of 64 B",
    ).main(__doc__)
