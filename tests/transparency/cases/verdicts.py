"""The verdict of every test in the output of `python3 -m test -v`, whatever else was printed in between."""

import re
import sys
from pathlib import Path

VERDICT = re.compile(
    r"^(test\w+) \(([\w.]+)\)(?:\n[^\n]*?)? \.\.\. (?:(?!^test\w+ \().)*?(ok|FAIL|ERROR|skipped|expected failure)\b",
    re.MULTILINE | re.DOTALL,
)

text = Path(sys.argv[1]).read_text(errors="replace")
print("\n".join(sorted({" ".join(found) for found in VERDICT.findall(text)})))
print("\n".join(re.findall(r"^(Ran \d+ tests?|OK|FAILED)", text, re.MULTILINE)))
