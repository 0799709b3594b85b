"""`iolens doctor`: what it finds is so; `iolens disable` and `enable`: what a site observes of a user's programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from iolens import schemas
from jsonschema import Draft202012Validator

Doctor = Callable[..., dict[tuple[str, str], list[tuple[str, str]]]]


@pytest.fixture
def doctor(iolens: Path, tmp_path: Path) -> Doctor:
    """(about, name) -> [(result, text)]; the exit code is checked against them."""

    def ask(*arguments: str | Path, **env: str) -> dict[tuple[str, str], list[tuple[str, str]]]:
        done = subprocess.run(
            [iolens, "doctor", "--json", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), **env},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.stderr == ""
        told: dict[str, Any] = json.loads(done.stdout)
        Draft202012Validator(schemas.load("doctor")).validate(told)
        problems = sum(check["result"] == "problem" for check in told["checks"])
        assert (told["problems"], done.returncode) == (problems, 1 if problems else 0)
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for check in told["checks"]:
            found.setdefault((check["about"], check["name"]), []).append((check["result"], check["text"]))
        return found

    return ask


def stores() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob(".iolens-doctor-*")}


def test_a_sound_installation(doctor: Doctor, preload: Path) -> None:
    found = doctor()
    assert [result for rows in found.values() for result, _ in rows if result == "problem"] == []
    (trial,) = found["installation", "trial"]
    assert trial[1].startswith("a program is observed, and its store can be read (iolens-")
    assert found["installation", "library"] == [("ok", os.path.realpath(preload))]
    assert stores() == set()


def test_a_library_that_is_none(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "libiolens.so").write_text("none")
    found = doctor(IOLENS_PRELOAD=str(tmp_path / "libiolens.so"))
    (trial,) = found["installation", "trial"]
    assert trial[0] == "problem" and "cannot be preloaded" in trial[1]
    found = doctor(IOLENS_PRELOAD=str(tmp_path / "elsewhere.so"))
    assert found["installation", "library"] == [
        ("problem", f"{tmp_path}/elsewhere.so: not found: correct IOLENS_PRELOAD")
    ]
    assert stores() == set()


def test_another_library_under_its_name(doctor: Doctor, tmp_path: Path) -> None:
    library = tmp_path / "libiolens.so"
    subprocess.run(["cc", "-x", "c", "-shared", "-o", library, "-"], input=b"", check=True)
    assert doctor(IOLENS_PRELOAD=str(library))["installation", "trial"] == [
        ("problem", "a program with the library leaves no store")
    ]


def test_settings_and_where_they_come_from(doctor: Doctor, tmp_path: Path) -> None:
    logs = tmp_path / ("a directory of logs " * 8)
    logs.mkdir()
    (tmp_path / "site.conf").write_text("BUDGET 8\nTRACES on\nDISABLE\n")
    found = doctor(IOLENS_CONFIG_PATH=str(tmp_path / "site.conf"), IOLENS_LOGPATH=str(logs))
    rows = found["settings", "setting"]
    assert ("ok", f"BUDGET 8 ({tmp_path}/site.conf:1)") in rows
    assert ("problem", f"DISABLE on ({tmp_path}/site.conf:3): nothing is observed") in rows
    assert any(result == "problem" and "TRACES" in text for result, text in rows)
    assert ("ok", f"LOGPATH {logs} (environment IOLENS_LOGPATH)") in rows
    assert found["node", "logs"][0][1].startswith(f"{logs}: writable, ")
    assert list(logs.iterdir()) == []


def test_a_directory_of_logs_that_takes_none(doctor: Doctor, tmp_path: Path) -> None:
    (row,) = doctor(IOLENS_LOGPATH=str(tmp_path / "none"))["node", "logs"]
    assert row[0] == "problem" and "No such file or directory: make it with mode 1777" in row[1]
    (row,) = doctor(IOLENS_LOGPATH="/proc")["node", "logs"]
    assert row[0] == "problem"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    rows = doctor(IOLENS_LOGPATH=str(tmp_path / "open"))["node", "logs"]
    assert [result for result, _ in rows] == ["ok", "problem"] and rows[1][1].endswith("chmod +t")


def test_directories_of_days(doctor: Doctor, root: Path, tmp_path: Path) -> None:
    """As a site makes them for everybody; a directory of one's own needs none."""
    logs, days = tmp_path / "logs", [date.today() + timedelta(days=n) for n in (0, 1, 2)]
    today, tomorrow, later = (logs / f"{day.year}/{day.month}/{day.day}" for day in days)
    logs.mkdir(mode=0o755)

    def said() -> list[tuple[str, str]]:
        rows = doctor(IOLENS_LOGPATH=str(logs))["node", "logs"]
        return [(result, text.split(": ")[0]) for result, text in rows]

    assert said() == [("ok", str(logs))]
    (logs / ".stores").mkdir()
    assert said() == [("problem", str(today)), ("ok", str(logs))]
    command = ["sh", root / "deploy/slurm/directories", logs]
    subprocess.run([*command, "0"], check=True)
    assert said() == [("note", str(tomorrow)), ("ok", str(today))]
    subprocess.run([*command, "2"], check=True)
    assert said() == [("ok", str(today))]
    assert later.stat().st_mode & 0o7777 == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a file system of its own")
def test_a_full_disk_is_no_missing_directory(iolens: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    script = (
        'mount -t tmpfs -o size=4k tmpfs logs && { cat /dev/zero > logs/all 2>/dev/null; exec "$0" doctor; }'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, iolens],
        cwd=tmp_path,
        env={**os.environ, "IOLENS_LOGPATH": str(tmp_path / "logs")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 32:
        pytest.skip("no mounts here")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  problem  logs")]
    text = "no file can be made there: No space left on device: make room, or set IOLENS_LOGPATH to another"
    assert line.endswith(f"{tmp_path}/logs: {text}")


def test_what_is_preloaded(doctor: Doctor, preload: Path) -> None:
    assert doctor(LD_PRELOAD=str(preload))["installation", "LD_PRELOAD"] == [("ok", str(preload))]
    assert doctor()["installation", "LD_PRELOAD"][0][0] == "note"


@pytest.mark.parametrize("variable", ["IOLENS_ENABLE_NONMPI", "DARSHAN_ENABLE_NONMPI"])
def test_every_program_of_a_job_is_observed(doctor: Doctor, preload: Path, variable: str) -> None:
    """As under srun, by a plugin with serial=yes."""
    found = doctor(LD_PRELOAD=str(preload), **{variable: "1"})
    assert [text for rows in found.values() for _, text in rows if "under iolens run only" in text] == []
    (note,) = doctor(LD_PRELOAD=str(preload))["settings", "non-MPI"]
    assert note[0] == "note" and "under iolens run only" in note[1]


def test_libraries_that_wrap_the_same_calls(doctor: Doctor, preload: Path, tmp_path: Path) -> None:
    darshan, older = tmp_path / "libdarshan.so", tmp_path / "older" / "libiolens.so"
    older.parent.mkdir()
    for library in (darshan, older):
        subprocess.run(["cc", "-x", "c", "-shared", "-o", library, "-"], input=b"", check=True)

    def problems(*libraries: Path) -> list[str]:
        rows = doctor(LD_PRELOAD=":".join(map(str, libraries)))["installation", "LD_PRELOAD"]
        return [text for result, text in rows if result == "problem"]

    both = f"{darshan} and {preload}: iolens and Darshan wrap the same calls: preload one of them"
    assert problems(darshan, preload) == [both]
    two = f"{preload} and {older}: two libraries of iolens: preload one of them"
    assert problems(preload, older) == [two]
    (tmp_path / "libiolens.so").symlink_to(preload)
    assert problems(preload, tmp_path / "libiolens.so") == []


STATIC = "int main(void) { return 0; }"


@pytest.fixture(scope="module")
def programs_examined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("examined")
    for name, options in (("static", ["-static"]), ("small", ["-m32"]), ("setuid", [])):
        subprocess.run(["cc", "-x", "c", "-o", at / name, *options, "-"], input=STATIC.encode(), check=False)
    for name, mark in (("go", "\\xff Go buildinf:"), ("rust", "RUST_BACKTRACE")):
        source = f'const char mark[] = "{mark}"; {STATIC}'
        subprocess.run(["cc", "-static", "-x", "c", "-o", at / name, "-"], input=source.encode(), check=False)
    shutil.copy(at / "setuid", at / "plain")
    if os.geteuid() == 0:
        os.chown(at / "setuid", 65534, 65534)
    (at / "setuid").chmod(0o4755)
    (at / "job.sh").write_text("#!/bin/sh\n# sudo is not used\nenv -i ./plain\nLD_PRELOAD=x.so ./plain\n")
    (at / "fine.sh").write_text("#!/bin/sh\nLD_PRELOAD=x.so:$LD_PRELOAD ./plain\n")
    (at / "text").write_text("no program\n")
    for name in ("job.sh", "fine.sh", "text"):
        (at / name).chmod(0o755)
    return at


@pytest.mark.parametrize(
    ("name", "result", "text"),
    [
        ("plain", "ok", "dynamic, of this machine"),
        ("static", "problem", "--kernel observes it; or link it with $(iolens config --static-ldflags)"),
        ("go", "problem", "static (Go): it cannot preload the library: as root, iolens run --kernel"),
        (
            "rust",
            "problem",
            "static (Rust): it cannot preload the library: as root, iolens run --kernel",
        ),
        ("small", "problem", "of another machine or word size"),
        ("setuid", "problem", "its loader ignores LD_PRELOAD"),
        ("text", "problem", "neither a program nor a script"),
        ("missing", "problem", "not found, or not executable"),
        ("job.sh", "ok", "a script, its interpreter: dynamic"),
    ],
)
def test_a_program(doctor: Doctor, programs_examined: Path, name: str, result: str, text: str) -> None:
    path = programs_examined / name
    if name == "setuid" and os.geteuid() != 0:
        pytest.skip("a program of another user")
    if name == "small" and not path.exists():
        pytest.skip("no compiler for 32 bits")
    (row,) = doctor("--", path)["program", "file"]
    assert row[0] == result and text in row[1] and row[1].startswith(str(path))
    assert name == "static" or "static-ldflags" not in row[1]


def test_a_static_program_with_iolens_in_it(doctor: Doctor, iolens: Path, tmp_path: Path) -> None:
    """It has no loader that would list what it loads: it would run."""
    flags = subprocess.run(
        [iolens, "config", "--static-ldflags"], capture_output=True, text=True, check=False
    )
    if flags.returncode:
        pytest.skip("no libiolens.a")
    source = '#include <fcntl.h>\nint main(void) { return open("ran", O_CREAT | O_WRONLY, 0600) < 0; }'
    command = ["cc", "-static", "-o", tmp_path / "linked", "-xc", "-", "-xnone", *flags.stdout.split()]
    subprocess.run(command, input=source.encode(), check=True)
    rows = doctor(tmp_path / "linked")["program", "file"]
    assert rows == [("ok", f"{tmp_path}/linked: static, with iolens linked in: it needs no preloading")]
    assert not (tmp_path / "ran").exists()


def test_a_script_that_takes_the_library_away(doctor: Doctor, programs_examined: Path) -> None:
    script = programs_examined / "job.sh"
    rows = doctor(script)["program", "script"]
    assert [text.split(": ")[0] for _, text in rows] == [f"{script}:3", f"{script}:4"]
    assert ("program", "script") not in doctor(programs_examined / "fine.sh")


def test_a_program_that_a_rule_leaves_out(doctor: Doctor) -> None:
    assert ("program", "settings") not in doctor("ls")
    found = doctor("ls", IOLENS_APP_EXCLUDE="^ls$")
    assert found["program", "settings"][0][0] == "problem"


@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="no MPICH")
def test_the_mpi_of_a_program(doctor: Doctor, tmp_path: Path) -> None:
    source = "int MPI_Init(void *, void *);\nint main(void) { return MPI_Init(0, 0); }"
    subprocess.run(
        ["mpicc.mpich", "-x", "c", "-o", tmp_path / "ranks", "-"], input=source.encode(), check=True
    )
    rows = doctor(tmp_path / "ranks")["program", "library"]
    assert any(text.startswith("libmpich.so.12") and "(MPI of the MPICH family)" in text for _, text in rows)


LEFT = """\
import os, signal, sys
with open(sys.argv[1], "w") as file:
    file.write("text")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    "scheduler",
    [
        ("SLURM_JOB_ID", "471100", "471100"),
        ("PBS_JOBID", "471100[3].server", "471100"),
        ("LSB_JOBID", "471100", "471100"),
        ("FLUX_JOB_ID", "ƒ2oLkTLb", "68484595712"),
    ],
)
def test_a_job_from_stores_to_log(
    doctor: Doctor, iolens: Path, preload: Path, tmp_path: Path, scheduler: tuple[str, str, str]
) -> None:
    """Killed: its store waits, doctor names the command, and behind that command there is a log."""
    variable, given, number = scheduler
    (tmp_path / "logs").mkdir()
    (tmp_path / "stores").mkdir()
    places = {"IOLENS_LOGPATH": str(tmp_path / "logs"), "IOLENS_TMPDIR": str(tmp_path / "stores")}
    job = {**places, "LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1"}
    (tmp_path / "left.py").write_text(LEFT)
    for n, of in enumerate((given, "8")):
        command = ["python3", tmp_path / "left.py", tmp_path / f"written.{n}"]
        ended = subprocess.run(command, env={**os.environ, **job, variable: of}, check=False)
        assert ended.returncode == -9
        # The next one would make its log.
        job["IOLENS_ABANDONED"] = "keep"
    found = doctor("--job", given, **places)
    (stores,) = found["job", "stores"]
    assert stores[0] == "problem" and stores[1].endswith(f"iolens recover --remove --job {number}")
    assert found["job", "log"] == [("problem", "none yet: its stores are still there")]
    env = {**os.environ, **places}
    recover = [iolens, "recover", "--job", given]
    listed = subprocess.run([*recover, "--list"], env=env, check=True, capture_output=True, text=True).stdout
    assert len(listed.splitlines()) == 1 and Path(listed.strip()).is_file()
    made = subprocess.run([*recover, "--remove"], env=env, check=True, capture_output=True, text=True)
    (log,) = (tmp_path / "logs").glob("*.darshan")
    assert made.stdout.strip() == str(log) and f"_id{number}-" in log.name
    assert doctor("--job", given, **places)["job", "log"] == [("ok", str(log))]
    assert len(list((tmp_path / "stores").glob("*/*.store"))) == 1
    again = subprocess.run([*recover, "--remove"], env=env, check=True, capture_output=True, text=True)
    assert (again.stdout, again.stderr) == ("", "")


def test_stores_behind_what_others_can_make_are_left_alone(
    doctor: Doctor, iolens: Path, preload: Path, tmp_path: Path
) -> None:
    """A link, and a directory that others may write to: both could be of anybody in /dev/shm."""
    (tmp_path / "left.py").write_text(LEFT)
    env = {"IOLENS_TMPDIR": str(tmp_path), "SLURM_JOB_ID": "5", "LD_PRELOAD": str(preload)}
    command = ["python3", tmp_path / "left.py", tmp_path / "written"]
    subprocess.run(command, env={**os.environ, **env, "IOLENS_ENABLE_NONMPI": "1"}, check=False)
    own = tmp_path / f"iolens-{os.geteuid()}"
    listing = [iolens, "recover", "--job", "5", "--list"]

    def listed() -> list[str]:
        asked = subprocess.run(
            listing,
            env={**os.environ, "IOLENS_TMPDIR": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
        )
        return asked.stdout.splitlines()

    assert len(listed()) == 1
    own.chmod(0o777)
    assert listed() == []
    own.chmod(0o700)
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")
    assert listed() == []


def test_stores_are_moved_whole(doctor: Doctor, iolens: Path, preload: Path, tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text(LEFT)
    (tmp_path / "to").mkdir()
    env = {"IOLENS_TMPDIR": str(tmp_path), "SLURM_JOB_ID": "6", "LD_PRELOAD": str(preload)}
    command = ["python3", tmp_path / "left.py", tmp_path / "written"]
    subprocess.run(command, env={**os.environ, **env, "IOLENS_ENABLE_NONMPI": "1"}, check=False)
    plain = {**os.environ, "IOLENS_TMPDIR": str(tmp_path)}
    (store,) = (tmp_path / f"iolens-{os.geteuid()}").glob("*.store")
    content = store.read_bytes()
    subprocess.run([iolens, "recover", "--job", "6", "--move", tmp_path / "to"], env=plain, check=True)
    assert (tmp_path / "to" / store.name).read_bytes() == content and not store.exists()
    log = tmp_path / "moved.darshan"
    subprocess.run([iolens, "recover", "-o", log, tmp_path / "to"], check=True, capture_output=True)
    shown = subprocess.run([iolens, "files", log], check=True, capture_output=True, text=True).stdout
    assert "written" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["--job", "5", "store"],
        ["--job", "5", "--live"],
        ["--job", "5", "--move", "d", "--list"],
        ["--job", "no"],
    ],
)
def test_wrong_usage_of_recover(run_iolens: Callable[..., Any], arguments: list[str]) -> None:
    done = run_iolens(["recover", *arguments])
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1


def test_a_job_of_which_there_is_nothing(doctor: Doctor) -> None:
    (row,) = doctor("--job", "99999999", SLURM_CONF="/no/slurm.conf", MODULEPATH="/no")["job", "log"]
    assert row[0] == "problem" and row[1].startswith("none in this directory")


def test_a_job_is_looked_for_where_the_site_has_its_logs(doctor: Doctor, tmp_path: Path) -> None:
    """On a login node, where no variable names them: by Slurm's files."""
    today = date.today()
    area, spool = tmp_path / "area", tmp_path / "spool"
    (tmp_path / "epilog").write_text("# iolens'\n")
    (tmp_path / "site.conf").write_text(f"IOLENS_LOGPATH={area}\nSPOOL={spool}\n")
    (tmp_path / "slurm.conf").write_text(f"Epilog={tmp_path}/epilog\n")
    (tmp_path / "plugstack.conf").write_text(f"optional iolens-spank.so library=/x.so logs={spool}\n")
    env = {"SLURM_CONF": str(tmp_path / "slurm.conf"), "MODULEPATH": "/no"}

    def said(job: str) -> tuple[str, str]:
        (row,) = doctor("--job", job, **env)["job", "log"]
        return row

    day = area / f"{today.year}/{today.month}/{today.day}"
    logs = [day / "me_x_id471101-1_1-1-1_1.darshan", spool / "me_x_id471102-1_1-1-1_1.darshan"]
    for log in logs:
        log.parent.mkdir(parents=True)
        log.write_text("")
    assert [said("471101"), said("471102")] == [("ok", str(log)) for log in logs]
    result, text = said("471103")
    assert result == "problem" and text.startswith(f"none in {area}, {spool}, and no store on this node")


@pytest.mark.parametrize(
    "arguments",
    [["--job", "x"], ["--job", "0"], ["--job", "12x"], ["--job", "file"], ["--job"], ["--nothing"]],
)
def test_wrong_usage(run_iolens: Callable[..., Any], arguments: list[str]) -> None:
    done = run_iolens(["doctor", *arguments])
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1


# ---------------------------------------------------------------- disable, enable


def observed(preload: Path, logs: Path, **env: str) -> int:
    settings = {"LD_PRELOAD": str(preload), "IOLENS_LOGPATH": str(logs), "IOLENS_ENABLE_NONMPI": "1"}
    subprocess.run(["/bin/pwd"], env={**os.environ, **settings, **env}, check=True)
    return len(list(logs.glob("*_pwd_*.darshan")))  # it may find a store that another test's process has left


@pytest.mark.parametrize("by", ["HOME", "XDG_CONFIG_HOME"])
def test_disable_and_enable(iolens: Path, preload: Path, tmp_path: Path, doctor: Doctor, by: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", by: str(tmp_path)}
    file = tmp_path / (".config/iolens/disabled" if by == "HOME" else "iolens/disabled")

    def iolens_(*words: str) -> str:
        env = {**os.environ, **home}
        return subprocess.run([iolens, *words], env=env, check=True, capture_output=True, text=True).stdout

    assert observed(preload, logs, **home) == 1
    assert iolens_("disable") == f"disabled by {file}: iolens enable undoes it\n"
    assert observed(preload, logs, **home) == 1
    assert doctor(**home)["settings", "disabled"][0][0] == "problem"
    iolens_("run", "-q", "-o", str(tmp_path / "asked.darshan"), "true")
    assert (tmp_path / "asked.darshan").exists()
    assert iolens_("disable") == f"disabled by {file}: iolens enable undoes it\n"
    assert iolens_("enable") == "enabled\n"
    assert observed(preload, logs, **home) == 2
    assert iolens_("enable") == "enabled\n"


def test_disable_without_a_place(run_iolens: Callable[..., Any], tmp_path: Path) -> None:
    done = run_iolens(["disable"], env={"HOME": "", "XDG_CONFIG_HOME": ""})
    assert done.returncode == 3 and "set HOME" in done.stderr
    (tmp_path / "file").write_text("")
    done = run_iolens(["disable"], env={"XDG_CONFIG_HOME": str(tmp_path / "file")})
    assert done.returncode == 3 and done.stderr.endswith("set IOLENS_DISABLE=1 instead\n")
    assert run_iolens(["enable", "now"]).returncode == 2
