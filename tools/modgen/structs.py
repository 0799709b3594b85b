"""records.h: a struct for each kind of record."""

from typing import Optional

from csource import HEAD, enum, numbered_enum
from description import CTYPES, LAYOUTS, Table


def member(f: Table) -> str:
    n = f["count"] * (8 if f["type"] in ("text", "uuid") else 1)
    return f"\t{CTYPES[f['type']]} {f['name']}" + (f"[{n}];" if n > 1 else ";")


def struct(tag: str, owner: Table, head: str, base: str = "") -> str:
    body = "".join(member(f) + "\n" for f in owner["fields"] if f["count"])
    size = f'_Static_assert(sizeof(struct {tag}) == {owner["size"]}, "{tag}");'
    return f"/* {head} */\nstruct {tag} {{\n{base}{body}}};\n{size}\n"


def structs(module: Table) -> str:
    base = "\tuint64_t id;\n\tint64_t rank;\n"
    found = [struct(e["key"], e, f"{module['name']}: {e['doc']}") for e in module["elements"].values()]
    if header := module.get("header"):
        found.append(struct(header["key"], header, f"{module['name']}: {header['doc']}", base))
        upper = module["key"].upper()
        found.append(f"#define {upper}_HEADER_MAGIC INT64_C({header['magic']:#x})")
        found.append(f"enum {{ {upper}_VERSION = {module['version']} }};\n")
    about = f"{module['name']}, version {module['version']}. {module['doc']}"
    return "\n".join([*found, struct(f"{module['key']}_record", module, about, base)])


def records_h(registry: Table, modules: list[Table], old: Optional[Table]) -> str:
    lines = [HEAD, "#pragma once\n#include <stdint.h>\n"]
    lines.append(numbered_enum("log_module", "LOG_MOD_", registry["modules"]))
    lines.append(enum("field_type", "FIELD_", CTYPES, "TYPE_COUNT"))
    lines.append(enum("field_reduce", "REDUCE_", registry["reduce"]))
    lines.append(enum("field_role", "ROLE_", ["none", *registry["role"]]))
    lines.append(enum("record_layout", "LAYOUT_", ["unknown", *LAYOUTS]))
    return "\n".join(lines + [structs(m) for m in [*modules, *filter(None, [old])]])
