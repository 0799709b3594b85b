"""Programs that people run, small: each prepares its directory, then is one command line in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FIXED_TIME = 1_600_000_000

MULTIPROCESSING = """
import multiprocessing, os, sys
from multiprocessing import resource_tracker

def work(n):
    with open(f"part{n}", "wb", buffering=0) as out:
        for i in range(n + 1):
            out.write(bytes([n]) * 1000)
    with open("input", "rb", buffering=0) as source:
        source.seek(1000 * n)
        return sum(source.read(1000))

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(3) as pool:
        print(pool.map(work, range(6)))
    if sys.argv[1] == "spawn":
        resource_tracker._resource_tracker._stop()  # it would outlive the command
    sys.exit(len(os.listdir(".")))
"""

SQL = """
pragma journal_mode = delete;
create table t (id integer primary key, name text, value real);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
    insert into t select i, 'name ' || i, i * 1.5 from n;
commit;
create index by_value on t (value);
update t set name = 'other' where id % 7 = 0;
delete from t where id % 3 = 0;
vacuum;
select count(*), sum(value), max(name) from t;
.save copy.db
select * from nowhere;
"""


def make_tree(place: Path) -> None:
    for directory in ("a", "a/b", "c"):
        (place / "tree" / directory).mkdir(parents=True)
        for n, size in enumerate((0, 1, 511, 10_000, 300_000)):
            content = (f"{directory} {n} ".encode() * size)[:size]
            (place / "tree" / directory / f"file{n}").write_bytes(content)
    (place / "tree" / "link").symlink_to("a/file1")
    for path in (*(place / "tree").rglob("*"), place / "tree"):
        os.utime(path, (FIXED_TIME, FIXED_TIME), follow_symlinks=False)


def make_archive(place: Path) -> None:
    make_tree(place)
    subprocess.run(["tar", "czf", "tree.tar.gz", "tree"], cwd=place, check=True)
    shutil.rmtree(place / "tree")


def make_repository(place: Path) -> None:
    make_tree(place)
    identity = {
        f"GIT_{who}_{what}": f"{what}@example"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    dates = {f"GIT_{who}_DATE": f"{FIXED_TIME} +0000" for who in ("AUTHOR", "COMMITTER")}
    env = {**os.environ, **identity, **dates, "HOME": str(place)}
    for line in ("init -q -b main", "add .", "commit -q -m first", "gc -q", "mv c d", "commit -q -m second"):
        subprocess.run(["git", "-C", "tree", *line.split()], cwd=place, env=env, check=True)


def make_numbers(place: Path) -> None:
    (place / "input").write_bytes(bytes(range(250)) * 40)


def make_lines(place: Path) -> None:
    (place / "a").write_text("".join(f"line {n % 97}\n" for n in range(20_000)))
    (place / "b").write_text("".join(f"other {n % 31}\n" for n in range(5_000)))


def make_database(place: Path) -> None:
    (place / "script.sql").write_text(SQL)


def make_program(place: Path) -> None:
    make_numbers(place)
    (place / "program.py").write_text(MULTIPROCESSING)


@dataclass(frozen=True)
class Workload:
    needs: tuple[str, ...]
    prepare: Callable[[Path], None]
    command: tuple[str, ...]
    code: int = 0  # how it exits
    processes: int = 1  # program images, forked or executed; 0 = depends on the machine


PIPELINE = """
cat a b | sort | uniq -c | tee counts | wc -l >number
grep -c 'line 9' a
head -c 100 b >head
ls nowhere
exit 3
"""

WORKLOADS = {
    "tar_create": Workload(("tar",), make_tree, ("tar", "cf", "out.tar", "tree")),
    "tar_extract": Workload(("tar", "gzip"), make_archive, ("tar", "xzf", "tree.tar.gz"), processes=3),
    "sqlite3": Workload(
        ("sqlite3",),
        make_database,
        ("sqlite3", "-bail", "-init", "/dev/null", "data.db", ".read script.sql"),
        code=1,
    ),
    "git_clone": Workload(
        ("git",), make_repository, ("git", "clone", "-q", "--no-hardlinks", "tree", "clone"), processes=0
    ),
    "git_clone_by_protocol": Workload(
        ("git",), make_repository, ("git", "clone", "-q", "file://{place}/tree", "clone"), processes=0
    ),
    "multiprocessing_fork": Workload(
        (), make_program, (sys.executable, "-u", "program.py", "fork"), code=8, processes=0
    ),
    "multiprocessing_spawn": Workload(
        (), make_program, (sys.executable, "-u", "program.py", "spawn"), code=8, processes=0
    ),
    "pipeline": Workload(("bash",), make_lines, ("bash", "-c", PIPELINE), code=3, processes=0),
    "copy": Workload(("cp",), make_tree, ("cp", "-a", "tree", "copy")),
    "dd": Workload(
        ("dd",),
        make_tree,
        tuple("dd if=tree/a/file4 of=out bs=1000 skip=2 seek=7 count=55 status=none".split()),
    ),
}


def missing(workload: Workload) -> list[str]:
    return [name for name in workload.needs if not shutil.which(name)]


def command_in(workload: Workload, place: Path) -> list[str]:
    """The command line, prepared for this directory."""
    workload.prepare(place)
    return [word.replace("{place}", str(place)) for word in workload.command]
