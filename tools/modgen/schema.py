"""schema.c and schema_old.c: the tables of fields."""

import json
from collections.abc import Iterable
from typing import Optional

from csource import HEAD, c_array, c_names, initializer, quoted
from description import CTYPES, INTERFACE, SHOWN, SIZE_BINS, Table, maps_of, member_index, public


def c_values(f: Table) -> str:
    pairs = [(int(k), v) for k, v in f["values"].items()]
    pairs += [(1 << i, name) for i, name in enumerate(f["bits"].split())]
    if not pairs:
        return "0"
    cells = ", ".join(f"{{ {k}, {quoted(v)} }}" for k, v in pairs)
    return f"(const struct schema_value[]){{ {cells}, {{ 0, 0 }} }}"


def c_field(owner: Table, f: Table, module: Table, for_readers: bool) -> str:
    """Labels and descriptions are for readers alone."""
    header = module.get("header") or {"index": {}}
    element = module["elements"].get(f["element"])
    rare: Table = {"element": f"&{element['key']}_element"} if element else {}
    rare |= {"values": c_values(f)} if f["values"] or f["bits"] else {}
    rare |= {"bits": "1"} if f["bits"] else {}
    rare |= {"at_least": f["at_least"]} if f["at_least"] else {}
    rare |= {"shown": SHOWN[f["shown"]]} if SHOWN[f["shown"]] else {}
    rare |= {"doc": quoted(f["doc"])} if for_readers else {}
    if for_readers and f["darshan"]:
        rare |= {"labels": f"{owner['key']}_{f['name']}", "nlabels": len(f["darshan"])}
    return "\t" + initializer(
        name=quoted(f["name"]),
        type=f"FIELD_{f['type'].upper()}",
        reduce=f"REDUCE_{f['reduce'].upper()}",
        role=f"ROLE_{f['role'].upper()}",
        offset=f["offset"],
        count=f["count"],
        follows=owner["index"].get(f["follows"], -1),
        length=owner["index"].get(f["length"], -1),
        next=f["next"],
        valid_if=header["index"].get(f["valid_if"], -1),
        unit=quoted(f["unit"]),
        **rare,
    )


def c_labels(owner: Table, f: Table) -> str:
    body = "".join(f"\t{{ {quoted(d)}, {quoted(public(owner, d))} }},\n" for d in f["darshan"])
    return f"static const struct schema_label {owner['key']}_{f['name']}[] = {{\n{body}}};"


def c_fields(owner: Table, module: Table, for_readers: bool) -> list[str]:
    fields = "\n".join(c_field(owner, f, module, for_readers) for f in owner["fields"])
    labels = [c_labels(owner, f) for f in owner["fields"] if f["darshan"] and for_readers]
    return [*labels, f"static const struct schema_field {owner['key']}_fields[] = {{\n{fields}\n}};"]


def c_fills(index: dict[str, int], extra: list[str], groups: Iterable[tuple[Table, int]]) -> list[str]:
    rows = []
    for fills, stored in groups:
        for name, value in fills.items():
            source = extra.index(value) if isinstance(value, str) else -1
            number = 0 if isinstance(value, str) else value
            rows.append(f"{{ {index[name]}, {source}, {stored}, {number} }}")
    return rows


def c_history(module: Table) -> str:
    rows = ""
    members = member_index(module)
    for h in module.get("history", []):
        extra, element = h.get("extra", {}), h.get("element", {})
        names = extra.get("names", "").split()
        missing = c_fills(module["index"], names, [(h.get("missing", {}), 0)])
        parts = [(element.get("missing", {}), 0), (element.get("invalid", {}), 1)]
        fills = c_fills(members, names, parts)
        row = initializer(
            version=h["version"],
            nmissing=len(missing),
            missing=c_array("schema_fill", missing),
            nmembers=len(fills),
            members=c_array("schema_fill", fills),
            made=module["index"].get(element.get("made"), -1),
            extra_after=module["index"].get(extra.get("after"), -1),
            extra_count=len(names),
            add_to=module["index"].get(extra.get("add_to"), -1),
            drop_if_used=int(extra.get("drop_if_used", False)),
        )
        rows += f"\t{row}\n"
    name = f"static const struct schema_history {module['key']}_history[]"
    return f"{name} = {{\n{rows}\t{{ .version = 0 }},\n}};"


def c_element(e: Table, module: Table, for_readers: bool) -> list[str]:
    cells = initializer(fields=f"{e['key']}_fields", nfields=len(e["fields"]), size=e["size"])
    return [
        *c_fields(e, module, for_readers),
        f"static const struct schema_element {e['key']}_element = {cells[:-1]};",
    ]


def c_header(header: Table, module: Table, for_readers: bool) -> list[str]:
    cells = initializer(
        name=quoted(module["name"]),
        key=quoted(header["key"]),
        prefix=quoted(module["prefix"]),
        version=module["version"],
        layout="LAYOUT_PLAIN",
        size=header["size"],
        fields=f"{header['key']}_fields",
        nfields=len(header["fields"]),
        magic=header["magic"],
        nameless=int(module.get("nameless", False)),
        doc=quoted(header["doc"]),
    )
    return [
        *c_fields(header, module, for_readers),
        f"static const struct schema_module {header['key']} = {cells[:-1]};",
    ]


def c_module(module: Table, for_readers: bool = True) -> str:
    lines = [line for e in module["elements"].values() for line in c_element(e, module, for_readers)]
    lines += c_header(module["header"], module, for_readers) if module.get("header") else []
    return "\n".join([*lines, *c_fields(module, module, for_readers), c_history(module), ""])


def c_interface(interface: Table) -> str:
    cells = {key: quoted(interface[key]) for key in INTERFACE if interface.get(key)}
    return f"&(const struct schema_interface){initializer(**cells)}".removesuffix(",")


def c_row(number: str, name: str, m: Optional[Table], for_readers: bool = True) -> str:
    known = m and {
        "key": quoted(m["key"]),
        "prefix": quoted(m["prefix"]),
        "version": m["version"],
        "layout": f"LAYOUT_{m['layout'].upper()}",
        "size": m["size"],
        "fields": f"{m['key']}_fields",
        "nfields": len(m["fields"]),
        "roles": f"(const int16_t[]){{ {', '.join(map(str, m['roles'].values()))} }}",
        "history": f"{m['key']}_history",
        "nameless": int(m.get("nameless", False)),
    }
    if m and for_readers:
        known = {**(known or {}), "doc": quoted(m["doc"])}
    if m and m.get("called"):
        known = {**(known or {}), "called": quoted(m["called"])}
    if m and m.get("header"):
        known = {**(known or {}), "header": f"&{m['header']['key']}"}
    if m and m.get("interface"):
        known = {**(known or {}), "interface": c_interface(m["interface"])}
    if m and m.get("written_version"):
        known = {**(known or {}), "written_version": m["written_version"]}
    return f"\t[{number}] = {initializer(name=quoted(name), **(known or {}))}"


def schema_c(registry: Table, modules: list[Table], for_readers: bool = True) -> str:
    by_name = {m["name"]: m for m in modules}
    known = registry["modules"]
    numbers = map(str, range(max(map(int, known)) + 1))
    names = {n: known.get(n, "<UNKNOWN>") for n in numbers}
    rows = "\n".join(c_row(i, n, by_name.get(n), for_readers) for i, n in names.items())
    lines = [HEAD, '#include "schema.h"\n', *(c_module(m, for_readers) for m in modules)]
    lines.append(f"const struct schema_module schema_modules[LOG_MOD_COUNT] = {{\n{rows}\n}};\n")
    lists = {"type": CTYPES, "reduce": registry["reduce"], "size": SIZE_BINS.split()}
    lists["role"] = ["none", *registry["role"]]
    return "\n".join([*lines, *(c_names(k, v) for k, v in lists.items()), ""])


def schema_old_c(old: Optional[Table], modules: list[Table]) -> str:
    if not old:
        return HEAD + "\n"
    lines = [HEAD, '#include "schema.h"\n', c_module(old)]
    row = c_row("0", old["name"], old).removeprefix("\t[0] = ").removesuffix(",")
    lines.append(f"const struct schema_module schema_{old['key']} = {row};\n")
    rows = ""
    for module, when, pairs in maps_of(old, modules):
        copies = [f"{{ {module['index'][to]}, {old['index'][word]} }}" for to, word in pairs]
        row = initializer(
            module=module["id"],
            nwhen=len(when),
            when=f"(const int16_t[]){{ {', '.join(str(old['index'][w]) for w in when)} }}",
            ncopies=len(copies),
            copies=c_array("schema_copy", copies),
        )
        rows += f"\t{row}\n"
    return "\n".join(
        [*lines, f"const struct schema_map schema_maps[] = {{\n{rows}\t{{ .ncopies = 0 }},\n}};", ""]
    )


def schema_json(registry: Table, modules: list[Table]) -> str:
    for m in modules:
        for owner in (m, *m["elements"].values(), *filter(None, [m.get("header")])):
            del owner["counters"]  # the fields say the same
            for f in owner["fields"]:
                f["names"] = [public(m, d) for d in f["darshan"]]
    return json.dumps({**registry, "schema": modules}, indent=1) + "\n"
