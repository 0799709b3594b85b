"""Pages of docs/reference."""

from collections import Counter
from collections.abc import Iterator

from description import SIZE_BINS, Table, expand, maps_of

HEAD = """\
# Counters

Made by `tools/modgen` from `modules/*/*.toml`: do not edit.

A log names `posix.opens` `POSIX_OPENS`, and times and variances with an `F_`: `POSIX_F_READ_TIME`. An array has a name
for each element: `posix.size_read` has `POSIX_SIZE_READ_0_100` to `POSIX_SIZE_READ_1G_PLUS`, `posix.access`
`POSIX_ACCESS1_ACCESS` to `POSIX_ACCESS4_ACCESS`, `posix.access_count` `POSIX_ACCESS1_COUNT` to `POSIX_ACCESS4_COUNT`,
`lustre.ost_id` `LUSTRE_OST_ID_0` and on. Rows show other names; *unnamed*: none.

[Merged](#merge-rules): how records of several ranks become one; empty: `any`. [Role](#roles): what analysis takes the
counter for. A column without an entry is left out. Counters that mean the same in several modules stand
[at the end](#counters-of-several-modules).
"""
COMMON = "Counters of several modules"
COLUMNS = ("counter", "unit", "merged", "role", "meaning")
# From so many modules on, a counter is described once for all.
SEVERAL = 2


def shown_once(owner: Table) -> Iterator[Table]:
    """The fields, but one for all words of a counter that lists multiply: with * in the place of the word."""
    lists: dict[str, list[str]] = {}
    fields: dict[str, Table] = {}
    for counter in owner["counters"]:
        each = counter.get("each", [])
        of_one = {**owner, "lists": {"*": "*"}} if each else owner
        for f in expand(of_one, {**counter, "each": ["*"]} if each else counter):
            fields[f["name"]] = f
            lists.setdefault(f["name"], []).extend(each)
    for name, f in fields.items():
        of_lists = f" `*`: {', '.join(lists[name])}." if lists[name] else ""
        yield {**f, "doc": (f["doc"].replace("*", "`*`") if of_lists else f["doc"]) + of_lists}


def usual_names(owner: Table, f: Table) -> list[str]:
    """What the head of the page says of names in the log."""
    upper = f["name"].upper()
    if f["follows"] and upper.endswith("_COUNT"):
        return [f"{owner['prefix']}{upper.removesuffix('_COUNT')}{n + 1}_COUNT" for n in range(f["count"])]
    if f["reduce"] == "top4":
        return [f"{owner['prefix']}{upper}{n + 1}_{upper}" for n in range(f["count"])]
    if "bins" in f:
        return [f"{owner['prefix']}{upper}_{size}" for size in SIZE_BINS.split()]
    return [owner["prefix"] + (owner.get("infix", "F_") if f["type"] == "f64" else "") + upper]


def docs_row(owner: Table, f: Table) -> tuple[str, ...]:
    """Of a counter: unit, merge rule, role, meaning."""
    counts = f["follows"] and f["name"] == f"{f['follows']}_count"
    doc = f"How often each `{f['follows']}` occurred." if counts else f["doc"]
    if not (f["darshan"] or f["length"]):
        doc += " Unnamed."
    elif f["darshan"] and f["darshan"] != usual_names(owner, f):
        doc += f" {' … '.join(f'`{n}`' for n in dict.fromkeys([f['darshan'][0], f['darshan'][-1]]))}."
    merged, role = (text if text not in ("any", "none") else "" for text in (f["reduce"], f["role"]))
    return f["unit"], merged, role, doc


def docs_table(rows: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Without the columns in which nothing stands."""
    lines = [(f"`{name}`", *cells) for name, cells in rows.items()]
    kept = [n for n in range(len(COLUMNS)) if any(line[n] for line in lines)]
    yield from ("| " + " | ".join(COLUMNS[n] for n in kept) + " |", "|" + "---|" * len(kept))
    yield from ("| " + " | ".join(line[n] for n in kept) + " |" for line in lines)


def docs_lists(owner: Table) -> Iterator[str]:
    """The words that * stands for."""
    used = dict.fromkeys(name for counter in owner["counters"] for name in counter.get("each", []))
    if used:
        yield from ("", "| list | `*` |", "|---|---|")
        yield from (f"| {name} | {owner['lists'][name]} |" for name in used)


def owners(module: Table) -> Iterator[tuple[str, Table]]:
    """(what stands before the name, of which fields)."""
    yield "", module
    yield from ((f"{name}.", element) for name, element in module["elements"].items())
    if header := module.get("header"):
        yield "header.", header


def docs_rows(module: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    for before, owner in owners(module):
        yield from ((before + f["name"], docs_row(owner, f)) for f in shown_once(owner))


def docs_names(key: str, owner: Table) -> str:
    """How names in the log begin, unless with the module's name."""
    named = any(f["darshan"] for f in owner["fields"])
    if not named or (owner["prefix"] == f"{key.upper()}_" and owner.get("infix", "F_") == "F_"):
        return ""
    return f" Names in logs: `{owner['prefix']}…`{'' if owner.get('infix', 'F_') else ', without `F_`'}."


def docs_also(key: str, also: list[str], listed: dict[tuple[str, ...], str]) -> str:
    """The counters that stand at the end, or the module before that has the same ones there."""
    first = listed.setdefault(tuple(also), key)
    names = ", ".join(f"`{key}.{name}`" for name in also)
    return f"As in several modules: {names if first == key else f'those of `{first}`'}."


def docs_module(
    module: Table, common: dict[str, tuple[str, ...]], listed: dict[tuple[str, ...], str]
) -> Iterator[str]:
    key = module["key"]
    says = f"{module['doc']} Record version {module['version']}.{docs_names(key, module)}"
    yield from (f"## {module['name']}", "", says)
    also = [name for name, cells in docs_rows(module) if common.get(name) == cells]
    if also:
        yield from ("", docs_also(key, also, listed))
    for before, owner in owners(module):
        rows = {before + f["name"]: docs_row(owner, f) for f in shown_once(owner)}
        own = {f"{key}.{name}": cells for name, cells in rows.items() if name not in also}
        if own:
            yield from (
                "",
                *([owner["doc"] + docs_names(key, owner), ""] if before else []),
                *docs_table(own),
                *docs_lists(owner),
            )
    yield ""


def docs_md(registry: Table, modules: list[Table]) -> str:
    modules = [module for module in modules if module["id"]]  # 0: Darshan's example
    seen = Counter(row for module in modules for row in docs_rows(module))
    most = Counter[str]()
    common: dict[str, tuple[str, ...]] = {}
    for (name, cells), number in seen.items():
        if number >= SEVERAL and number > most[name]:
            most[name], common[name] = number, cells
    lines, listed = [HEAD], dict[tuple[str, ...], str]()
    for module in modules:
        lines += docs_module(module, common, listed)
    lines += [f"## {COMMON}", "", *docs_table(common), ""]
    for title, key in (("Roles", "role"), ("Merge rules", "reduce")):
        lines += [f"## {title}", "", "| name | meaning |", "|---|---|"]
        lines += [f"| {name} | {text} |" for name, text in registry[key].items()] + [""]
    return "\n".join(lines)


def docs_old_md(old: Table, modules: list[Table]) -> str:
    lines = [
        "# Logs of Darshan 1.x and 2.x",
        "",
        "Made by `tools/modgen` from `format/records/cp.toml`.",
        old["about"],
    ]
    for module, when, pairs in maps_of(old, modules):
        lines += [f"## {module['name']}", "", f"When: {', '.join(f'`{w}`' for w in when)}.", ""]
        lines += ["| counter | made of |", "|---|---|"]
        targets = dict.fromkeys(to for to, _ in pairs)
        for target in targets:
            sources = [old["fields"][old["index"][word]]["darshan"] for to, word in pairs if to == target]
            names = [" … ".join(f"`{n}`" for n in dict.fromkeys([s[0], s[-1]])) for s in sources]
            lines.append(f"| `{module['key']}.{target}` | {' + '.join(names)} |")
        lines.append("")
    return "\n".join(lines)
