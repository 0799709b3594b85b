"""The key of pseudonyms that a passphrase makes. The native ``iolens convert`` asks for it; no command of its own."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from iolens.error import UNREADABLE, USAGE, IolensError

__all__ = ["key_of", "run"]

LEAST = 12
"""Characters of a passphrase."""


def key_of(passphrase: str, salt: str) -> bytes:
    """16 bytes, by scrypt (RFC 7914): 128 MiB and some tenths of a second for each guess."""
    cost, block = 1 << 17, 8
    return hashlib.scrypt(
        passphrase.encode("utf-8", "surrogateescape"),
        salt=salt.encode("utf-8", "surrogateescape"),
        n=cost,
        r=block,
        p=1,
        maxmem=2 * 128 * cost * block,
        dklen=16,
    )


def _passphrase(source: str) -> str:
    kind, _, name = source.partition(":")
    if kind == "env":
        if name not in os.environ:
            raise IolensError("no such environment variable: export it first", name, exit_code=USAGE)
        return os.environ[name]
    try:
        text = Path(name).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise IolensError(error.strerror or str(error), name, exit_code=UNREADABLE) from error
    return text.split("\n", 1)[0]


def run(source: str, salt: str) -> int:
    """Prints the key of the passphrase in a file or a variable: ``passphrase:FILE``, ``env:NAME``."""
    passphrase = _passphrase(source)
    if len(passphrase) < LEAST:
        raise IolensError(
            f"a passphrase has at least {LEAST} characters", source.partition(":")[2], exit_code=USAGE
        )
    print(key_of(passphrase, salt).hex())
    return 0
