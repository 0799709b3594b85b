"""Module files under environment-modules and Lmod: in everybody's environment, and out of it without a trace."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import places
import pytest

LMOD = places.ROOT / ".venv" / "lmod" / "usr" / "share" / "lmod"
TCL = Path("/usr/share/modules/init/bash")
# What the two keep for themselves.
OWN = (
    "MODULE",
    "_LM",
    "__LM",
    "__MODULES",
    "LOADEDMODULES",
    "LMOD",
    "_ModuleTable",
    "BASH_FUNC",
    "SHLVL",
    "_=",
)


class Modules:
    def __init__(self, system: str, place: Path) -> None:
        self.root, self.logs, self.place = place / "opt", place / "logs", place
        self.library = self.root / "iolens/lib/libiolens.so"
        self.library.parent.mkdir(parents=True)
        self.library.symlink_to(places.PRELOAD)
        (self.root / "bin").mkdir()
        self.logs.mkdir()
        files = place / "modulefiles"
        files.mkdir()
        name = "iolens" if system == "environment-modules" else "iolens.lua"
        text = (places.ROOT / "deploy/modulefiles" / name).read_text()
        for path, own in (("/opt/iolens", self.root), ("/logs/iolens", self.logs)):
            assert text.count(path) == 1
            text = text.replace(path, str(own))
        (files / name).write_text(text)
        (files / name.replace("iolens", "darshan")).write_text("" if name.endswith(".lua") else "#%Module\n")
        if system == "environment-modules":
            self.begin = f". {TCL}\n" if TCL.exists() else pytest.skip("no environment-modules")
        else:
            (init,) = LMOD.glob("[0-9]*/libexec/lmod") if LMOD.exists() else pytest.skip("no Lmod")
            self.begin = f'export LMOD_CMD={init}\nmodule() {{ eval "$($LMOD_CMD bash "$@")"; }}\n'
        self.begin += f"module use {files}\n"

    def link(self) -> str:
        """As `make install` does: the library by what glibc's loaders put in place of $LIB."""
        for place in ("lib", "lib64", f"lib/{platform.machine()}-linux-gnu"):
            folder = self.root / "iolens/preload" / place
            folder.mkdir(parents=True, exist_ok=True)
            (folder / self.library.name).symlink_to(self.library)
        return f"{self.root}/iolens/preload/$LIB/{self.library.name}"

    def shell(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--norc", "-c", self.begin + script],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def environment(self, script: str, **environment: str) -> dict[str, str]:
        lines = self.shell(f"{script}\nenv", **environment).stdout.splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith(OWN))


@pytest.fixture(params=["environment-modules", "lmod"])
def modules(request: pytest.FixtureRequest, tmp_path: Path) -> Modules:
    return Modules(request.param, tmp_path)


@pytest.mark.parametrize("linked", [False, True], ids=["plain", "linked"])
def test_a_program_is_observed_while_the_module_is_loaded(modules: Modules, linked: bool) -> None:
    if linked:
        modules.link()
    copy = f"{shutil.which('cp')} /etc/passwd"
    done = modules.shell(
        f"{copy} before\nmodule load iolens\n{copy} during\nmodule unload iolens\n{copy} after",
        IOLENS_ENABLE_NONMPI="1",
    )
    assert done.returncode == 0 and "cannot be preloaded" not in done.stderr, done.stderr
    logs = [log.name for log in modules.logs.rglob("*.darshan") if "_cp_" in log.name]
    assert len(logs) == 1
    shown = subprocess.run(
        [places.BIN, "show", next(modules.logs.rglob(logs[0]))], capture_output=True, text=True, check=True
    ).stdout
    assert "/during" in shown


@pytest.mark.parametrize("own", [{}, {"LD_PRELOAD": "libm.so.6", "IOLENS_LOGPATH": "/elsewhere"}])
def test_unloading_leaves_no_trace(modules: Modules, own: dict[str, str]) -> None:
    before = modules.environment("true", **own)
    loaded = modules.environment("module load iolens", **own)
    assert loaded["LD_PRELOAD"].split(":") == [str(modules.library), *([own["LD_PRELOAD"]] if own else [])]
    assert loaded["IOLENS_LOGPATH"] == own.get("IOLENS_LOGPATH", str(modules.logs))
    assert loaded["PATH"].split(":")[0] == str(modules.root / "bin")
    assert modules.environment("module load iolens\nmodule unload iolens", **own) == before


def test_unloading_takes_the_linked_library_back(modules: Modules) -> None:
    before, linked = modules.environment("true"), modules.link()
    loaded = modules.environment("module load iolens")
    assert loaded["LD_PRELOAD"] == linked
    assert modules.environment("module load iolens\nmodule unload iolens") == before
    gone = f"module load iolens\nrm -r {modules.root}/iolens/preload\nmodule unload iolens 2>/dev/null"
    assert modules.environment(gone) == before


@pytest.mark.parametrize("compiler", [["musl-gcc"], ["gcc", "-m32"]], ids=["musl", "32-bit"])
def test_programs_of_other_loaders_run_as_ever(modules: Modules, compiler: list[str]) -> None:
    """By a shell that iolens is not in; the 32-bit one has an empty library, as docs/guide/surroundings.md says."""
    source = 'int puts(const char *); int main(void) { puts("runs"); return 6; }'
    made = [*compiler, "-w", "-x", "c", "-o", str(modules.place / "other"), "-"]
    if not shutil.which(compiler[0]) or subprocess.run(made, input=source, text=True, check=False).returncode:
        pytest.skip(f"no {' '.join(compiler)}")
    modules.link()
    if "-m32" in compiler:
        for place in ("lib32", "lib/i386-linux-gnu"):
            empty = modules.root / "iolens/preload" / place / modules.library.name
            empty.parent.mkdir()
            stub = ["gcc", "-m32", "-shared", "-nostdlib", "-x", "c", "-o", str(empty), "-"]
            subprocess.run(stub, input="", text=True, check=True)
    done = modules.shell("module load iolens\n./other")
    assert (done.returncode, done.stdout, done.stderr) == (6, "runs\n", "")


# Debian's files of Lmod in the places that they name, and /etc of this machine: of a mount namespace alone.
OVERLAID = """
mount -t tmpfs tmpfs {layers} || exit 32
over() {{ # TARGET [BELOW]
	mkdir -p {layers}$1/upper {layers}$1/work
	mount -t overlay overlay -o lowerdir=${{2:+$2:}}$1,upperdir={layers}$1/upper,workdir={layers}$1/work $1 || exit 32
}}
over /etc {lmod_etc}
"""
WITH_LMOD = """
over /usr/share {lmod}/usr/share
over /usr/lib {lmod}/usr/lib
rm -f /etc/profile.d/modules.sh
cp {place}/modulefiles/iolens.lua /etc/lmod/modules/
"""
WITH_TCL = """
mkdir -p /etc/environment-modules/modules
cp {place}/modulefiles/iolens /etc/environment-modules/modules/
"""
SHELLS = r"""
cp {root}/deploy/modulefiles/zz-iolens.sh /etc/profile.d/
login() {{ env -i HOME=/ PATH=/usr/local/bin:/usr/bin:/bin "$@"; }}
login bash --login -c 'echo bash $LD_PRELOAD $IOLENS_LOGPATH'
login sh -l -c 'echo sh $LD_PRELOAD; bash --login -c "echo below \$LD_PRELOAD"'
login bash --login -c 'module unload iolens; echo unloaded $LD_PRELOAD; bash --login -c "echo below \$LD_PRELOAD"'
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts of its own")
def test_loaded_by_default(modules: Modules, tmp_path: Path) -> None:
    """As docs/guide/site-kit.md says: by login shells, once, without a word."""
    lmod = "LMOD_CMD" in modules.begin
    (tmp_path / "layers").mkdir()
    tree = LMOD.parents[2]
    script = (OVERLAID + (WITH_LMOD if lmod else WITH_TCL) + SHELLS).format(
        layers=tmp_path / "layers",
        lmod=tree,
        lmod_etc=tree / "etc" if lmod else "",
        place=tmp_path,
        root=places.ROOT,
    )
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script], capture_output=True, text=True, timeout=100, check=False
    )
    if done.returncode == 32:
        pytest.skip("no overlayfs here")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"bash {modules.library} {modules.logs}",
        f"sh {modules.library}",
        f"below {modules.library}",
        "unloaded",
        "below",
    ]


def test_not_beside_darshan(modules: Modules) -> None:
    done = modules.shell("module load darshan\nmodule load iolens\nenv")
    assert "darshan" in done.stderr and "LD_PRELOAD" not in done.stdout


def test_a_missing_library_is_not_preloaded(modules: Modules) -> None:
    modules.library.unlink()
    loaded = modules.environment("module load iolens")
    assert "LD_PRELOAD" not in loaded
    assert loaded["IOLENS_LOGPATH"] == str(modules.logs)


def test_a_library_that_went_away_can_be_unloaded(modules: Modules) -> None:
    script = f"module load iolens\nrm {modules.library}\nmodule unload iolens 2>/dev/null"
    assert modules.environment(script) == modules.environment("true")
