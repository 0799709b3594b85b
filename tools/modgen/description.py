"""Module descriptions (modules/<x>/<x>.toml), read, expanded and checked."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Table = dict[str, Any]
BASE = 16  # u64 id, i64 rank
LAYOUTS = ["heatmap", "plain", "headed", "lustre", "dxt", "counted"]
CTYPES = {
    **{"i64": "int64_t", "u64": "uint64_t", "f64": "double"},
    "u32": "uint64_t",  # with four bytes of padding in the log
    **{"text": "char", "uuid": "uint8_t"},
}
SIZE_BINS = "0_100 100_1K 1K_10K 10K_100K 100K_1M 1M_4M 4M_10M 10M_100M 100M_1G 1G_PLUS"
SHOWN = {"in order": 0, "first": -1, "last": 1}
DEFAULTS = {
    **{"type": "i64", "unit": "", "role": "none", "reduce": "any", "count": 1, "length": None},
    **{"follows": None, "valid_if": None, "at_least": 0, "shown": "in order", "element": None},
    **{"values": {}, "bits": ""},
}
INTERFACE = ("title", "level", "library", "library_title", "over", "within", "traces")
WRITTEN = {"heat_map": False, "descriptors": False, "at_most": 1, "used": "", "used_but_by_streams": ""}
KEYS = {"name", "darshan", "doc", "bins", "top", "dims", "bytes", "offset", "next", *DEFAULTS}


def field(owner: Table, counter: Table, name: Optional[str] = None, **change: Any) -> Table:
    """One entry of the record: a scalar, or an array whose elements have Darshan names of their own."""
    f = {**DEFAULTS, **counter, **change}
    f["name"] = name or counter["name"]
    if "bytes" in f:
        f["count"] = f["bytes"] // 8
    if "darshan" not in f:
        infix = owner.get("infix", "F_") if f["type"] == "f64" else ""
        f["darshan"] = [] if f["length"] else [f"{owner['prefix']}{infix}{f['name'].upper()}"]
    return f


def patterns(upper: str, name: str, number: int, dims: int) -> list[str]:
    """Darshan's names of one frequent value, which may be a pattern of several numbers."""
    at = f"{upper}{number}"
    sides = [f"{at}_{side}_D{d + 1}" for side in ("LENGTH", "STRIDE") for d in range(dims)]
    return [f"{at}_{name.upper()}", *sides]


def expand(owner: Table, counter: Table) -> Iterator[Table]:
    """The shorthands: `each`, `bins` (an array with a name per element), `top` (values and their counts)."""
    if "each" in counter:
        for word in " ".join(owner["lists"][name] for name in counter["each"]).split():
            for one in counter["of"]:
                texts: Table = {k: v.replace("{}", word) for k, v in one.items() if isinstance(v, str)}
                if "darshan" in one:
                    texts["darshan"] = [d.replace("{}", word) for d in one["darshan"]]
                texts["name"] = texts["name"].lower()
                yield from expand(owner, {**one, **texts})
        return
    name, upper = counter["name"], owner["prefix"] + counter["name"].upper()
    if "bins" in counter:
        bins = (SIZE_BINS if counter["bins"] == "size" else counter["bins"]).split()
        yield field(owner, counter, count=len(bins), darshan=[f"{upper}_{b}" for b in bins])
    elif n := counter.get("top"):
        values = [p for i in range(n) for p in patterns(upper, name, i + 1, counter.get("dims", 0))]
        counts = [f"{upper}{i + 1}_COUNT" for i in range(n)]
        yield field(owner, counter, count=len(values), darshan=values)
        yield field(owner, counter, f"{name}_count", count=n, unit="", follows=name, darshan=counts)
    else:
        yield field(owner, counter)


def place(owner: Table, counters: list[Table], at: int) -> None:
    """The counters as they are written; the fields with their offsets; `end` is where the next byte would be."""
    owner["counters"] = counters
    owner["fields"] = [f for c in counters for f in expand(owner, c)]
    for f in owner["fields"]:
        f["offset"] = at
        f["count"] = 0 if f["length"] else f["count"]
        f["next"] = -1
        at += 8 * f["count"]
    owner["end"] = at
    owner["index"] = {f["name"]: i for i, f in enumerate(owner["fields"])}


def check_fields(where: str, owner: Table, module: Table, registry: Table) -> None:
    names = [f["name"] for f in owner["fields"]]
    header = module.get("header") or {"index": {}}
    allowed = {"type": CTYPES, "reduce": registry["reduce"], "role": ["none", *registry["role"]]}
    allowed |= {"follows": [None, *names], "length": [None, *names], "shown": list(SHOWN)}
    allowed |= {"valid_if": [None, *header["index"]], "element": [None, *module["elements"]]}
    for f in owner["fields"]:
        at = f"{where}.{f['name']}"
        if unknown := set(f) - KEYS:
            sys.exit(f"modgen: {at}: unknown key {unknown}")
        if names.count(f["name"]) > 1:
            sys.exit(f"modgen: {at}: named twice")
        for key, values in allowed.items():
            if f[key] not in values:
                sys.exit(f"modgen: {at}: unknown {key}: {f[key]}")
    if owner["end"] != owner["size"]:
        sys.exit(f"modgen: {where}: fields end at {owner['end']}, size says {owner['size']}")


def member_index(module: Table) -> dict[str, int]:
    """Names of the members of a module's elements; a module has one kind of them."""
    found: dict[str, int] = next((e["index"] for e in module["elements"].values()), {})
    return found


def check_history(module: Table, h: Table) -> None:
    at = f"{module['name']} {h['version']}"
    extra = h.get("extra", {})
    element = h.get("element", {})
    members = member_index(module)
    named = [(k, module["index"]) for k in h.get("missing", {})]
    named += [(extra[k], module["index"]) for k in ("after", "add_to") if k in extra]
    named += [(k, members) for key in ("missing", "invalid") for k in element.get(key, {})]
    for name, index in named:
        if name not in index:
            sys.exit(f"modgen: {at}: unknown field: {name}")


def check(module: Table, registry: Table) -> None:
    where = module["name"]
    listed = "map" in module or registry["modules"].get(str(module["id"])) == where
    if not listed or module["layout"] not in LAYOUTS:
        sys.exit(f"modgen: {where}: not the registry's module {module['id']}, or an unknown layout")
    for name, e in module["elements"].items():
        check_fields(f"{where}.{name}", e, module, registry)
    if module.get("header"):
        check_fields(f"{where}.header", module["header"], module, registry)
    check_fields(where, module, module, registry)
    for h in module.get("history", []):
        check_history(module, h)


def check_written(module: Table) -> None:
    written = module["written"]
    if unknown := set(written) - set(WRITTEN):
        sys.exit(f"modgen: {module['name']}.written: unknown key {unknown}")
    module["written"] = {**WRITTEN, **written}
    for name in " ".join(module["written"][key] for key in ("used", "used_but_by_streams")).split():
        if name not in module["index"]:
            sys.exit(f"modgen: {module['name']}.written: unknown counter {name}")


def check_interface(module: Table, registry: Table) -> None:
    interface = module["interface"]
    if unknown := set(interface) - set(INTERFACE):
        sys.exit(f"modgen: {module['name']}.interface: unknown key {unknown}")
    interface.setdefault("level", "library" if "library" in interface else None)
    for key in ("level", "library"):
        if interface.get(key) not in {None, *registry[key]}:
            sys.exit(f"modgen: {module['name']}.interface: unknown {key}: {interface[key]}")
    interface["library_title"] = registry["library"].get(interface.get("library"))


def load(path: str, registry: Table) -> Table:
    module: Table = tomllib.loads(Path(path).read_text())
    module["key"] = Path(path).stem
    if set(module) == {"operations", "key"}:
        return module
    module["elements"] = module.pop("element", {})
    for name, e in module["elements"].items():
        e["key"] = f"{module['key']}_{name}"
        place(e, e.pop("counter"), 0)
    if header := module.get("header"):
        header["key"], header["prefix"] = f"{module['key']}_header", module["prefix"]
        header.setdefault("infix", module.get("infix", "F_"))
        place(header, header.pop("counter"), BASE)
    place(module, module.pop("counter"), BASE)
    module["roles"] = dict.fromkeys(["none", *registry["role"]], -1)
    for i, f in reversed(list(enumerate(module["fields"]))):
        f["next"], module["roles"][f["role"]] = module["roles"].get(f["role"], -1), i
    check(module, registry)
    if "written" in module:
        check_written(module)
    if "interface" in module:
        check_interface(module, registry)
    return module


def public(owner: Table, darshan: str) -> str:
    return darshan.removeprefix(owner["prefix"]).removeprefix("F_").lower()


def maps_of(old: Table, modules: list[Table]) -> Iterator[tuple[Table, list[str], list[tuple[str, str]]]]:
    """(module, counters of which one must not be 0, pairs of its counter and an old one that goes into it)"""
    by_key = {m["key"]: m for m in modules}
    for key, table in old["map"].items():
        pairs = [(to, word) for to, words in table.items() if to != "when" for word in words.split()]
        module, when = by_key[key], table["when"].split()
        wrong = [to for to, _ in pairs if to not in module["index"]]
        wrong += [word for word in [*when, *(w for _, w in pairs)] if word not in old["index"]]
        if wrong:
            sys.exit(f"modgen: {old['name']}.map.{key}: unknown field: {wrong[0]}")
        yield module, when, pairs


def read(registry_path: str, paths: list[str]) -> tuple[Table, list[Table], Optional[Table]]:
    registry = tomllib.loads(Path(registry_path).read_text())
    loaded = [load(p, registry) for p in paths]
    modules = sorted((m for m in loaded if "map" not in m and "id" in m), key=lambda m: m["id"])
    return registry, modules, next((m for m in loaded if "map" in m), None)
