"""`iolens collect`, by root, out of a directory in which an unprivileged user has prepared what is to mislead it."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import places
import pytest
from power_cut import Disk

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
MALLORY, ALICE = 65533, 65532
PYTHON = "/usr/bin/python3"  # for every user
TODAY = time.strftime("%Y/%-m/%-d")


@dataclass
class Site:
    iolens: Path
    at: Path

    @property
    def spool(self) -> Path:
        return self.at / "spool"

    @property
    def area(self) -> Path:
        return self.at / "area"

    def collect(self, *options: str, spool: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [self.iolens, "collect", *options, spool or self.spool, self.area]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def collected(self) -> list[Path]:
        return sorted(path for path in self.area.rglob("*") if not path.is_dir() or path.is_symlink())


@pytest.fixture
def site(iolens: Path) -> Iterator[Site]:
    at = Path(tempfile.mkdtemp(prefix="iolens-collect-", dir="/var/tmp"))
    at.chmod(0o755)
    for name, mode in (("spool", 0o1733), ("area", 0o755)):
        (at / name).mkdir()
        (at / name).chmod(mode)
    yield Site(iolens, at)
    shutil.rmtree(at)


def as_user(uid: int, *command: str | Path, **env: str) -> None:
    setpriv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    variables = [f"{name}={value}" for name, value in env.items()]
    subprocess.run([*setpriv, "env", *variables, *command], check=True, timeout=300)


@pytest.fixture(scope="module")
def library(preload: Path) -> Iterator[Path]:
    """Where every user can read it."""
    at = Path(tempfile.mkdtemp(prefix="iolens-library-", dir="/var/tmp"))
    at.chmod(0o755)
    yield Path(shutil.copy(preload, at))
    shutil.rmtree(at)


def leave_log(site: Site, library: Path, uid: int, **env: str) -> Path:
    """The user's program writes it into the spool by itself."""
    before = set(site.spool.iterdir())
    settings = {"LD_PRELOAD": str(library), "IOLENS_LOGPATH": str(site.spool), "IOLENS_ENABLE_NONMPI": "1"}
    as_user(uid, "cat", "/etc/hostname", **settings, **env)
    (log,) = set(site.spool.iterdir()) - before
    return log


def test_a_log_goes_from_the_spool_into_the_area(site: Site, library: Path) -> None:
    log = leave_log(site, library, MALLORY, SLURM_JOB_ID="815")
    content, made = log.read_bytes(), log.stat().st_mtime_ns
    done = site.collect()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"1 collected, 0 left in {site.spool}\n", "")
    (there,) = site.collected()
    facts = there.stat()
    assert there == site.area / TODAY / log.name and there.read_bytes() == content
    assert (facts.st_uid, facts.st_mode & 0o7777, facts.st_mtime_ns) == (MALLORY, 0o400, made)
    assert list(site.spool.iterdir()) == []
    for folder in (there.parent, there.parent.parent, there.parent.parent.parent):
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o7777) == (0, 0o755)
    as_user(MALLORY, "cat", there)
    removed = ["setpriv", f"--reuid={MALLORY}", "--clear-groups", "rm", "-f", there]
    assert subprocess.run(removed, check=False, capture_output=True).returncode != 0 and there.exists()
    told = subprocess.run(
        [site.iolens, "doctor", "--job", "815"],
        env={**os.environ, "IOLENS_LOGPATH": str(site.area)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert f"  ok       log              {there}" in told.stdout.splitlines()


def test_a_group_may_read_logs_but_not_reasons(site: Site, library: Path) -> None:
    leave_log(site, library, MALLORY)
    as_user(MALLORY, "sh", "-c", f"echo 'off: --iolens=off' > {site.spool}/a.unobserved")
    assert site.collect("--group", "daemon").returncode == 0
    modes = {path.suffix: (path.stat().st_mode & 0o7777, path.stat().st_gid) for path in site.collected()}
    assert modes == {".darshan": (0o440, 1), ".unobserved": (0o400, MALLORY)}


TRICKS = {
    "a link": ("os.symlink(secret, at)", "a link"),
    "a link to nothing": ("os.symlink('/no/such', at)", "a link"),
    "a pipe": ("os.mkfifo(at)", "no regular file"),
    "a directory": ("os.mkdir(at)", "no regular file"),
    "a socket": ("s = socket.socket(socket.AF_UNIX); s.bind(at)", "no regular file"),
    "a file of 8 TiB": ("open(at, 'wb').write(head); os.truncate(at, 8 << 40)", "larger than --limit"),
    "a second name": ("open(at, 'wb').write(head); os.link(at, at + '2')", "has another name elsewhere"),
    "no log": ("open(at, 'w').write('root:x:0:0:::\\n' * 9)", "no log"),
    "nothing in it": ("open(at, 'w')", "no log"),
    "a long reason": ("open(at.replace('.darshan', '.unobserved'), 'w').write('x' * 5000)", "no reason is"),
    "marks of a terminal": (
        "open(os.path.dirname(at) + '/\\x1b[2Jx.darshan', 'w')",
        "\\x1b[2Jx.darshan: no log",
    ),
}
HEAD = (
    "import os, socket; at, secret = {at!r}, {secret!r}; "
    "head = b'3.41' + bytes(4) + (6567223).to_bytes(8, 'little'); "
)


@pytest.mark.parametrize("trick", TRICKS)
def test_what_is_no_log_stays_where_it_is(site: Site, library: Path, trick: str) -> None:
    code, why = TRICKS[trick]
    secret = site.at / "secret"
    secret.write_text("geheim")
    secret.chmod(0o600)
    leave_log(site, library, ALICE)
    at = site.spool / "x.darshan"
    as_user(MALLORY, PYTHON, "-c", HEAD.format(at=str(at), secret=str(secret)) + code)
    before = {path.name: path.lstat() for path in site.spool.iterdir() if "cat" not in path.name}
    done = site.collect()
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and why in done.stderr
    assert done.stdout.startswith("1 collected, 1 left in ")
    assert [path.stat().st_uid for path in site.collected()] == [ALICE]
    left = {path.name: path.lstat() for path in site.spool.iterdir()}
    assert {name: (s.st_ino, s.st_mode, s.st_size) for name, s in left.items()} == {
        name: (s.st_ino, s.st_mode, s.st_size) for name, s in before.items()
    }
    assert secret.read_text() == "geheim" and secret.stat().st_mode & 0o777 == 0o600


def test_another_user_s_log_is_not_had_by_a_hard_link(site: Site, library: Path) -> None:
    """Where the kernel lets users link what is not theirs: fs.protected_hardlinks=0."""
    log = leave_log(site, library, ALICE)
    kept = site.at / "kept.darshan"
    log.rename(kept)
    os.link(kept, site.spool / "x.darshan")
    done = site.collect()
    assert done.returncode == 4 and "has another name elsewhere" in done.stderr and site.collected() == []
    assert kept.stat().st_nlink == 2


def test_a_mount_is_not_entered(site: Site, library: Path) -> None:
    leave_log(site, library, MALLORY).rename(site.spool / "x.darshan")
    script = f"mount --bind /proc/version {site.spool}/x.darshan && exec {site.iolens} collect {site.spool} {site.area}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode == 32:
        pytest.skip("no mounts here")
    assert (done.returncode, site.collected()) == (4, []) and "of another file system" in done.stderr


OVERLAY = """
cd {at} && mount -t tmpfs tmpfs layers && mkdir layers/lower layers/upper && mount -t tmpfs tmpfs layers/lower &&
mount -t tmpfs tmpfs layers/upper && mkdir layers/upper/files layers/upper/work && cp -p spool/* layers/lower &&
mount -t overlay -o lowerdir=layers/lower,upperdir=layers/upper/files,workdir=layers/upper/work overlay spool || exit 32
cp -p mine spool/upper.darshan; chmod 1733 spool
stat -c %d spool spool/*.darshan; exec {iolens} collect spool area
"""


def test_a_spool_on_overlayfs(site: Site, library: Path) -> None:
    """As of a container: its files have the device numbers of the layers that they are in."""
    log = leave_log(site, library, MALLORY)
    (site.at / "layers").mkdir()
    subprocess.run(["cp", "-p", log, site.at / "mine"], check=True)
    script = OVERLAY.format(at=site.at, iolens=site.iolens)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode == 32:
        pytest.skip("no overlayfs here")
    *devices, said = done.stdout.splitlines()
    assert len(set(devices)) == 3
    assert (done.returncode, said, done.stderr) == (0, "2 collected, 0 left in spool", "")
    assert {path.name: path.stat().st_uid for path in site.collected()} == {
        log.name: MALLORY,
        "upper.darshan": MALLORY,
    }


def test_days_that_the_prolog_made_are_named_once(site: Site, library: Path) -> None:
    """The site has changed from DAYS to SPOOL: what users can write to is no place for their logs."""
    content = leave_log(site, library, MALLORY).read_bytes()
    for n in range(30):
        (site.spool / f"x{n}.darshan").write_bytes(content)
    command = ["sh", places.ROOT / "deploy" / "slurm" / "directories", site.area, "0"]
    subprocess.run(command, check=True)
    done = site.collect()
    assert (done.returncode, done.stdout) == (4, f"0 collected, 31 left in {site.spool}\n")
    first, more = done.stderr.splitlines()
    why = f"{TODAY} of the area: others may write there: chown it to the user that collects, and chmod go-w"
    assert first.endswith(f".darshan: {why}") and more.endswith("collect: and 30 more")
    (site.area / TODAY).chmod(0o755)
    assert site.collect().stdout == f"31 collected, 0 left in {site.spool}\n"


@pytest.mark.parametrize("prepared", ["a link", "of another user", "open for all"])
def test_nothing_is_made_below_a_directory_that_others_may_change(
    site: Site, library: Path, prepared: str
) -> None:
    log = leave_log(site, library, MALLORY)
    year, trap = site.area / TODAY.split("/")[0], site.at / "trap"
    trap.mkdir()
    if prepared == "a link":
        year.symlink_to(trap)
    else:
        year.mkdir()
        os.chown(year, 0 if prepared == "open for all" else MALLORY, 0)
        year.chmod(0o1777 if prepared == "open for all" else 0o755)
    done = site.collect()
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and log.exists()
    assert list(trap.iterdir()) == [] and list(year.iterdir()) == []


def test_directories_that_are_not_fit_for_it(site: Site) -> None:
    def said() -> str:
        done = site.collect()
        assert (done.returncode, done.stdout) == (3, "") and done.stderr.count("\n") == 1
        return done.stderr

    site.area.chmod(0o777)
    assert "other users may write there: chown it" in said()
    site.area.chmod(0o755)
    os.chown(site.spool, MALLORY, MALLORY)
    assert f"belongs to user {MALLORY}: chown it" in said()
    site.spool.rename(site.at / "elsewhere")
    assert "No such file or directory" in said()
    site.spool.symlink_to(site.at / "elsewhere")
    assert site.collect().returncode == 3


SWAP = """
import os, random, sys, time
spool, log, secret = sys.argv[1:]
at, other = spool + "/x.darshan", spool + "/.other"
content = open(log, "rb").read()
ways = [
    lambda: os.symlink(secret, other),
    lambda: os.mkfifo(other),
    lambda: open(other, "wb").write(content),
    lambda: os.symlink(os.path.dirname(secret), other),
]
a_log = 2
def put(way):
    try:
        ways[way]()
        os.rename(other, at)
    except OSError:
        pass
print("ready", flush=True)
while True:
    for n in range(random.randrange(2000)):
        put(n % len(ways))
    put(a_log)
    while os.path.lexists(at):  # until it is collected
        time.sleep(0)
"""


def test_what_is_replaced_all_the_time_gives_nothing_away(site: Site, library: Path) -> None:
    """A link, a pipe and a log take turns under one name while root collects; now and then a log stays."""
    log = leave_log(site, library, MALLORY)
    mine = log.rename(site.at / "mine")
    content = mine.read_bytes()
    secret = site.at / "secret"
    secret.write_bytes(content + b"geheim")
    secret.chmod(0o600)
    setpriv = ["setpriv", f"--reuid={MALLORY}", f"--regid={MALLORY}", "--clear-groups"]
    command = [*setpriv, PYTHON, "-c", SWAP, site.spool, mine, secret]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout is not None and swapper.stdout.readline() == "ready\n"
        taken = 0
        for n in range(5000):
            done = site.collect()
            assert done.returncode in (0, 4), done.stderr
            for path in site.collected():
                assert path.is_file() and not path.is_symlink()
                assert (path.stat().st_uid, path.read_bytes()) == (MALLORY, content)
                path.unlink()
                taken += 1
            if n >= 150 and taken >= 5:
                break
        swapper.kill()
    assert taken >= 5
    assert secret.read_bytes() == content + b"geheim"


def test_a_file_that_grows_waits(site: Site, library: Path) -> None:
    log = leave_log(site, library, MALLORY)
    os.truncate(log, 256 << 20)
    grow = "import sys\nf = open(sys.argv[1], 'ab', 0)\nprint('ready', flush=True)\nwhile True: f.write(b'x')"
    with subprocess.Popen([PYTHON, "-c", grow, log], stdout=subprocess.PIPE, text=True) as growing:
        assert growing.stdout is not None and growing.stdout.readline() == "ready\n"
        done = site.collect()
        growing.kill()
    assert done.returncode == 4 and "changes while it is copied" in done.stderr
    assert site.collected() == [] and log.exists()
    assert site.collect().returncode == 0 and [path.name for path in site.collected()] == [log.name]


def test_a_collector_that_is_killed_loses_nothing(site: Site, library: Path) -> None:
    content = leave_log(site, library, MALLORY).read_bytes()
    names = [f"mallory_x_id{n}-1_1-1-1_1.darshan" for n in range(300)]
    for path in site.spool.iterdir():
        path.unlink()
    for name in names:
        (site.spool / name).write_bytes(content)
        os.chown(site.spool / name, MALLORY, MALLORY)
    chance, killed = random.Random(1), 0
    while list(site.spool.iterdir()):
        command = [site.iolens, "collect", site.spool, site.area]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as collecting:
            if killed < 20:
                time.sleep(chance.uniform(0, 0.02))
                collecting.kill()
        killed += collecting.returncode == -9
        for name in names:
            assert (site.spool / name).exists() or (site.area / TODAY / name).exists()
    assert killed >= 5
    assert [path.name for path in site.collected()] == sorted(names)
    assert {path.read_bytes() for path in site.collected()} == {content}


def test_a_power_cut_leaves_each_log_whole_in_the_spool_or_the_area(
    site: Site, library: Path, tmp_path: Path
) -> None:
    content = leave_log(site, library, MALLORY).read_bytes()
    disk = Disk(site.at, tmp_path / "held")
    cuts = disk.run([site.iolens, "collect", site.spool, site.area])
    assert len(site.collected()) == 1
    for state in disk.states(cuts, len(cuts)):
        final = [path for path in site.at.rglob("*.darshan") if not path.name.startswith(".")]
        assert {path.read_bytes() for path in final} == {content}, state


def test_there_is_one_at_a_time(site: Site) -> None:
    held = os.open(site.spool, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    done = site.collect()
    os.close(held)
    assert (done.returncode, done.stdout) == (4, "") and "another iolens collect" in done.stderr


def test_another_log_of_that_name_is_not_replaced(site: Site, library: Path) -> None:
    log = leave_log(site, library, MALLORY)
    content = log.read_bytes()
    assert site.collect().returncode == 0
    (there,) = site.collected()
    log.write_bytes(content + b"other")
    done = site.collect()
    assert done.returncode == 4 and "another one of this name" in done.stderr
    assert there.read_bytes() == content and site.collected() == [there] and log.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["one"],
        ["a", "b", "c"],
        ["--limit", "0", "a", "b"],
        ["--limit", "5X", "a", "b"],
        ["--limit", "99999999999T", "a", "b"],
        ["--group", "no-such-group", "a", "b"],
    ],
)
def test_wrong_usage(iolens: Path, arguments: list[str]) -> None:
    done = subprocess.run([iolens, "collect", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
