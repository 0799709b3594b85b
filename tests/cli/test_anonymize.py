"""What an anonymized log may not say any more, in any region: names, hosts, ids."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from iolens.cli.native.anonymization_key import key_of
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
        done = run_iolens(["convert", "--anonymize", log, new])
        assert done.returncode == 0, done.stderr
        assert len(hosts(run_iolens, new)) == len(old), "hosts stay apart"
        content = unpacked(new)
        assert not [host for host in old if host.encode() in content], log.name
    assert seen >= 14


def test_no_record_id_of_a_file_is_kept(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / "sample-dxt-simple.darshan"
    new = tmp_path / "new"
    assert run_iolens(["convert", "--anonymize", log, new]).returncode == 0
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
    done = run_iolens(["convert", "--anonymize", "--annotate", f"note=from {host}", log, "new"], cwd=tmp_path)
    assert done.returncode == 3 and f'the metadata still says "{host}"' in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("secret", ["<alice>", "heatmap:alice"])
def test_a_file_named_like_our_own_is_a_file(run_iolens: Run, tmp_path: Path, secret: str) -> None:
    script = f"mkdir '{secret}'; echo hello > '{secret}/carol'"
    run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", script], cwd=tmp_path)
    done = run_iolens(["convert", "--anonymize", "log", "new"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = unpacked(tmp_path / "new")
    assert b"alice" not in content and b"carol" not in content


def test_words_of_our_own_stay(run_iolens: Run, tmp_path: Path) -> None:
    run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", "cat /etc/passwd | sort > out"], cwd=tmp_path)
    assert run_iolens(["convert", "--anonymize", "log", "new"], cwd=tmp_path).returncode == 0
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
    assert run_iolens(["convert", "--anonymize", "log", "new"], cwd=tmp_path).returncode == 0
    content = unpacked(tmp_path / "new")
    assert b"node12" not in content
    assert (hints.encode() in content) == ("node12" not in hints)


# ---- keys ----

PHRASE = "correct horse battery"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    made = LogMaker(
        mounts=[
            ("fuse.alicefs", "/mnt/secretly"),
            ("nfs4", "/home/alice"),
            ("lustre", "/lustre/orion"),
            ("fuse.sshfs", "/mnt/nvme/local"),
            ("ext4", "/"),
        ],
        names={5: b"/home/alice/in", 6: b"/lustre/orion/out", 7: b"/mnt/secretly/x", 8: b"/home/bob/y"},
    )
    made.regions = {POSIX: (4, b"".join(posix(n, opens=1) for n in (5, 6, 7, 8)))}
    (tmp_path / "log").write_bytes(bytes(made))
    return tmp_path / "log"


def names_of(run_iolens: Run, log: Path) -> set[str]:
    records = run_iolens(["show", "--base", log]).stdout.splitlines()
    return {line.split("\t")[5] for line in records if line.count("\t") == 7 and line[0] != "#"}


def converted(run_iolens: Run, log: Path, *options: str, **env: str) -> set[str]:
    """Names under pseudonyms."""
    new = log.with_name("new")
    new.unlink(missing_ok=True)
    done = run_iolens(["convert", *options, log, new], env=env)
    assert done.returncode == 0, done.stderr
    return names_of(run_iolens, new)


def test_no_two_logs_share_a_pseudonym_unless_they_shall(run_iolens: Run, log: Path) -> None:
    one, two = (
        {part for name in converted(run_iolens, log, "--anonymize") for part in name.split("/")}
        for _ in range(2)
    )
    assert one & two == {"", "home", "lustre", "mnt"}


def test_a_key_in_a_file_gives_the_same_pseudonyms(run_iolens: Run, log: Path) -> None:
    key = log.with_name("key")
    seen = [converted(run_iolens, log, f"--anonymize=key:{key}") for _ in range(2)]
    assert seen[0] == seen[1] and len(seen[0]) == 4
    assert key.stat().st_mode & 0o777 == 0o600 and re.fullmatch("[0-9a-f]{32}\n", key.read_text())
    assert {path.name for path in log.parent.iterdir()} == {"log", "new", "key"}


@pytest.mark.parametrize(
    ("mode", "content", "complaint"),
    [
        (0o640, "0" * 32, "other users may read"),
        (0o600, "0" * 31, "not a key"),
        (0o600, "x" * 32, "not a key"),
    ],
)
def test_a_file_that_is_no_key(run_iolens: Run, log: Path, mode: int, content: str, complaint: str) -> None:
    key = log.with_name("key")
    key.write_text(content)
    key.chmod(mode)
    done = run_iolens(["convert", f"--anonymize=key:{key}", log, "new"], cwd=log.parent)
    assert done.returncode == 3 and complaint in done.stderr and len(done.stderr.splitlines()) == 1
    assert not log.with_name("new").exists() and key.read_text() == content


def test_a_passphrase_and_its_salt_make_a_key(run_iolens: Run, log: Path) -> None:
    file = log.with_name("passphrase")
    file.touch(0o600)
    file.write_text(f"{PHRASE}\n")
    options = [(f"--anonymize=passphrase:{file}", "--salt", "a"), ("--anonymize=env:P", "--salt", "a")]
    one, same = (converted(run_iolens, log, *words, P=PHRASE) for words in options)
    assert one == same != converted(run_iolens, log, "--anonymize=env:P", "--salt", "b", P=PHRASE)
    key = log.with_name("key")
    key.touch(0o600)
    key.write_text(key_of(PHRASE, "a").hex())
    assert converted(run_iolens, log, f"--anonymize=key:{key}") == one


def test_a_salt_is_random_and_printed(run_iolens: Run, log: Path) -> None:
    command = ["convert", "--anonymize=env:P", log, log.with_name("first")]
    done = run_iolens(command, env={"P": PHRASE})
    salt = re.fullmatch(r"iolens: convert: --salt ([0-9a-f]{32}) and the same passphrase .*\n", done.stderr)
    assert done.returncode == 0 and salt, done.stderr
    again = converted(run_iolens, log, "--anonymize=env:P", "--salt", salt[1], P=PHRASE)
    assert again == names_of(run_iolens, log.with_name("first"))


def test_a_guess_costs_128_mib() -> None:
    made = hashlib.scrypt(b"p", salt=b"s", n=131072, r=8, p=1, maxmem=1 << 28, dklen=16)
    assert key_of("p", "s") == made and 128 * 131072 * 8 == 128 << 20


@pytest.mark.parametrize(
    "words", [["--anonymize", "my secret"], ["--anonymize=my secret"], ["--anonymize", "", "--best"]]
)
def test_no_passphrase_on_the_command_line(run_iolens: Run, log: Path, words: list[str]) -> None:
    done = run_iolens(["convert", *words, log, log.with_name("new")])
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "--anonymize=passphrase:FILE or env:NAME" in done.stderr and "my secret" not in done.stderr
    assert not log.with_name("new").exists()


@pytest.mark.parametrize(
    ("source", "env", "complaint"),
    [
        ("env:P", {}, "P: no such environment variable"),
        ("env:P", {"P": "too short"}, "at least 12 characters"),
        ("passphrase:none", {}, "none: No such file"),
        ("passphrase:open", {}, "open: other users may read"),
    ],
)
def test_passphrases_that_are_none(
    run_iolens: Run, log: Path, source: str, env: dict[str, str], complaint: str
) -> None:
    log.with_name("open").write_text(PHRASE)
    log.with_name("open").chmod(0o644)
    done = run_iolens(["convert", f"--anonymize={source}", "log", "new"], cwd=log.parent, env=env)
    assert done.returncode in {2, 3} and complaint in done.stderr and len(done.stderr.splitlines()) == 1
    assert not log.with_name("new").exists()


# ---- mount points ----


def test_of_mount_points_only_what_is_called_the_same_everywhere_stays(run_iolens: Run, log: Path) -> None:
    names = converted(run_iolens, log, "--anonymize")
    new = log.with_name("new")
    shown = run_iolens(["show", "--base", new]).stdout
    mounts = dict(line.split("\t")[1:] for line in shown.splitlines() if line.startswith("# mount entry:"))
    hidden = "/[a-z2-7]{8}"
    wanted = {
        f"/home{hidden}": "nfs4",
        f"/lustre{hidden}": "lustre",
        f"/mnt{hidden}": r"fuse\.[a-z2-7]{8}",
        "/mnt/nvme/local": "fuse.sshfs",
        "/": "ext4",
    }
    assert len(mounts) == len(wanted)
    for point, kind in wanted.items():
        assert [k for p, k in mounts.items() if re.fullmatch(point, p) and re.fullmatch(kind, k)], point
    below = {p for p in mounts if p.count("/") == 2}
    assert sum(name.startswith(f"{p}/") for name in names for p in below) == 3
    assert not [word for word in (b"alice", b"orion", b"secretly", b"bob") if word in unpacked(new)]


def test_the_search_knows_the_mount_points(run_iolens: Run, log: Path) -> None:
    done = run_iolens(["convert", "--anonymize", "--annotate", "note=of orion", log, "new"], cwd=log.parent)
    assert done.returncode == 3 and 'the metadata still says "orion"' in done.stderr
    assert not log.with_name("new").exists()
