"""What observing adds to PnetCDF calls: instructions per call (valgrind), or time.

`python bench/pnetcdf/run.py [--rounds N]`: bare, observed, and observed without the PnetCDF modules, which is what the
MPI-IO and POSIX calls below cost. With rounds: nanoseconds, the least of that many runs each, taken in turn.
One rank of Open MPI, for which Debian's PnetCDF is built.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from calls import Calls

if __name__ == "__main__":
    Calls(
        compiler=["mpicc.openmpi", "-I/usr/include"],
        source=Path(__file__).resolve().with_name("pnetcdf.c"),
        libraries=["-lpnetcdf"],
        data="data.nc",
        kinds=[
            "put_vara_int_all",
            "get_vara_int_all",
            "get_var1_int_all",
            "iput_vara_int, cancel",
            "inq_varid",
        ],
        modules="PNETCDF_FILE,PNETCDF_VAR",
        heading="call",
    ).main(__doc__)
