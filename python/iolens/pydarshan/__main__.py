"""PyDarshan's commands on our reader: `python -m iolens.pydarshan summary job.darshan`."""

from __future__ import annotations

import importlib
import sys

from iolens.pydarshan.adopted import take_name

if __name__ == "__main__":
    try:
        take_name()
    except ModuleNotFoundError as error:
        sys.exit(str(error))
    importlib.import_module("darshan.cli").main()
