"""Turn module descriptions (modules/<x>/<x>.toml) into C structs, field tables, JSON and a docs page.

usage: modgen REGISTRY OUTDIR WRITTEN TOML...      records.h, schema.c, schema_written.c, schema_old.c, schema.json,
                                                      written.h, written.c
       modgen --docs REGISTRY FILE.md TOML...
       modgen --docs-old REGISTRY FILE.md TOML...

A TOML describes a module, or, with [map.<module>] tables, the records of logs older than modules
(format/records/cp.toml).
WRITTEN lists the modules, by their keys and with commas, that the preload library writes: schema_written.c describes
those alone, and written.[ch] are the table of those that keep records in a process's store (a [written] table) and of
the operations that are counted by name ([operations]: interface -> names), and of the calls that are counted by kind
(lists and [uncounted] of a TOML that has this). A TOML of operations alone is a module without records.
"""

import sys
from pathlib import Path

from description import read
from pages import docs_md, docs_old_md
from schema import schema_c, schema_json, schema_old_c
from structs import records_h
from written import calls_of, read_operations, traces_of, written_c, written_h


def main(args: list[str]) -> None:
    if args[:1] in (["--docs"], ["--docs-old"]):
        registry, modules, old = read(args[1], args[3:])
        of_old = old and args[0] == "--docs-old"
        Path(args[2]).write_text(docs_old_md(old, modules) if old and of_old else docs_md(registry, modules))
        return
    registry, modules, old = read(args[0], args[3:])
    written = [m for m in modules if m["key"] in args[2].split(",")]
    stored = [m for m in written if "written" in m]
    own = {m["id"] for m in written}  # a module under development has the id of Darshan's example
    modules = [m for m in modules if m in written or m["id"] not in own]
    operations, calls = read_operations(args[3:]), calls_of(modules)
    for name, text in {
        "records.h": records_h(registry, modules, old),
        "schema_old.c": schema_old_c(old, modules),
        "schema.c": schema_c(registry, modules),
        "schema_written.c": schema_c(registry, written, for_readers=False),
        "schema.json": schema_json(registry, modules),
        "written.h": written_h(stored, traces_of(stored, modules), operations, calls),
        "written.c": written_c(stored, traces_of(stored, modules), operations, calls),
    }.items():
        Path(args[1], name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
