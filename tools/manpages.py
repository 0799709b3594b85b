#!/usr/bin/env python3
"""Write the manual pages: of the command from its table and what it says itself, of the C library from its header.

usage: manpages.py command MAIN.C IOLENS VERSION FILE.1
       manpages.py library LOG.H VERSION FILE.3
"""

import re
import subprocess
import sys
from pathlib import Path

ROW = re.compile(r'\{"([\w-]+)",\s*(\w+)_main,\s*"((?:[^"\\]|\\.)*)"(?:,\s*\w+)?\}')


def roff(text: str) -> str:
    """Text that troff leaves as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").expandtabs().splitlines()
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def as_it_is(text: str) -> str:
    return f".nf\n{roff(text.strip())}\n.fi\n"


def head(title: str, section: int, version: str, name: str) -> str:
    return f'.TH {title} {section} "" "iolens {version}"\n.SH NAME\n{name}\n'


def command_page(main: Path, iolens: Path, version: str) -> str:
    table = ROW.findall(main.read_text())
    page = head("IOLENS", 1, version, "iolens \\- what a program's I/O does")
    page += ".SH SYNOPSIS\n.B iolens\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH COMMANDS\n"
    for name, _, about in table:
        page += f".TP\n.B {roff(name)}\n{roff(about)}\n"
    page += "\n.B iolens\n.I COMMAND\n.B \\-\\-help\ntells the options of any of them.\n"
    for name, main_name, _ in table:
        if main_name == "python":
            continue
        command = [str(iolens), name, "--help"]
        text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        page += f".SH {roff('IOLENS ' + name.upper())}\n{as_it_is(text)}"
    page += ".SH EXIT STATUS\n"
    for code, meaning in {
        "0": "ok",
        "1": "findings or differences, of commands that look for them",
        "2": "wrong usage",
        "3": "input that cannot be read, or output that cannot be written",
        "4": "what there was has been shown, and some is missing",
    }.items():
        page += f".TP\n.B {code}\n{meaning}\n"
    page += "\n.B iolens run\nends as the command that it runs.\n"
    return page + ".SH SEE ALSO\n.BR iolens-log (3)\n"


def library_page(header: Path, version: str) -> str:
    text = header.read_text()
    intro, _, rest = text.partition("*/")
    intro = "\n".join(line.removeprefix(" *").removeprefix(" ") for line in intro.splitlines()[1:])
    body = re.search(r'extern "C" \{\n#endif\n(.*)#ifdef __cplusplus\n\}', rest, re.DOTALL)
    assert body
    page = head("IOLENS-LOG", 3, version, "iolens-log \\- read Darshan logs, and those of iolens")
    page += ".SH SYNOPSIS\n" + as_it_is(
        "#include <iolens/log.h>\n\ncc $(pkg-config --cflags --libs iolens-log) ..."
    )
    page += ".SH DESCRIPTION\n" + as_it_is(intro)
    titles = ["handles and codes", *re.findall(r"/\* ---- (.*?) ---- \*/", body[1])]
    for title, part in zip(titles, re.split(r"/\* ---- .*? ---- \*/", body[1])):
        page += f".SH {roff(title.upper())}\n{as_it_is(part)}"
    return page + ".SH SEE ALSO\n.BR iolens (1)\n"


def main(args: list[str]) -> None:
    if args[0] == "command":
        page = command_page(Path(args[1]), Path(args[2]), args[3])
    else:
        page = library_page(Path(args[1]), args[2])
    Path(args[-1]).write_text(page)


if __name__ == "__main__":
    main(sys.argv[1:])
