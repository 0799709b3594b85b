#!/usr/bin/env python3
"""A dashboard as TypeScript, each part declared to be of Grafana's own type: `make outside-checks` has tsc judge it.

usage: grafanatypes.py DASHBOARD.json OUT.ts
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_OPTIONS = "@grafana/schema/dist/types/raw/composable/{0}/panelcfg/x/types.gen"


def typescript(board: dict[str, object], panels: list[dict[str, object]]) -> str:
    """Literals, because TypeScript looks for unknown members in these alone."""
    kinds = sorted({str(panel["type"]) for panel in panels})
    lines = ["import type { Dashboard, Panel } from '@grafana/schema';"]
    lines += [
        f"import type {{ Options as {kind} }} from './node_modules/{_OPTIONS.format(kind)}';"
        for kind in kinds
    ]
    lines.append(f"export const board: Dashboard = {json.dumps(board)};")
    for number, panel in enumerate(panels):
        lines.append(f"export const panel{number}: Panel = {json.dumps(panel)};")
        options = json.dumps(panel.get("options", {}))
        lines.append(f"export const options{number}: Partial<{panel['type']}> = {options};")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit((__doc__ or "").strip())
    described = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(typescript(described, described.pop("panels")), encoding="utf-8")
