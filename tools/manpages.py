#!/usr/bin/env python3
"""Write the manual page of the C library from its header. Those of the commands: commandpage.py.

usage: manpages.py LOG.H VERSION FILE.3
"""

import re
import sys
from pathlib import Path


def roff(text: str) -> str:
    """Text that troff leaves as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").expandtabs().splitlines()
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def as_it_is(text: str) -> str:
    return f".nf\n{roff(text.strip())}\n.fi\n"


def head(title: str, section: int, version: str, name: str) -> str:
    return f'.TH {title} {section} "" "iolens {version}"\n.SH NAME\n{name}\n'


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
    Path(args[-1]).write_text(library_page(Path(args[0]), args[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
