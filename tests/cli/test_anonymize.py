"""What an anonymized log may not say any more, in any region: names, hosts, ids."""

from __future__ import annotations

import json
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from logmaker import POSIX, LogMaker, posix

Run = Callable[..., "subprocess.CompletedProcess[str]"]
HEADER, MODULES = 32, 64


def unpacked(log: Path) -> bytes:
    """All that the regions of a log of version 3.41 unpack to."""
    whole = log.read_bytes()
    regions = [struct.unpack_from("<QQ", whole, HEADER + 16 * i) for i in range(MODULES + 1)]
    names = regions[0][0] or len(whole)
    regions.append((1328, names - 1328))
    return b"".join(zlib.decompressobj().decompress(whole[at : at + n]) for at, n in regions if n)


def hosts(run_iolens: Run, log: Path) -> set[str]:
    traced = run_iolens(["trace", "--show-incomplete", log]).stdout
    found = {line.rpartition("hostname: ")[2] for line in traced.splitlines() if "hostname: " in line}
    text = run_iolens(["show", "--json", "--show-incomplete", log]).stdout
    if "processor_name" in text:
        found |= {piece.split('"')[2] for piece in text.split('"processor_name')[1:]}
    return found - {""}


def test_hosts_of_traces_and_of_apmpi_are_gone(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    seen = 0
    for log in sorted((corpus / "logs").glob("*.darshan")):
        old = hosts(run_iolens, log)
        if not old:
            continue
        seen += 1
        new = tmp_path / log.name
        done = run_iolens(["convert", "--anonymize", "k", log, new])
        assert done.returncode == 0, done.stderr
        assert len(hosts(run_iolens, new)) == len(old), "hosts stay apart"
        content = unpacked(new)
        assert not [host for host in old if host.encode() in content], log.name
    assert seen >= 14


def test_no_record_id_of_a_file_is_kept(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / "sample-dxt-simple.darshan"
    new = tmp_path / "new"
    assert run_iolens(["convert", "--anonymize", "k", log, new]).returncode == 0
    ids = [
        {
            line.split("\t")[2]
            for line in run_iolens(["show", path]).stdout.splitlines()
            if line.count("\t") == 7 and line.split("\t")[5].startswith("/")
        }
        for path in (log, new)
    ]
    content = unpacked(new)
    assert ids[0] and not ids[0] & ids[1]
    assert not [i for i in ids[0] if struct.pack("<Q", int(i)) in content]


def test_the_search_knows_the_hosts(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / "sample-dxt-simple.darshan"
    host = next(iter(hosts(run_iolens, log)))
    done = run_iolens(
        ["convert", "--anonymize", "k", "--annotate", f"note=from {host}", log, "new"], cwd=tmp_path
    )
    assert done.returncode == 3 and f'the metadata still says "{host}"' in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("secret", ["<alice>", "heatmap:alice"])
def test_a_file_named_like_our_own_is_a_file(run_iolens: Run, tmp_path: Path, secret: str) -> None:
    script = f"mkdir '{secret}'; echo hello > '{secret}/carol'"
    run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", script], cwd=tmp_path)
    done = run_iolens(["convert", "--anonymize", "k", "log", "new"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = unpacked(tmp_path / "new")
    assert b"alice" not in content and b"carol" not in content


def test_words_of_our_own_stay(run_iolens: Run, tmp_path: Path) -> None:
    run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", "cat /etc/passwd | sort > out"], cwd=tmp_path)
    assert run_iolens(["convert", "--anonymize", "k", "log", "new"], cwd=tmp_path).returncode == 0
    shown = [
        json.loads(run_iolens(["show", "--json", "--ext", tmp_path / log]).stdout) for log in ("log", "new")
    ]
    for section, field in (("total", "interface"), ("operation", "name"), ("process", "ended")):
        words = [json.dumps([row[field] for row in one["tables"][section]]) for one in shown]
        assert words[0] == words[1] != "[]"


@pytest.mark.parametrize(
    "hints", ["cb_nodes=4;cb_config_list=4node12", "cb_config_list=node12:2", "cb_nodes=4"]
)
def test_hints_stay_where_none_can_name_a_host(run_iolens: Run, tmp_path: Path, hints: str) -> None:
    made = LogMaker(metadata=f"lib_ver=3.4.7\nh={hints}\n".encode(), names={5: b"/scratch/five"})
    made.regions = {POSIX: (4, posix(5, opens=1))}
    (tmp_path / "log").write_bytes(bytes(made))
    assert run_iolens(["convert", "--anonymize", "k", "log", "new"], cwd=tmp_path).returncode == 0
    content = unpacked(tmp_path / "new")
    assert b"node12" not in content
    assert (hints.encode() in content) == ("node12" not in hints)
