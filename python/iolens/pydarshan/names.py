"""Names and layout of PyDarshan's records: what the schema has, in PyDarshan's order."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from iolens.log import Field, _native, modules
from iolens.log.table import Schema, TableSpec

__all__ = [
    "AUTOPERF",
    "COMPONENT",
    "MODULES",
    "PARTS",
    "SPECIAL",
    "TRACES",
    "Labels",
    "counter_fields",
    "labels",
]

PARTS = ("counters", "fcounters")

# What PyDarshan has other shapes for.
TRACES = tuple(m.darshan for m in modules.TRACES)
AUTOPERF = tuple(m.darshan for m in modules.KNOWN if m.library == "autoperf")
SPECIAL = {"HEATMAP", "LUSTRE", *TRACES, *AUTOPERF}

# Darshan's names by the module's number.
MODULES = [m.darshan for m in modules.KNOWN]

# Of each Lustre component: PyDarshan's name, the column, and what stands there in logs that did not have it.
COMPONENT = [
    ("LUSTRE_COMP_STRIPE_SIZE", "component_stripe_size", -1),
    ("LUSTRE_COMP_STRIPE_COUNT", "component_stripe_count", -1),
    ("LUSTRE_COMP_STRIPE_PATTERN", "component_stripe_pattern", -1),
    ("LUSTRE_COMP_FLAGS", "component_flags", -1),
    ("LUSTRE_COMP_EXT_START", "component_ext_start", 0),
    ("LUSTRE_COMP_EXT_END", "component_ext_end", -1),
    ("LUSTRE_COMP_MIRROR_ID", "component_mirror_id", -1),
]


@dataclass(frozen=True)
class Labels:
    """PyDarshan's names of a module's counters, and the columns that stand for something in its analysis."""

    counters: tuple[str, ...]
    fcounters: tuple[str, ...]
    roles: dict[str, tuple[str, ...]]


def counter_fields(fields: Schema) -> list[Field]:
    """The counters; ids of other records are none to PyDarshan."""
    found = (f for f in fields if f.darshan and f.count and f.type != "string")
    return [f for f in found if not f.darshan[0].endswith("_REC_ID")]


@functools.cache
def labels(module: int) -> Labels:
    """Of a module by its number, without a log."""
    spec = TableSpec("records", module)
    fields = counter_fields(Schema(lambda: _native.scan((), spec.native(), 1, False, ())))
    roles: dict[str, tuple[str, ...]] = {}
    for field in fields:
        roles[field.role] = roles.get(field.role, ()) + field.darshan
    integers = tuple(name for f in fields if f.type != "double" for name in f.darshan)
    doubles = tuple(name for f in fields if f.type == "double" for name in f.darshan)
    return Labels(integers, doubles, roles)
