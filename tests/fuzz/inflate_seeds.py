"""Seeds for the decoder's fuzzer: zlib streams of every kind of block, near the place where input is loaded again."""

from __future__ import annotations

import random
import sys
import zlib
from pathlib import Path


def main() -> None:
    """Write the seeds into the directory named."""
    made = random.Random(1)
    texts = [b"", b"a" * 900, made.randbytes(1500), bytes(made.choice(b"abcdef") for _ in range(6000))]
    kinds = [(level, strategy) for level in (0, 1, 9) for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED)]
    for i, text in enumerate(texts):
        for level, strategy in kinds:
            z = zlib.compressobj(level, strategy=strategy)
            stream = z.compress(text) + z.flush()
            for back in range(0, 1024, 128):
                head = back.to_bytes(2, "little") + bytes([made.randrange(256)])
                Path(sys.argv[1], f"{i}-{level}-{strategy}-{back}").write_bytes(head + stream)


main()
