"""`iolens doctor --site` and `--nodes`: a sound site has no problem, and each thing that is spoiled is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import places
import pytest
from iolens import schemas
from jsonschema import Draft202012Validator

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
Found = list[tuple[str, str, str]]
MALLORY = 65533


@dataclass
class Site:
    at: Path
    iolens: Path

    def doctor(self, *options: str, about: str = "site", **env: str) -> Found:
        """(result, name, text) of what is said about the site; the exit code is checked against it."""
        settings = {
            "IOLENS_PRELOAD": str(self.at / "lib" / "iolens" / "lib" / "libiolens.so"),
            "SLURM_CONF": str(self.at / "slurm" / "slurm.conf"),
            "MODULEPATH": str(self.at / "modules"),
            "SYSTEMD_UNIT_PATH": str(self.at / "units"),
        }
        command = [self.iolens, "doctor", "--json", *(options or ["--site"])]
        done = subprocess.run(
            command, env={**os.environ, **settings, **env}, capture_output=True, text=True, check=False
        )
        told: dict[str, Any] = json.loads(done.stdout)
        Draft202012Validator(schemas.load("doctor")).validate(told)
        assert done.returncode == (1 if told["problems"] else 0) and done.stderr == ""
        return [(c["result"], c["name"], c["text"]) for c in told["checks"] if c["about"] == about]

    def problems(self, **env: str) -> list[str]:
        return [text for result, _, text in self.doctor(**env) if result == "problem"]


@pytest.fixture
def site(iolens: Path, preload: Path) -> Iterator[Site]:
    """As the guides say: everything below one directory that everybody may read."""
    at = Path(tempfile.mkdtemp(prefix="iolens-site-", dir="/var/tmp"))
    library = at / "lib" / "iolens" / "lib"
    for folder in (
        "lib/iolens/lib",
        "lib/bin",
        "logs",
        "slurm/iolens",
        "modules",
        "units/timers.target.wants",
        "units/multi-user.target.wants",
        "spool",
    ):
        (at / folder).mkdir(parents=True)
    for file in [preload, *places.BUILD.rglob("libiolens-mpi-*.so")]:
        shutil.copy(file, library)
    shutil.copy(iolens, at / "lib" / "bin")
    for path in [at, *at.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.name == "iolens" else 0o644)
    deploy = places.ROOT / "deploy"
    subprocess.run(["sh", deploy / "slurm" / "directories", at / "logs", "1"], check=True)
    for name in ("prolog", "epilog", "directories", "recover"):
        shutil.copy(deploy / "slurm" / name, at / "slurm" / "iolens")
        (at / "slurm" / "iolens" / name).chmod(0o755)
    (at / "slurm" / "iolens" / "site.conf").write_text(
        f"IOLENS={at}/lib/bin/iolens\nIOLENS_LOGPATH={at}/logs\nDAYS=yes\n"
    )
    (at / "slurm" / "slurm.conf").write_text(
        f"# Prolog=/no\nPROLOG={at}/slurm/iolens/prolog\nEpilog = {at}/slurm/iolens/epilog # killed jobs\n"
    )
    (at / "slurm" / "plugstack.conf").write_text("include plugins/*.conf\n")
    (at / "slurm" / "plugins").mkdir()
    (at / "slurm" / "spank.so").write_text("")
    (at / "slurm" / "plugins" / "iolens.conf").write_text(
        f"optional {at}/slurm/iolens-spank.so library={library}/libiolens.so logs={at}/logs serial=yes\n"
    )
    (at / "slurm" / "spank.so").rename(at / "slurm" / "iolens-spank.so")
    for name in ("iolens", "iolens.lua"):
        text = (deploy / "modulefiles" / name).read_text()
        text = text.replace("/opt/iolens", str(at / "lib")).replace("/logs/iolens", str(at / "logs"))
        (at / "modules" / name).write_text(text)
    for unit in (deploy / "systemd").iterdir():
        text = unit.read_text().replace("/usr/bin/iolens", f"{at}/lib/bin/iolens")
        text = text.replace("/logs/iolens", f"{at}/logs").replace("=/var/spool/iolens", f"={at}/spool")
        (at / "units" / unit.name).write_text(text.replace("/etc/iolens", f"{at}/units"))
    for timer in (at / "units").glob("*.timer"):
        (at / "units" / "timers.target.wants" / timer.name).symlink_to(timer)
    service = "iolens-kernel.service"
    (at / "units" / "multi-user.target.wants" / service).symlink_to(at / "units" / service)
    shutil.copy("/bin/true", at / "lib/bin/iolens-kernel")
    yield Site(at, iolens)
    shutil.rmtree(at)


def test_a_sound_site(site: Site) -> None:
    found = site.doctor()
    assert [row for row in found if row[0] == "problem"] == []
    by_name: dict[str, list[str]] = {}
    for result, name, text in found:
        by_name.setdefault(name, []).append(f"{result}: {text}")
    assert set(by_name) == {"files", "mpi", "space", "logs", "slurm", "module", "systemd"}
    assert by_name["files"][0].startswith("ok: ") and len(by_name["logs"]) == 4
    assert [line.split("=")[0] for line in by_name["slurm"]][-2:] == ["ok: Prolog", "ok: Epilog"]
    assert by_name["slurm"][0].endswith("the plugin, its library and directory of logs are there")
    assert [line.split(":")[0] for line in by_name["module"] + by_name["systemd"]] == ["ok"] * 6


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def spooled(at: Path, mode: int) -> None:
    """Programs write to the spool, and what the prolog had made gets this mode."""
    (at / "slurm/iolens/site.conf").open("a").write(f"SPOOL={at}/spool\n")
    replaced(at / PLUGIN, f"logs={at}/logs", f"logs={at}/spool")
    (at / "spool").chmod(0o1733)
    for module in (at / "modules").iterdir():
        module.unlink()
    for path in (at / "logs", *(at / "logs").glob("[0-9]*/*/*")):
        path.chmod(mode if path.name != "logs" else 0o755)


TODAY = date.today()
DAY = f"{TODAY.year}/{TODAY.month}/{TODAY.day}"
CONF, PLUGIN = "slurm/iolens/site.conf", "slurm/plugins/iolens.conf"
SPOILED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a library that others can change": (
        lambda at: (at / "lib/iolens/lib/libiolens.so").chmod(0o666),
        "/lib/libiolens.so: other users can change what all programs load: chmod go-w",
    ),
    "a directory above it of another user": (
        lambda at: os.chown(at / "lib", MALLORY, 0),
        f"/lib: user {MALLORY} can change what all programs load: chown root",
    ),
    "a directory above it that is closed": (
        lambda at: (at / "lib").chmod(0o700),
        "/lib: not all users can enter it: chmod a+x",
    ),
    "a back end that nobody can read": (
        lambda at: next((at / "lib/iolens/lib").glob("libiolens-mpi-*")).chmod(0o600),
        ".so: must belong to root, and be readable by all users",
    ),
    "logs of another user": (
        lambda at: os.chown(at / "logs", MALLORY, 0),
        f"/logs: belongs to user {MALLORY}, who can remove all logs: chown root",
    ),
    "logs without a sticky bit": (
        lambda at: (at / "logs" / DAY).chmod(0o777),
        "mode 0777: users may remove other users' logs: chmod +t",
    ),
    "a month for all to write to": (
        lambda at: (at / "logs" / DAY).parent.chmod(0o777),
        "mode 0777: users may remove other users' logs: chmod go-w",
    ),
    "a day for nobody to write to": (
        lambda at: (at / "logs" / DAY).chmod(0o755),
        "mode 0755: users cannot write logs: chmod 1777",
    ),
    "no day": (lambda at: (at / "logs" / DAY).rmdir(), "not there, and users cannot write to"),
    "a day of the prolog where the collector makes logs": (
        lambda at: spooled(at, 0o1777),
        f"/logs/{DAY}: mode 1777: iolens collect makes no logs where other users may write: chmod go-w",
    ),
    "a spool that is closed": (
        lambda at: (spooled(at, 0o755), (at / "spool").chmod(0o700)),
        "/spool: mode 0700: users cannot write logs: chmod 1733",
    ),
    "no plugin": (
        lambda at: (at / PLUGIN).unlink(),
        "TaskProlog is not set: without it, and without the plugin",
    ),
    "a plugin that is not there": (
        lambda at: (at / "slurm/iolens-spank.so").unlink(),
        "iolens-spank.so: No such file or directory",
    ),
    "a plugin without its library": (
        lambda at: replaced(at / PLUGIN, "library=", "library=/no"),
        "library=/no",
    ),
    "a plugin with logs elsewhere": (
        lambda at: replaced(at / PLUGIN, "logs=", "logs=/tmp logs2="),
        "but the plugin has logs=/tmp: they must be the same",
    ),
    "no epilog": (
        lambda at: replaced(at / "slurm/slurm.conf", "Epilog", "#Epilog"),
        "Epilog is not set: killed jobs leave stores",
    ),
    "an epilog of another site": (
        lambda at: replaced(at / "slurm/slurm.conf", f"{at}/slurm/iolens/epilog", "/bin/true"),
        "Epilog=/bin/true does not call iolens",
    ),
    "an epilog that cannot run": (
        lambda at: (at / "slurm/iolens/epilog").chmod(0o644),
        "/epilog: not executable: chmod 755",
    ),
    "an epilog that others can change": (
        lambda at: (at / "slurm/iolens/epilog").chmod(0o777),
        "/epilog: runs as root, and other users can change it",
    ),
    "no site.conf": (
        lambda at: (at / CONF).unlink(),
        "without it the script does nothing",
    ),
    "a site.conf of another place": (
        lambda at: replaced(at / CONF, "IOLENS=", "IOLENS=/no"),
        "no program: name bin/iolens",
    ),
    "a module of another place": (
        lambda at: replaced(at / "modules/iolens.lua", f'root = "{at}/lib"', 'root = "/opt/elsewhere"'),
        "iolens.lua: /opt/elsewhere/iolens/lib/libiolens.so: No such file or directory: correct its first line",
    ),
    "a unit without its settings": (
        lambda at: (at / "units/collect.conf").unlink(),
        "/units/collect.conf: No such file or directory: copy it from deploy/systemd",
    ),
    "a collector without its spool": (
        lambda at: (at / "spool").rmdir(),
        "/units/collect.conf: IOLENS_SPOOL=",
    ),
    "a service of the node that logs to nowhere": (
        lambda at: replaced(at / "units/kernel.conf", f"{at}/logs", "/no/logs"),
        "/units/kernel.conf: IOLENS_LOGPATH=/no/logs: No such file or directory: make it, or name another",
    ),
    "a service without iolens-kernel": (
        lambda at: (at / "lib/bin/iolens-kernel").unlink(),
        "/lib/bin/iolens-kernel: No such file or directory: correct ExecStart",
    ),
    "a unit without its program": (
        lambda at: replaced(at / "units/iolens-nightly.service", "/bin/sh", "/bin/no-shell"),
        "/bin/no-shell: No such file or directory: correct ExecStart",
    ),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_what_is_spoiled_is_said(site: Site, spoiled: str) -> None:
    spoil, text = SPOILED[spoiled]
    spoil(site.at)
    problems = site.problems()
    assert any(text in problem for problem in problems), problems


def test_a_sound_site_with_a_spool(site: Site) -> None:
    spooled(site.at, 0o755)
    found = site.doctor()
    assert [row for row in found if row[0] == "problem"] == []
    said = [text.split(":")[0] for _, name, text in found if name == "logs"]
    assert said == [f"{site.at}/logs{part}" for part in ("", *levels(DAY))] + [f"{site.at}/spool"]


def levels(day: str) -> list[str]:
    year, month, of_month = day.split("/")
    return [f"/{year}", f"/{year}/{month}", f"/{year}/{month}/{of_month}"]


def test_logs_are_where_the_setting_says_too(site: Site) -> None:
    other = site.at / "other"
    other.mkdir(mode=0o755)
    assert site.problems(IOLENS_LOGPATH=str(other)) == [
        f"{other}/{DAY}: not there, and users cannot write to {other}: "
        "deploy/slurm/directories makes it, and Slurm's prolog"
    ]
    no_files = {"SLURM_CONF": "/no/slurm.conf", "MODULEPATH": "/no", "SYSTEMD_UNIT_PATH": "/no"}
    assert "no directory of logs: neither IOLENS_LOGPATH nor Slurm's files nor a module file name one" in (
        site.problems(**no_files)
    )


def test_an_epilog_of_the_site_that_calls_that_of_iolens(site: Site) -> None:
    """Its settings are not in the folder of the script that slurm.conf names."""
    own = site.at / "slurm" / "epilog"
    own.write_text(f"#!/bin/sh\n{site.at}/slurm/iolens/epilog\n")
    own.chmod(0o755)
    replaced(site.at / "slurm/slurm.conf", f"Epilog = {site.at}/slurm/iolens/epilog", f"Epilog = {own}")
    assert site.problems() == []


def test_what_is_no_mistake_is_a_note(site: Site) -> None:
    (site.at / "units/timers.target.wants/iolens-ingest.timer").unlink()
    (site.at / "units/multi-user.target.wants/iolens-kernel.service").unlink()
    replaced(site.at / PLUGIN, "optional", "required")
    notes = [text for result, _, text in site.doctor() if result == "note"]
    for unit in ("iolens-ingest.timer", "iolens-kernel.service"):
        assert any(text.endswith(f"systemctl enable --now {unit}") for text in notes)
    assert any("write optional" in text for text in notes)
    assert site.problems() == []


def test_a_site_of_nothing_is_said_in_notes(site: Site, tmp_path: Path) -> None:
    places_ = {"MODULEPATH": str(tmp_path), "SYSTEMD_UNIT_PATH": str(tmp_path), "SLURM_CONF": ""}
    places_["IOLENS_LOGPATH"] = str(site.at / "logs")
    found = site.doctor(**places_)
    notes = {name for result, name, _ in found if result == "note"}
    assert {"module", "systemd"} <= notes and site.problems(**places_) == []


def test_a_default_acl_that_logs_would_mask(site: Site) -> None:
    if subprocess.run(["setfacl", "-d", "-m", "g:daemon:r", site.at / "logs" / DAY], check=False).returncode:
        pytest.skip("no ACLs on this file system")
    (row,) = [row for row in site.doctor() if row[1] == "acl"]
    assert row[0] == "note" and "GROUP_READABLE" in row[2]
    (row,) = [row for row in site.doctor(IOLENS_GROUP_READABLE="1") if row[1] == "acl"]
    assert row[0] == "ok"


THROUGH = f"{sys.executable} -c \"import os, sys; exec(open('{{at}}/through').read())\" %h"
CODE = """
node, command = sys.argv[1], sys.argv[2:]
if node == "down":
    sys.exit("ssh: connect to host down port 22: No route to host")
if node.startswith("old"):
    command = ["unshare", "-m", "sh", "-c", 'mount --bind /bin/true "$0"; exec "$@"', command[-1], *command]
os.execvp(command[0], command)
"""


def test_nodes_with_other_files(site: Site) -> None:
    (site.at / "through").write_text(CODE)
    through = THROUGH.format(at=site.at)
    names = [f"node{n}" for n in range(40)]
    found = site.doctor("--nodes", ",".join(names), "--through", through, about="nodes")
    assert found == [("ok", "nodes", "40 of 40 nodes have the same command and library as this one")]
    found = site.doctor("--nodes", "node0,old1,down", "--through", through, about="nodes")
    library = site.at / "lib" / "iolens" / "lib" / "libiolens.so"
    assert found == [
        (
            "problem",
            "nodes",
            f"old1: {library} is not the same file as here: install one version on all nodes",
        ),
        ("problem", "nodes", "down: ssh: connect to host down port 22: No route to host"),
        ("ok", "nodes", "1 of 3 nodes has the same command and library as this one"),
    ]
    found = site.doctor("--nodes", "-oProxyCommand=x,$(id)", "--through", through, about="nodes")
    assert [text for _, _, text in found] == [
        '"-oProxyCommand=x" is no name of a node',
        '"$(id)" is no name of a node',
    ]


@pytest.mark.parametrize("arguments", [["--through", "ssh"], ["--nodes"]])
def test_wrong_usage(iolens: Path, arguments: list[str]) -> None:
    done = subprocess.run([iolens, "doctor", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
