"""Jobs that change their user or their process numbers: recorded, or named with the right reason, silently."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shown
from observed import Observe

NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@pytest.fixture
def public(iolens: Path, preload: Path) -> Iterator[Path]:
    """A directory for everybody, with the products where others may read them."""
    place = Path(tempfile.mkdtemp(prefix="iolens-public-", dir="/tmp"))
    place.chmod(0o777)
    for product in (iolens, preload):
        shutil.copy(product, place / product.name)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def observe_public(public: Path, tmp_path: Path) -> Callable[..., object]:
    observe = Observe(public / "iolens", tmp_path)
    env = {"IOLENS_PRELOAD": str(public / "libiolens.so")}
    return lambda command, **settings: observe(command, cwd=public, env=env, **settings)


WRITE = "dd if=/dev/zero of=made bs=1000 count=3 status=none"


@pytest.mark.parametrize(
    "command",
    [
        [*AS_NOBODY, "sh", "-c", WRITE],
        ["runuser", "-u", "nobody", "--", "sh", "-c", WRITE],
        ["su", "-s", "/bin/sh", "nobody", "-c", WRITE],
        ["chroot", "--userspec=65534:65534", "--skip-chdir", "/", "sh", "-c", WRITE],
        ["sh", "-c", f"{' '.join(AS_NOBODY)} sh -c '{WRITE}; exit 0'; exit $?"],
    ],
    ids=["setpriv", "runuser", "su", "chroot", "within a script"],
)
def test_a_command_that_changes_the_user_is_recorded(
    observe_public, public: Path, command: list[str]
) -> None:
    seen = observe_public(command)
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert (public / "made").stat().st_uid == NOBODY
    assert seen.total("POSIX", "BYTES_WRITTEN", str(public / "made")) == 3000
    assert not seen.sections.get("unobserved")


@pytest.mark.skipif(not shutil.which("gosu"), reason="no gosu")
def test_a_static_command_that_changes_the_user_is_named_and_what_it_becomes_recorded(
    observe_public, public: Path
) -> None:
    """gosu is a Go program: what it does itself is out of reach."""
    seen = observe_public(["sh", "-c", f"gosu nobody sh -c '{WRITE}'; exit $?"])
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert (public / "made").stat().st_uid == NOBODY
    assert seen.total("POSIX", "BYTES_WRITTEN", str(public / "made")) == 3000
    named = [(Path(row["program"]).name, row["reason"]) for row in seen.sections.get("unobserved", [])]
    assert named == [("gosu", "static")]


# A root of a few programs with what they load, users, mounts and processes of its own.
ROOT = """
mkdir -p root/tmp root/dev/shm root/proc root/lib64 root/usr/bin
ln -s usr/bin root/bin
for program in sh dd cat wc; do
	path=$(command -v $program)
	cp -L $path root/bin/$program
	for library in $(ldd $path | grep -o '/[^ ]*'); do
		case $library in */libiolens*) continue ;; esac
		mkdir -p root$(dirname $library)
		cp -nL $library root$library
	done
done
touch root/dev/zero
mount --bind /dev/zero root/dev/zero
mount -t proc proc root/proc
MORE
exec chroot root /bin/sh -c 'cd /tmp; WRITE; echo $$; cat made | wc -c'
"""
CONTAINER = ["unshare", "-U", "-r", "-m", "-p", "-f", "sh", "-ec"]
WITH_LIBRARY = "mkdir -p root{0}; touch root{0}/{1}; mount --bind {0}/{1} root{0}/{1}"
WITH_STORES = "mount --rbind /dev/shm root/dev/shm"


def in_a_container(more: str) -> list[str]:
    return [*CONTAINER, ROOT.replace("WRITE", WRITE).replace("MORE", more)]


@pytest.mark.parametrize("inside", ["library", "library and stores"])
def test_a_container_is_right_and_silent(
    observe: Observe, preload: Path, tmp_path: Path, inside: str
) -> None:
    more = WITH_LIBRARY.format(preload.parent, preload.name)
    if inside == "library and stores":
        more += "; " + WITH_STORES
    bare = subprocess.run(in_a_container(more), cwd=tmp_path, capture_output=True, check=False)
    if bare.returncode:
        pytest.skip(f"no such namespaces: {bare.stderr.decode()}")
    shutil.rmtree(tmp_path / "root", ignore_errors=True)
    seen = observe(in_a_container(more), cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, bare.stdout, bare.stderr)
    assert bare.stdout == b"1\n3000\n"
    named = {(Path(row["program"]).name, row["reason"]) for row in seen.sections["unobserved"]}
    unseen = {row for row in named if not row[0].startswith("ld-linux")}  # which ldd calls
    if inside == "library":
        assert unseen == {("sh", "no_store")}
    else:
        assert unseen == set()
        assert seen.total("POSIX", "BYTES_WRITTEN", "/tmp/made") == 3000
    assert {row["ended"] for row in seen.sections["process"]} <= {"exit", "exec"}


def test_children_after_the_change_are_recorded(observe_public, public: Path) -> None:
    script = (
        "import os; os.setresgid(*[65534] * 3); os.setresuid(*[65534] * 3);"
        "pid = os.fork(); f = os.open(f'made{pid > 0}', 65, 0o600); os.write(f, b'x' * (10 + (pid > 0)));"
        "pid or os._exit(0); os.waitpid(pid, 0)"
    )
    seen = observe_public(["/usr/bin/python3", "-S", "-c", script])
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    for name, size in (("madeTrue", 11), ("madeFalse", 10)):
        assert seen.total("POSIX", "BYTES_WRITTEN", str(public / name)) == size


def test_the_session_stays_closed_to_others(observe_public, public: Path) -> None:
    """Who is not in the job can neither list nor guess; who is can add, and touch nothing of others."""
    others = "ls $IOLENS_SESSION; ls ${IOLENS_SESSION_OTHERS%/*}; ls $IOLENS_SESSION_OTHERS"
    traps = "ln -s /etc/shadow a.1.1.store; mkfifo b.1.1.store"
    script = f"""
above=${{IOLENS_SESSION_OTHERS%/*}}
stat -c %a $IOLENS_SESSION $above $IOLENS_SESSION_OTHERS
{" ".join(AS_NOBODY)} sh -c '{others}' 2>/dev/null
{" ".join(AS_NOBODY)} sh -c 'cd $IOLENS_SESSION_OTHERS; {traps}'
for store in $IOLENS_SESSION_OTHERS/*.store; do [ -L $store ] || [ -p $store ] || stat -c %a $store; done | sort -u
"""
    seen = observe_public(["sh", "-c", script])
    assert seen.done.stdout.split() == [b"700", b"711", b"1733", b"600"]
    assert "root:" not in seen.text and "missing" not in {row["ended"] for row in seen.sections["process"]}


def sessions() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir() if "iolens-" in path.name}


def test_nothing_is_left_behind(observe_public) -> None:
    before = sessions()
    observe_public([*AS_NOBODY, "true"])
    assert sessions() == before


def killed_run(public: Path, env: dict[str, str], *before: str) -> None:
    """`iolens run` of a program that has written, killed with all its processes. before: words before the program."""
    command = [public / "iolens", "run", "-q", "-o", public / "log", "--", *before]
    run = subprocess.Popen(
        [*map(str, command), "sh", "-c", f"{WRITE}; echo ready; read nothing"],
        cwd=public, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None and run.stdout.readline() == b"ready\n"
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    time.sleep(0.2)


def test_a_killed_run_is_made_good_with_what_others_left(public: Path, run_iolens) -> None:
    env = {**os.environ, "IOLENS_PRELOAD": str(public / "libiolens.so")}
    before = sessions()
    killed_run(public, env, *AS_NOBODY)
    assert run_iolens(["recover"]).returncode == 0
    assert "\tPOSIX_BYTES_WRITTEN\t3000\t" in run_iolens(["show", public / "log"]).stdout
    assert sessions() == before


# ---- root recovers where another user owns the directory ----

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="no strace")


def slowed(call: str, *command: object) -> subprocess.Popen[bytes]:
    """A command whose first call of this name takes a second and a half longer."""
    slow = f"inject={call}:delay_exit=1500000:when=1"
    strace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", slow]
    return subprocess.Popen([*strace, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def replace_by_link(directory: Path, to: Path) -> Path:
    """As the owner of the directory above can; where it is now."""
    moved = directory.with_name("moved")
    directory.rename(moved)
    directory.symlink_to(to)
    os.chown(directory, NOBODY, NOBODY, follow_symlinks=False)
    return moved


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def area(public: Path) -> Path:
    """Of mode 1777, and of another user."""
    area = public / "area"
    area.mkdir()
    area.chmod(0o1777)
    os.chown(area, NOBODY, NOBODY)
    return area


def make_store(folder: Path, preload: Path, written: Path) -> Path:
    """What a process leaves in a session that no `iolens run` ends."""
    folder.mkdir(mode=0o700)
    env = {**os.environ, "IOLENS_SESSION": str(folder), "LD_PRELOAD": str(preload)}
    subprocess.run(["dd", "if=/dev/zero", f"of={written}", "count=1", "status=none"], env=env, check=True)
    (store,) = folder.glob("*.store")
    return store


@needs_strace
def test_a_session_whose_name_becomes_a_link_while_root_recovers_it(
    area: Path, public: Path, run_iolens, tmp_path: Path
) -> None:
    """The log is made of what was locked, and nothing of the link's directory is removed."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("")
    env = {**os.environ, "IOLENS_PRELOAD": str(public / "libiolens.so"), "IOLENS_TMPDIR": str(area)}
    killed_run(public, env)
    (session,) = area.glob("iolens-*")
    lock = f":{session.stat().st_ino} "
    recover = slowed("flock", "env", f"IOLENS_TMPDIR={area}", public / "iolens", "recover")
    wait_for(lambda: lock in Path("/proc/locks").read_text())
    moved = replace_by_link(session, victim)
    out, err = recover.communicate(timeout=300)
    assert f"{public}/log\n".encode() in out, err
    assert [path.name for path in victim.iterdir()] == ["precious"]
    assert list(moved.iterdir()) == []
    assert "\tPOSIX_BYTES_WRITTEN\t3000\t" in run_iolens(["show", public / "log"]).stdout


@needs_strace
def test_a_directory_that_becomes_a_link_while_root_removes_its_stores(
    area: Path, public: Path, tmp_path: Path
) -> None:
    preload = public / "libiolens.so"
    store = make_store(area / "iolens-evil", preload, tmp_path / "written")
    victim = tmp_path / "victim"
    victim.mkdir()
    for name in (store.name, "note"):
        (victim / name).write_text("")
    logs = tmp_path / "logs"
    logs.mkdir()
    recover = slowed(
        "fsync,fdatasync", public / "iolens", "recover", "--remove", "-o", logs / "log", store.parent
    )
    wait_for(lambda: list(logs.iterdir()))
    replace_by_link(store.parent, victim)
    _, err = recover.communicate(timeout=300)
    assert recover.returncode == 0, err
    assert sorted(path.name for path in victim.iterdir()) == sorted([store.name, "note"])


def test_links_of_another_user_are_no_stores_for_root(
    area: Path, public: Path, run_iolens, tmp_path: Path
) -> None:
    preload = public / "libiolens.so"
    private = make_store(tmp_path / "private", preload, tmp_path / "secret")
    store = make_store(area / "iolens-evil", preload, tmp_path / "written")
    link = store.with_name(f"link.{private.name}")
    link.symlink_to(private)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    done = run_iolens(["recover", "-o", tmp_path / "log", store.parent])
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/log\n")
    assert f"recover: {link}: is a link of another user: left out\n" in done.stderr
    shown = run_iolens(["show", tmp_path / "log"]).stdout
    assert "written" in shown and "secret" not in shown
    os.chown(link, 0, 0, follow_symlinks=False)
    again = run_iolens(["recover", "-o", tmp_path / "both", store.parent])
    assert again.returncode == 0 and "secret" in run_iolens(["show", tmp_path / "both"]).stdout


# ---- the library alone: no line for what is no mistake of the user ----


def alone(preload: Path, command: list[str], log: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    settings = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(log), **more}
    line = ["env", *(f"{name}={value}" for name, value in settings.items()), *command]
    return subprocess.run(line, capture_output=True, check=False, timeout=300)


FEW = ["bash", "-c", "ulimit -n 4; exec true"]


@pytest.mark.parametrize("command", [[*AS_NOBODY, "true"], FEW], ids=["no right", "no descriptor"])
def test_what_a_process_may_not_do_is_told_when_asked_for(
    public: Path, tmp_path: Path, command: list[str]
) -> None:
    tmp_path.chmod(0o700)
    quiet = alone(public / "libiolens.so", command, tmp_path / "log")
    assert (quiet.returncode, quiet.stderr) == (0, b"")
    asked = alone(public / "libiolens.so", command, tmp_path / "log2", IOLENS_VERBOSE="1")
    assert asked.returncode == 0
    if command is not FEW:
        assert b"log not written" in asked.stderr and asked.stderr.count(b"\n") == 1


# ---- containers ----


def test_processes_of_another_namespace_are_not_taken_for_ours(observe: Observe) -> None:
    """Inside, the numbers begin at 1; outside, those are somebody else."""
    script = "for i in 1 2 3; do sh -c 'kill -9 $$'; done; true"
    seen = observe(["unshare", "-pf", "--mount-proc", "sh", "-c", script], options=())
    assert seen.done.returncode == 0
    assert b"still run:" not in seen.done.stderr and b"still runs:" not in seen.done.stderr
    ends = [row["ended"] for row in seen.sections["process"] if row["exe"] != "/usr/bin/unshare"]
    assert sorted(ends) == ["exit"] + 3 * ["signal"]


def test_a_process_that_lives_on_in_a_namespace_is_found(observe: Observe) -> None:
    script = "unshare -pf --kill-child sh -c 'exec sleep 20' >/dev/null 2>&1 </dev/null & sleep 0.5"
    seen = observe(["sh", "-c", script], options=())
    assert b"processes still run:" in seen.done.stderr
    running = [row for row in seen.sections["process"] if row["ended"] == "running"]
    assert {row["exe"] for row in running} >= {"/usr/bin/sleep"}
    for row in running:
        if row["exe"] == "/usr/bin/unshare":
            os.kill(int(row["pid"]), signal.SIGKILL)


def test_a_program_that_cannot_leave_a_store_is_named(
    observe: Observe, preload: Path, tmp_path: Path
) -> None:
    """In a root of its own, without the library and the stores."""
    script = """
mkdir -p root/tmp root/usr; for link in bin lib lib64; do ln -s usr/$link root/$link; done
mount --rbind /usr root/usr; exec chroot root true
"""
    if not Path("/lib").is_symlink() or str(preload).startswith("/usr/"):
        pytest.skip("a /lib of its own")
    seen = observe(["unshare", "-m", "sh", "-ec", script], cwd=tmp_path, options=())
    assert seen.done.returncode == 0
    assert [(row["program"], row["reason"], row["count"]) for row in seen.sections["unobserved"]] == [
        ("/usr/bin/true", "no_store", "1")
    ]
    assert b"true, without access to the library or the stores' directory" in seen.done.stderr


FORK_THREE = """
import os, resource, sys, time
os.chdir(sys.argv[1])
if sys.argv[2] == "no room":
    full = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(full, bytes(1 << 16)):
            pass
    except OSError:
        pass
for n in range(3):
    pid = os.fork()
    if not pid:
        while sys.argv[2] == "no descriptor" and resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
            time.sleep(0.001)  # to limit itself would wake it
        os.write(1, b"child\\n")
        os._exit(0)
    if sys.argv[2] == "no descriptor":
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))
    os.waitpid(pid, 0)
if sys.argv[2] == "no room":
    os.unlink(sys.argv[3])
os.close(os.open("made", os.O_WRONLY | os.O_CREAT))
"""


@pytest.mark.parametrize("why", ["no descriptor", "no room"])
def test_forked_children_that_can_make_no_store_are_counted(
    observe: Observe, tmp_path: Path, why: str
) -> None:
    stores = tmp_path / "stores"
    stores.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=17m", "none", stores]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount")
    try:
        command = ["/usr/bin/python3", "-IS", "-c", FORK_THREE, tmp_path, why, stores / "filler"]
        seen = observe(command, env={"IOLENS_TMPDIR": str(stores)}, cwd=tmp_path)
    finally:
        subprocess.run(["umount", stores], check=True)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, 3 * b"child\n", b"")
    program = os.path.realpath("/usr/bin/python3")
    assert [(row["program"], row["reason"], row["count"]) for row in seen.sections["unobserved"]] == [
        (program, "no_store", "3")
    ]
    assert seen.total("POSIX", "OPENS", f"{tmp_path}/made") == 1


def test_where_there_can_be_no_second_process_the_command_runs_all_the_same(public: Path) -> None:
    """As in a container with --pids-limit 1."""
    limit = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "prlimit", "--nproc=1"]
    run = [public / "iolens", "run", "-o", "log", "--", "sh", "-c", "echo done; exit 3"]
    stores = public / "stores"
    stores.mkdir()
    stores.chmod(0o777)
    env = {**os.environ, "IOLENS_PRELOAD": str(public / "libiolens.so"), "IOLENS_TMPDIR": str(stores)}
    done = subprocess.run([*limit, *run], cwd=public, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "done\n")
    assert done.stderr == (
        "iolens: run: cannot start a process: Resource temporarily unavailable: sh runs without observation, no log\n"
    )
    assert not (public / "log").exists()
    assert list(stores.iterdir()) == []


@pytest.fixture
def one_process() -> Iterator[Path]:
    """A control group for one process, as --pids-limit 1 makes it."""
    places = [Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")]
    group = (
        next((place for place in places if (place / "cgroup.procs").exists()), places[1])
        / f"one-{os.getpid()}"
    )
    try:
        group.mkdir()
        (group / "pids.max").write_text("1")
    except OSError:
        if group.exists():
            group.rmdir()
        pytest.skip("no control groups of processes here")
    yield group
    group.rmdir()


def test_a_control_group_of_one_process_has_the_command_alone(
    iolens: Path, one_process: Path, tmp_path: Path
) -> None:
    stores = tmp_path / "stores"
    stores.mkdir()
    script = f'echo $$ > {one_process}/cgroup.procs && exec "$@"'
    run = [str(iolens), "run", "-o", "log", "--", "/bin/sh", "-c", "echo done; exit 3"]
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *run],
        cwd=tmp_path,
        env={**os.environ, "IOLENS_TMPDIR": str(stores)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "done\n")
    assert "cannot start a process" in done.stderr
    assert "runs without observation, no log" in done.stderr
    assert list(stores.iterdir()) == []


@pytest.mark.parametrize("volume", [False, True], ids=["shm", "volume"])
def test_a_killed_container_leaves_what_is_on_a_volume(
    volume: bool, iolens: Path, run_iolens: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """All its processes end at once, and its /dev/shm with them."""
    stores = tmp_path / "volume"
    stores.mkdir()
    inside = """
mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$0" run -q -o log -- \
	sh -c 'printf 0123456789 > data; echo ready; sleep 1000'
"""
    env = {name: text for name, text in os.environ.items() if name != "IOLENS_TMPDIR"}
    container = subprocess.Popen(
        ["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", inside, str(iolens)],
        cwd=tmp_path,
        env=env | ({"IOLENS_TMPDIR": str(stores)} if volume else {}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert container.stdout
    if container.stdout.readline() != "ready\n":
        container.wait()
        pytest.skip("no name spaces here")
    container.kill()
    assert container.stdout.read() == "", "the end, when all have ended"
    container.wait()
    assert (tmp_path / "data").read_text() == "0123456789"
    assert not (tmp_path / "log").exists()
    left = sorted(stores.glob("iolens-*"))
    assert len(left) == volume
    if volume:
        done = run_iolens(["recover", "-o", tmp_path / "log", *left])
        assert (done.returncode, done.stderr) == (0, "")
        rows = shown.sections(run_iolens(["show", "--ext", tmp_path / "log"]).stdout)["process"]
        assert "16" in {row["seen_written"] for row in rows}, "with the line on standard output"
