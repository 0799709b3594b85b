"""Darshan's names of the modules that tests loop over, from the generated table."""

from __future__ import annotations

import json

import places

_MODULES = json.loads((places.BUILD / "format" / "schema.json").read_text())["schema"]
_DATA = [m for m in _MODULES if m.get("interface", {}).get("level") in {"libc", "middleware"}]

LIBC = tuple(m["name"] for m in _DATA if m["interface"]["level"] == "libc")
"""POSIX, STDIO: what every program uses."""

RECORDED = tuple(m["name"] for m in _DATA if "written" in m)
"""These and MPI-IO."""

HDF5 = tuple(m["name"] for m in _MODULES if m.get("interface", {}).get("library") == "hdf5")
"""Files and datasets."""

PNETCDF = tuple(m["name"] for m in _MODULES if m.get("interface", {}).get("library") == "pnetcdf")
"""Files and variables."""

TRACES = tuple(m["name"] for m in _MODULES if "traces" in m.get("interface", {}))
"""DXT's."""

AUTOPERF = tuple(m["name"] for m in _MODULES if m.get("interface", {}).get("library") == "autoperf")
"""What has a first record of another kind."""
