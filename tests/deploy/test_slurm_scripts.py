"""Prolog, epilog and TaskProlog of deploy/slurm by themselves: what others have prepared for them does no harm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import places
import pytest
from slurm_site import PLUGIN

NOBODY = 65534


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    at = tmp_path / "etc"
    shutil.copytree(places.ROOT / "deploy" / "slurm", at)
    (tmp_path / "logs").mkdir(mode=0o755)
    (at / "site.conf").write_text(
        f"IOLENS={places.BIN}\nIOLENS_LOGPATH={tmp_path}/logs\nIOLENS_TMPDIR={tmp_path}/shm\nDAYS=yes\nLIMIT=5\n"
    )
    return at


def call(script: Path, **env: str) -> str:
    """Whatever happens, it ends with 0, and soon."""
    done = subprocess.run(
        [script],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_directories_of_days(scripts: Path) -> None:
    logs = scripts.parent / "logs"
    today = date.today()
    call(scripts / "prolog")
    call(scripts / "prolog")
    day = logs / f"{today.year}" / f"{today.month}" / f"{today.day}"
    assert [path.stat().st_mode & 0o7777 for path in (day, day.parent, logs / ".stores")] == [
        0o1777,
        0o755,
        0o1777,
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("prepared", ["a link", "of another user"])
def test_nothing_is_made_below_what_is_not_roots(scripts: Path, prepared: str) -> None:
    logs, trap = scripts.parent / "logs", scripts.parent / "trap"
    trap.mkdir()
    year = logs / f"{date.today().year}"
    if prepared == "a link":
        year.symlink_to(trap)
    else:
        year.mkdir()
        os.chown(year, NOBODY, NOBODY)
    call(scripts / "prolog")
    assert list(trap.iterdir()) == [] and list(year.iterdir()) == []


@pytest.mark.parametrize("script", ["prolog", "epilog", "task-prolog"])
@pytest.mark.parametrize("wrong", ["no site.conf", "no IOLENS", "no LOGPATH"])
def test_a_wrong_installation_is_no_failure(scripts: Path, script: str, wrong: str) -> None:
    conf = scripts / "site.conf"
    if wrong == "no site.conf":
        conf.unlink()
    else:
        conf.write_text(
            "IOLENS=/no/such\n" if wrong == "no LOGPATH" else "IOLENS=\nIOLENS_LOGPATH=/no/such\n"
        )
    call(scripts / script, SLURM_JOB_ID="1", SLURM_JOB_UID=str(NOBODY), SLURM_JOB_USER="nobody")
    call(scripts / script)
    call(scripts / script, SLURM_JOB_ID="$(touch x)", SLURM_JOB_UID="0;")


def test_the_epilog_has_a_limit(scripts: Path) -> None:
    (scripts.parent / "shm" / "iolens-x").mkdir(parents=True)
    slow = scripts / "slow"
    slow.write_text("#!/bin/sh\nsleep 100\n")
    slow.chmod(0o755)
    conf = scripts / "site.conf"
    conf.write_text(conf.read_text().replace("LIMIT=5", "LIMIT=1") + f"IOLENS={slow}\n")
    call(scripts / "epilog", SLURM_JOB_ID="1", SLURM_JOB_UID=str(os.geteuid()), SLURM_JOB_USER="me")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A folder whose `logger` writes to the file `said`."""
    logger = tmp_path / "logger"
    logger.write_text(f'#!/bin/sh\n{{ echo "$*"; cat; }} >> {tmp_path}/said\n')
    logger.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_goes_wrong_is_in_the_system_s_log(scripts: Path, journal: Path) -> None:
    """And a spool that a user fills makes no more of it than three lines for each job."""
    spool, logs, said = scripts.parent / "spool", scripts.parent / "logs", journal / "said"
    spool.mkdir()
    conf = scripts / "site.conf"
    conf.write_text(conf.read_text() + f"SPOOL={spool}\n")
    job = {"SLURM_JOB_ID": "31", "SLURM_JOB_UID": "0", "SLURM_JOB_USER": "root", "SLURM_JOB_GID": "0"}
    path = f"{journal}:{os.environ['PATH']}"
    call(scripts / "epilog", PATH=path, **job)
    call(scripts / "prolog", PATH=path)
    assert not said.exists()
    for n in range(30):
        (spool / f"x{n}\\n\n.darshan").write_text("no log")
    call(scripts / "epilog", PATH=path, **job)
    first, *lines = said.read_text().splitlines()
    assert first == "-t iolens-epilog" and len(lines) == 3
    assert all(line.endswith("\\n\\n.darshan: no log") for line in lines), lines
    said.unlink()
    logs.rename(scripts.parent / "elsewhere")
    call(scripts / "epilog", PATH=path, **job)
    call(scripts / "prolog", PATH=path)
    assert said.read_text().splitlines() == [
        "-t iolens-epilog",
        f"iolens: collect: {logs}: No such file or directory",
        "-t iolens-prolog",
        f"directories: {logs}: not a directory of this user, or a link: nothing is made below it",
    ]


@pytest.fixture
def public() -> Iterator[Path]:
    """Where every user can write, and iolens' scripts and command are."""
    at = Path(tempfile.mkdtemp(prefix="iolens-scripts-", dir="/var/tmp"))
    at.chmod(0o1777)
    shutil.copytree(places.ROOT / "deploy" / "slurm", at / "etc")
    shutil.copy(places.BIN, at / "iolens")
    for name, mode in (("logs", 0o755), ("shm", 0o1777), ("trap", 0o777)):
        (at / name).mkdir()
        (at / name).chmod(mode)
    (at / "etc" / "site.conf").write_text(
        f"IOLENS={at}/iolens\nIOLENS_LOGPATH={at}/logs\nIOLENS_TMPDIR={at}/shm\nDAYS=yes\nLIMIT=5\nGRACE=1\n"
    )
    yield at
    shutil.rmtree(at)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("share", ["a link", "another user's", "none"])
def test_names_that_users_choose_run_nothing(public: Path, share: str) -> None:
    """In stores, in the environment of the job, where the nodes meet; by its user, and by another one."""
    payload = f"$(touch {public}/owned);`touch {public}/owned`\n;touch {public}/owned"
    call(public / "etc" / "prolog")
    for uid in (NOBODY, NOBODY - 1):
        for folder in (
            public / "shm" / f"iolens-{uid}",
            public / "shm" / f"iolens-{payload}{uid}".replace("/", "."),
        ):
            folder.mkdir()
            (folder / f"{payload}.store".replace("/", ".")).write_text("no store")
            for path in (folder, *folder.iterdir()):
                os.chown(path, uid, uid)
    meeting = public / "logs" / ".stores" / f"job-31-{NOBODY}"
    if share == "a link":
        meeting.symlink_to(public / "trap")
    elif share == "another user's":
        meeting.mkdir(mode=0o777)
        os.chown(meeting, NOBODY - 1, NOBODY - 1)
    job = {"SLURM_JOB_ID": "31", "SLURM_JOB_UID": str(NOBODY), "SLURM_JOB_GID": str(NOBODY)}
    named = dict.fromkeys(
        ("SLURM_JOB_USER", "SLURM_JOB_NODELIST", "SLURMD_NODENAME", "SLURM_JOB_NAME"), payload
    )
    call(public / "etc" / "epilog", **job, **named, SLURM_JOB_NUM_NODES="2")
    call(public / "etc" / "epilog", **job, **named, SLURM_JOB_NUM_NODES=payload)
    call(public / "etc" / "task-prolog", **named, IOLENS_SESSION="")
    assert not (public / "owned").exists() and list((public / "trap").iterdir()) == []
    assert share != "another user's" or list(meeting.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_epilog_moves_logs_out_of_the_spool(scripts: Path, preload: Path) -> None:
    """What programs wrote there, and what it makes of the store of a killed one."""
    spool, logs = scripts.parent / "spool", scripts.parent / "logs"
    for folder, mode in ((spool, 0o1733), (scripts.parent / "shm", 0o1777)):
        folder.mkdir()
        folder.chmod(mode)
    conf = scripts / "site.conf"
    conf.write_text(conf.read_text() + f"SPOOL={spool}\n")
    call(scripts / "prolog")
    assert [path.name for path in logs.iterdir()] == [".stores"]
    settings = {
        "LD_PRELOAD": str(preload),
        "IOLENS_LOGPATH": str(spool),
        "IOLENS_TMPDIR": f"{scripts.parent}/shm",
        "IOLENS_ENABLE_NONMPI": "1",
        "SLURM_JOB_ID": "31",
    }
    subprocess.run(["/bin/cat", "/etc/hostname"], env=settings, check=True)
    killed = "import os; f = open('/etc/hostname'); os.kill(os.getpid(), 9)"
    subprocess.run(["/usr/bin/python3", "-c", killed], env=settings, check=False)
    call(scripts / "epilog", SLURM_JOB_ID="31", SLURM_JOB_UID="0", SLURM_JOB_USER="root", SLURM_JOB_GID="0")
    assert list(spool.iterdir()) == [] and not list((scripts.parent / "shm").rglob("*.store"))
    cat, python = sorted(path.name.split("_")[1] for path in logs.rglob("*.darshan"))
    assert cat == "cat" and python.startswith("python3")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("readable", [True, False])
def test_a_default_acl_lets_a_group_read_logs(scripts: Path, preload: Path, readable: bool) -> None:
    """Only with GROUP_READABLE: a log's mode of 0400 is the mask of its ACL."""
    conf, logs = scripts / "site.conf", scripts.parent / "logs"
    if subprocess.run(["setfacl", "-d", "-m", "g:daemon:r", scripts], check=False).returncode:
        pytest.skip("no ACLs on this file system")
    conf.write_text(conf.read_text() + "ACL=g:daemon:r\n")
    call(scripts / "prolog")
    settings = {"LD_PRELOAD": str(preload), "IOLENS_LOGPATH": str(logs), "IOLENS_ENABLE_NONMPI": "1"}
    more = {"IOLENS_GROUP_READABLE": "1"} if readable else {}
    subprocess.run(["/bin/cat", "/etc/hostname"], env={**settings, **more}, check=True)
    (log,) = logs.rglob("*.darshan")
    for folder in log.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    command = ["setpriv", f"--reuid={NOBODY}", "--regid=daemon", "--clear-groups", "head", "-c", "4", log]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == ((0, b"3.41") if readable else (1, b""))


def test_task_prolog(scripts: Path, preload: Path) -> None:
    conf = scripts / "site.conf"
    conf.write_text(conf.read_text() + f"IOLENS_LIBRARY={preload}\nSERIAL=yes\n")
    told = call(scripts / "task-prolog", LD_PRELOAD="libm.so.6").splitlines()
    assert told == [
        f"export LD_PRELOAD={preload}:libm.so.6",
        f"export IOLENS_LOGPATH={scripts.parent}/logs",
        "export IOLENS_ENABLE_NONMPI=1",
    ]
    conf.write_text(conf.read_text() + f"SPOOL={scripts.parent}/spool\n")
    assert f"export IOLENS_LOGPATH={scripts.parent}/spool" in call(scripts / "task-prolog").splitlines()
    assert call(scripts / "task-prolog", LD_PRELOAD=str(preload)) == ""
    assert call(scripts / "task-prolog", IOLENS_SESSION="/dev/shm/iolens-abc") == ""
    conf.write_text(conf.read_text() + "IOLENS_LIBRARY=/no/such.so\n")
    assert call(scripts / "task-prolog") == ""


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["/no/such"], 1, "directories: /no/such: not a directory of this user, or a link"),
        (["/tmp", "many"], 2, "usage: directories [LOGPATH [AHEAD]]"),
        (["/tmp", "1", "2"], 2, "usage: directories [LOGPATH [AHEAD]]"),
    ],
)
def test_wrong_use_of_directories_is_a_line(arguments: list[str], code: int, said: str) -> None:
    command = ["sh", places.ROOT / "deploy/slurm/directories", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code and done.stderr.startswith(said) and done.stderr.count("\n") == 1


def test_the_guides_plugin_lands_where_its_plugstack_conf_names_it(tmp_path: Path) -> None:
    """And nothing else is built for it, nor installed."""
    if not PLUGIN.exists():
        pytest.skip("no headers of Slurm")
    page = (places.ROOT / "docs" / "guide" / "slurm.md").read_text()
    (named,) = re.findall(r"^optional (\S+)", page, re.M)
    for command in re.findall(r"`(\.venv/bin/meson [^`]*)`", page):
        subprocess.run(
            ["sh", "-c", command.replace("build-slurm", str(tmp_path / "build"))],
            cwd=places.ROOT,
            env={**os.environ, "DESTDIR": str(tmp_path / "root")},
            check=True,
            capture_output=True,
        )
    landed = [path for path in (tmp_path / "root").rglob("*") if path.is_file()]
    assert landed == [tmp_path / "root" / named.lstrip("/")]
    built = list((tmp_path / "build").rglob("*.o"))
    assert "spank.c.o" in {path.name.rpartition("_")[2] for path in built} and len(built) < 150
