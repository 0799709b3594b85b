"""The units of deploy/systemd: systemd takes them, and what they start does its work on a generated population."""

from __future__ import annotations

import grp
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = ROOT / "deploy" / "systemd"
COMMAND = Path(sys.executable).parent / "iolens"


def placed(tmp_path: Path) -> Path:
    """Copies whose command and settings are where this machine has them."""
    folder = tmp_path / "units"
    folder.mkdir()
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/usr/bin/iolens-kernel", "/bin/true")
        text = text.replace("/usr/bin/iolens", str(COMMAND))
        (folder / unit.name).write_text(text.replace("/etc/iolens", str(folder)))
    return folder


def started(unit: Path) -> list[str]:
    """The command lines of a service, as a shell takes them."""
    text = unit.read_text().replace("\\\n", " ")
    return [re.sub(r"\$\{(\w+)\}", r'"$\1"', line) for line in re.findall(r"^ExecStart=(.*)", text, re.M)]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_systemd_has_nothing_to_say_against_them(tmp_path: Path) -> None:
    units = [str(unit) for unit in placed(tmp_path).iterdir() if unit.suffix != ".conf"]
    assert len(units) == 7
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if "iolens" in line]
    assert (done.returncode, said) == (0, [])
    times = subprocess.run(
        ["systemd-analyze", "calendar", "*-*-* 02:30:00"], capture_output=True, text=True, check=False
    )
    assert "*-*-* 02:30:00" in times.stdout


def test_what_they_start_makes_a_lake_with_coverage(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "bench" / "fleetgen"))
    try:
        importlib.import_module("generate").generate(
            tmp_path / "p", logs=40, days=3, users=10, files=3, most=20
        )
    finally:
        sys.path.pop(0)
    units, bin = placed(tmp_path), tmp_path / "bin"
    bin.mkdir()
    (bin / "sacct").write_text(f"#!/bin/sh\nexec cat {tmp_path}/p/accounting.txt\n")
    (bin / "sacct").chmod(0o755)
    names = re.findall(r"^(IOLENS_\w+)=", (units / "fleet.conf").read_text(), re.M)
    values = {
        "IOLENS_LOGS": f"{tmp_path}/p/logs",
        "IOLENS_LAKE": f"{tmp_path}/lake",
        "IOLENS_CLUSTER": "hopper",
        "IOLENS_GROUP": grp.getgrgid(os.getgid()).gr_name,
        "IOLENS_RETENTION": "--detail 2013-01-02",
    }
    assert sorted(names) == sorted(values)
    env = {**os.environ, **values, "PATH": f"{bin}:{os.environ['PATH']}", "TZ": "UTC"}
    said = ""
    for service in ("iolens-ingest.service", "iolens-nightly.service"):
        for line in started(units / service):
            done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (line, done.stderr)
            said += done.stdout
    assert "40 logs found, 40 ingested" in said
    assert re.search(r"2013-01-0[123] +\d", said)
    assert "left no log" in said
    assert re.search(r"40 logs in [123] archives", said) and "40 removed from the log area" in said
    assert not list((tmp_path / "p" / "logs").rglob("*.darshan"))
    assert re.search(r"[1-9]\d* rows of \d+ tables removed", said) and "files merged into" in said
    done = subprocess.run([COMMAND, "fleet", "verify", "--lake", tmp_path / "lake"], check=False)
    assert done.returncode == 0


@pytest.mark.skipif(not shutil.which("systemd-tmpfiles"), reason="no systemd-tmpfiles")
def test_the_spool_is_for_everybody_to_write_to_and_nobody_to_list(tmp_path: Path) -> None:
    conf, spool = tmp_path / "spool.conf", tmp_path / "spool"
    conf.write_text((UNITS / "iolens-spool.conf").read_text().replace("/var/spool/iolens", str(spool)))
    subprocess.run(["systemd-tmpfiles", "--create", conf], check=True)
    assert spool.stat().st_mode & 0o7777 == 0o1733


def test_a_pass_of_the_collector(tmp_path: Path, corpus: Path) -> None:
    units = placed(tmp_path)
    (line,) = started(units / "iolens-collect.service")
    values = {"IOLENS_SPOOL": str(tmp_path / "spool"), "IOLENS_LOGS": str(tmp_path / "logs")}
    assert re.findall(r"^(IOLENS_\w+)=", (units / "collect.conf").read_text(), re.M) == list(values)
    for path in values.values():
        Path(path).mkdir(mode=0o755)
    log = corpus / "logs" / "imbalanced-io.darshan"
    shutil.copy(log, tmp_path / "spool")
    done = subprocess.run(
        ["sh", "-c", line], env={**os.environ, **values}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    (there,) = (tmp_path / "logs").rglob("*.darshan")
    assert there.read_bytes() == log.read_bytes() and not list((tmp_path / "spool").iterdir())


@pytest.mark.parametrize(
    ("unit", "guide"),
    [
        ("iolens-collect.service", "collect.md"),
        ("iolens-ingest.service", "fleet-nightly.md"),
        ("iolens-nightly.service", "fleet-nightly.md"),
        ("iolens-kernel.service", "kernel.md"),
    ],
)
def test_its_guide_provides_what_a_unit_starts_and_reads(unit: str, guide: str) -> None:
    text, steps = (UNITS / unit).read_text(), (ROOT / "docs/guide" / guide).read_text()
    assert re.search(rf"deploy/systemd/{unit.partition('.')[0]}\.(\*|service)", steps)
    for program in set(re.findall(r"/usr/bin/\S+", text)):
        assert re.search(rf"ln -s \S+ {program}|install -m 755 \S+/{Path(program).name} /usr/bin/", steps), (
            program
        )
    (settings,) = re.findall(r"^EnvironmentFile=/etc/iolens/(\S+)", text, re.M)
    assert re.search(rf"deploy/systemd/{settings} /etc/iolens/", steps)


def test_all_of_them_agree_on_the_directory_of_logs_and_guides_make_it() -> None:
    settings = "".join(path.read_text() for path in UNITS.glob("*.conf"))
    assert re.findall(r"^IOLENS_(?:LOGS|LOGPATH)=(.*)", settings, re.M) == ["/logs/iolens"] * 3
    for guide, mode in (
        ("collect.md", "755"),
        ("kernel.md", "1777"),
        ("site-kit.md", "1777"),
        ("slurm.md", "755"),
    ):
        assert f"mkdir -m {mode} -p /logs/iolens" in (ROOT / "docs/guide" / guide).read_text(), guide
