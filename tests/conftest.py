"""Fixtures every test may use."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import places
import pytest
from observed import Observe

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["tiers", "timings"]

# What the caller has set for own use must not reach the programs under test.
_OWN = ("LD_PRELOAD", "COLUMNS", "LINES")
for _name in [n for n in os.environ if n.startswith(("IOLENS_", "DARSHAN_")) or n in _OWN]:
    del os.environ[_name]

# The interpreter's own programs come first, as in an activated environment: iolens finds its Python package by them.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Open MPI 5 does nothing for who has no home.
os.environ.setdefault("HOME", str(Path.home()))

# Started in the background or by nohup, this process ignores signals, and all that it starts would, too.
for _signal in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_signal) == signal.SIG_IGN:
        signal.signal(_signal, signal.default_int_handler if _signal == signal.SIGINT else signal.SIG_DFL)

# MPICH over UCX takes 4 MiB of /dev/shm for each rank, and containers often have 64 in all.
# What lies below /var has no records.
_shm = os.statvfs("/dev/shm") if Path("/dev/shm").is_dir() else None
if _shm and _shm.f_bavail * _shm.f_frsize < 1 << 30:
    os.environ.setdefault("UCX_POSIX_DIR", "/var/tmp")


_SHM_IS_OURS = False


def pytest_configure(config: pytest.Config) -> None:
    global _SHM_IS_OURS  # noqa: PLW0603
    if hasattr(config, "workerinput") and os.geteuid() == 0:
        _own_shared_memory()
        _SHM_IS_OURS = True


@pytest.fixture(autouse=True)
def _no_store_of_another_test() -> None:
    """A process that a test killed has left a store, whose log a later test's process would make among its own."""
    if not _SHM_IS_OURS:
        return
    for store in Path("/dev/shm").glob("iolens-*/*.store"):
        pid = store.name.split(".")[-3]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            store.unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def _umask_of_the_start() -> Iterator[None]:
    """What writes a lake in this process has the lake's readers for all files that it makes later."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)


def _own_shared_memory() -> None:
    """A /dev/shm for this process of pytest-xdist: processes that end take over the stores of any that was killed."""
    new_namespace, private, recursive = 0x00020000, 1 << 18, 1 << 14
    libc = ctypes.CDLL(None, use_errno=True)
    done = (
        libc.unshare(new_namespace) == 0
        and libc.mount(b"none", b"/", None, private | recursive, None) == 0
        and libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"mode=1777") == 0
    )
    assert done, f"no /dev/shm of its own: {os.strerror(ctypes.get_errno())}"


# A product that is missing is a broken build, material that is missing (the corpus) a reason to skip.
def _product(path: Path) -> Path:
    if not path.exists():
        pytest.fail(f"{path} is not built: run ./bootstrap build", pytrace=False)
    return path


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return places.ROOT


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """The Meson build directory."""
    return _product(places.BUILD)


@pytest.fixture(scope="session")
def iolens() -> Path:
    """The native CLI."""
    return _product(places.BIN)


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preload library, by a name that LD_PRELOAD can have wherever the repository is."""
    built = _product(places.PRELOAD)
    if not set(" :;$") & set(str(built)):
        return built
    link = tmp_path_factory.mktemp("preload") / built.name
    link.symlink_to(built)
    return link


@pytest.fixture(scope="session")
def programs(build_dir: Path) -> Path:
    """Directory of the compiled tests/programs/*.c, made on demand: a plain build leaves them out."""
    places.make("test-programs")
    return build_dir / "tests" / "programs"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder with logs/ and expected/ of released Darshan versions."""
    if not (places.CORPUS / "logs").is_dir():
        pytest.skip(f"no corpus of released logs at {places.CORPUS}: set IOLENS_CORPUS")
    return places.CORPUS


# Of each kind: shared and partial records, a slow server, traces, heat maps, MPI's own counters, none, old versions.
_SOME = """
imbalanced-io skew-app sample-badost mpi-io-test-dxt runtime-and-dxt-heatmaps partial-data-stdio apmpi empty
release-ppc64-3.0.0 release-x86_64-3.4.7 v2-ppc32-1.1.12 v2-x86_64-2.3.1
""".split()


@pytest.fixture(params=["some", "every"])
def released(request: pytest.FixtureRequest, corpus: Path) -> list[Path]:
    """Logs of released versions: a dozen, and all (for campaigns)."""
    logs = sorted((corpus / "logs").iterdir())
    return (
        logs
        if request.param == "every"
        else [log for log in logs if log.name.partition(".darshan")[0] in _SOME]
    )


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The independent reference decoder, as a module."""
    if not places.ORACLE.is_file():
        pytest.skip(f"no reference decoder at {places.ORACLE}: set IOLENS_ORACLE")
    spec = importlib.util.spec_from_file_location("darshan_oracle", places.ORACLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run_iolens(iolens: Path) -> Run:
    """Run the CLI; the finished process with its output as text, undecodable bytes as surrogates."""

    def run(
        args: Sequence[str | Path],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        streams = {"capture_output": True, "encoding": "utf-8", "errors": "surrogateescape"}
        return subprocess.run(
            [str(iolens), *map(str, args)],
            check=False,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            timeout=timeout,
            **{**streams, **options},
        )

    return run


@pytest.fixture
def observe(iolens: Path, preload: Path, tmp_path_factory: pytest.TempPathFactory) -> Observe:
    """Run a command under `iolens run`: what it gave, and its log."""
    return Observe(iolens, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="session")
def compile_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compile C source that a test brings along, with options of the compiler; the path of the program."""

    def build(source: str, *options: str) -> Path:
        folder = tmp_path_factory.mktemp("program")
        (folder / "program.c").write_text(source)
        command = ["cc", "-O1", "-D_GNU_SOURCE", "-o", "program", "program.c", "-pthread", *options]
        subprocess.run(command, cwd=folder, check=True)
        return folder / "program"

    return build


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser. Of the module: while it runs, its loop of asyncio is that of the whole process."""
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()
