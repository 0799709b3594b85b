"""A terminal of tmux: keys are typed, and what is to be seen is read."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from looked_at import Place, until


@dataclass
class Terminal:
    socket: Path

    def tmux(self, *args: object) -> str:
        command = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *map(str, args)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout

    def start(self, place: Place, *command: object, width: int = 110, height: int = 26) -> None:
        env = [
            "TERM=screen",
            f"IOLENS_TMPDIR={place.stores}",
            "LANG=C.UTF-8",
            "PS1=over$ ",
            f"PWD={place.work}",
        ]
        shell = ["env", "-i", "PATH=/usr/bin:/bin", *env, "sh"]
        self.tmux("new-session", "-d", "-x", width, "-y", height, *shell)
        self.tmux("send-keys", " ".join(map(str, command)), "Enter")

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def lines(self) -> list[str]:
        return self.tmux("capture-pane", "-p").splitlines()

    def shows(self, pattern: str) -> list[str]:
        """Waits for it; then the screen."""
        seen: list[str] = []

        def there() -> bool:
            seen[:] = self.lines()
            return re.search(pattern, "\n".join(seen), re.M) is not None

        try:
            until(there, pattern, 30)
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *seen])) from None
        return seen
