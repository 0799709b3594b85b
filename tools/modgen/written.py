"""written.[ch]: the modules that keep records in a store of a process, and the operations that are counted by name."""

import sys
from pathlib import Path

from csource import HEAD, enum, initializer, quoted
from description import Table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def operations_of(modules: list[Table]) -> list[tuple[str, str]]:
    """(interface, name) of all operations that are counted by name."""
    tables = [m["operations"].items() for m in modules if "operations" in m]
    return [(interface, name) for table in tables for interface, names in table for name in names.split()]


def read_operations(paths: list[str]) -> list[tuple[str, str]]:
    return operations_of([tomllib.loads(Path(p).read_text()) for p in paths])


def traces_of(stored: list[Table], modules: list[Table]) -> list[Table]:
    """The modules of traces of those that keep records."""
    keys = {m["key"] for m in stored}
    return [m for m in modules if m.get("interface", {}).get("traces") in keys]


def calls_of(modules: list[Table]) -> list[tuple[str, str, Table]]:
    """(name, kind, module) of all calls that are counted by kind, those with counters in a record first."""
    return [
        (name.lower(), kind, m)
        for m in modules
        if "uncounted" in m
        for table in (m["lists"], m["uncounted"])
        for kind, names in table.items()
        for name in names.split()
    ]


def written_h(
    modules: list[Table],
    traces: list[Table],
    operations: list[tuple[str, str]],
    calls: list[tuple[str, str, Table]],
) -> str:
    """The enums that size the tables of a store; a slot of `enum written` is a module that keeps records."""
    keys = [m["key"] for m in modules]
    heats = [m["key"] for m in modules if m["written"]["heat_map"]]
    slots = ", ".join(f"WRITTEN_{key.upper()}" for key in heats)
    return "\n".join(
        [
            HEAD,
            "#pragma once\n",
            enum("written", "WRITTEN_", keys),
            enum("state_heat_id", "STATE_HEAT_", heats),
            enum("trace_interface", "TRACE_", [m["interface"]["traces"] for m in traces]),
            enum("state_operation_id", "STATE_OP_", (f"{i}_{n}" for i, n in operations)),
            enum("state_call_id", "STATE_CALL_", (name for name, _, _ in calls)),
            "/* By enum state_heat_id. */",
            f"static const unsigned char written_of_heat[] = {{ {slots} }};",
        ]
    )


def c_offsets(module: Table, names: str) -> str:
    offsets = [module["fields"][module["index"][name]]["offset"] for name in names.split()]
    return f"(const uint16_t[]){{ {', '.join(map(str, [*offsets, 0]))} }}" if offsets else "0"


def c_call(name: str, kind: str, module: Table) -> str:
    """Where a call's counters and times begin in the record; nowhere: 0."""

    def at(field: str) -> int:
        index = module["index"].get(f"{name}_{field}")
        return 0 if index is None else int(module["fields"][index]["offset"])

    sized = f"{name}_total_bytes" in module["index"]
    row = initializer(
        name=quoted(name),
        kind=quoted(kind),
        counters=at("call_count"),
        times=at("total_time"),
        synchronized=at("total_sync_time"),
        sized=int(sized),
    )
    return f"\t{row}\n"


def written_c(
    modules: list[Table],
    traces: list[Table],
    operations: list[tuple[str, str]],
    calls: list[tuple[str, str, Table]],
) -> str:
    heats = [m["key"] for m in modules if m["written"]["heat_map"]]
    rows, maps = "", ""
    for m in modules:
        written = m["written"]
        row = initializer(
            module=m["id"],
            key=quoted(m["key"]),
            size=m["size"],
            heat=heats.index(m["key"]) if m["key"] in heats else -1,
            descriptors=int(written["descriptors"]),
            at_most=written["at_most"],
            used=c_offsets(m, written["used"]),
            used_but_by_streams=c_offsets(m, written["used_but_by_streams"]),
        )
        rows += f"\t[WRITTEN_{m['key'].upper()}] = {row}\n"
        if m["key"] in heats:
            name = quoted("heatmap:" + m["key"].upper())
            maps += f"\t[STATE_HEAT_{m['key'].upper()}] = {{ {name}, {m['id']} }},\n"
    table = f"const struct written_module written_modules[WRITTEN_COUNT] = {{\n{rows}}};\n"
    heat = f"const struct written_heat written_heats[STATE_HEAT_COUNT] = {{\n{maps}}};\n"
    rows = "".join(f"\t{{ {m['id']}, {m.get('written_version', m['version'])} }},\n" for m in traces)
    traced = f"const struct written_trace written_traces[TRACE_COUNT] = {{\n{rows}}};\n"
    rows = "".join(f"\t{{ {quoted(i)}, {quoted(n)} }},\n" for i, n in operations)
    named = f"const struct written_operation written_operations[STATE_OP_COUNT] = {{\n{rows}}};\n"
    rows = "".join(c_call(*call) for call in calls)
    called = f"const struct written_call written_calls[STATE_CALL_COUNT] = {{\n{rows}}};\n"
    return "\n".join([HEAD, '#include "schema.h"\n', table, heat, traced, named, called])
