"""A site's portal over the lake of nine jobs: its accounting and its settings."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

ACCOUNTING = """JobID|JobIDRaw|User|Account|Partition|JobName|State|Submit|Start|End|AllocCPUS|AllocNodes|Cluster
200|200|bob|m200|p|train|COMPLETED|2026-11-01T10:30:00|2026-11-01T10:30:00|2026-11-01T10:31:00|2|1|hopper
201|201|bob|m999|p|train|COMPLETED|2026-11-02T10:30:00|2026-11-02T10:30:00|2026-11-02T10:31:00|2|1|hopper
300|300|carol|m300|p|meta|COMPLETED|2026-11-09T10:30:00|2026-11-09T10:30:00|2026-11-09T10:40:00|192|8|hopper
100|100|alice|m100|p|sim|COMPLETED|2026-11-01T10:30:00|2026-11-01T10:30:00|2026-11-01T10:31:40|4|1|hopper
"""

_SITE = """
[server]
port = {port}
url = "{url}"
state = "{folder}/state.db"
audit = "{folder}/audit.jsonl"
requests_per_second = 100000
burst = 100000

[header]
name = "X-Remote-User"
from = ["{proxy}"]

[roles]
staff = ["sam"]
administrators = ["root"]

[projects.learning]
leads = ["lea"]
accounts = ["m200"]

[limits]
seconds = 60
"""


def settings(
    folder: Path, port: int = 8420, proxy: str = "10.0.0.1", url: str = "https://portal.example.org"
) -> str:
    """A site's file: who comes from its proxy is whom the header names. State and audit are in the folder."""
    return _SITE.format(folder=folder, port=port, proxy=proxy, url=url)


def local_settings(folder: Path, port: int) -> str:
    """The same for whoever asks from this machine."""
    return settings(folder, port, "127.0.0.1", f"http://127.0.0.1:{port}")


def for_one(site: Any) -> Any:
    """The settings of one person, with this site's limits."""
    return dataclasses.replace(site, person="ann", header=None, url="", state=None, audit=None)


def behind_proxy(site: Any, port: int) -> Any:
    """The site on a port of this machine, whose browsers tell who they are."""
    import ipaddress

    from iolens.portal.access.site import Header

    header = Header("x-remote-user", (ipaddress.ip_network("127.0.0.1"),))
    return dataclasses.replace(site, port=port, url=f"http://127.0.0.1:{port}", header=header, state=None)
