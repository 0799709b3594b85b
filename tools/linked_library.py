"""From the runtime's objects: libiolens.a, to be linked into programs, and what their linker must be told.

The list of wrapped symbols is what the objects export. Each of them becomes `__wrap_x` in the archive, everything else
but what programs call by name becomes local to its one object, so that no name of ours meets one of the program's. A
table, linked_names, has the address of each real function (`__real_x`) and of each name that the runtime asks for by
text (section iolens_names).

libc's functions are in every program: iolens.wrap has the linker wrap them. Other libraries' are in some, and an
address in the table takes nothing out of an archive: iolens.names lists them, and `iolens config --static-ldflags
ARCHIVE` says for those that the archive has that they are to be wrapped and taken.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# What programs and annotations call, as it is.
KEPT = re.compile(r"iolens_\w+")
# Answers of a preloaded library to what asks it; of the section that the linker itself bounds.
NOT_WRAPPED = re.compile(r"__asan_default_options|__(start|stop)_\w+")
# Other libraries' names; those of WRAP_LATE are known by what the macro leaves.
FOREIGN = re.compile(r"P?MPI_\w+|p?mpi_\w+")
# Has the linker take the archive's one object wherever the archive stands.
ANCHOR = "iolens_linked"
# Between ours run the program's constructors and destructors, as with a preloaded library.
OUTERMOST = ".00101"

# GCC's libraries call these by weak references as soon as there is pthread_key_create, which the runtime brings: they
# must be there, too (gthr-posix.h).
THREADS = [
    *(
        "create",
        "join",
        "detach",
        "equal",
        "self",
        "cancel",
        "once",
        "key_delete",
        "getspecific",
        "setspecific",
    ),
    *(f"mutex_{verb}" for verb in ("init", "destroy", "lock", "trylock", "timedlock", "unlock")),
    *(f"mutexattr_{verb}" for verb in ("init", "settype", "destroy")),
    *(f"cond_{verb}" for verb in ("init", "broadcast", "signal", "wait", "timedwait", "destroy")),
    *(f"rwlock_{verb}" for verb in ("rdlock", "tryrdlock", "wrlock", "trywrlock", "unlock")),
]

SYMBOL = re.compile(r"\s*\d+: \w+ +\w+ (\w+) +(GLOBAL|WEAK|UNIQUE) +(\w+) +(\S+) (\S+)")


class Maker:
    def __init__(self, compiler: list[str], objcopy: str, readelf: str, ar: str, work: Path) -> None:
        self.compiler, self.objcopy, self.readelf, self.ar, self.work = compiler, objcopy, readelf, ar, work

    def run(self, *command: str | Path) -> str:
        done = subprocess.run([str(c) for c in command], check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command[:3]))}: {done.stderr}")
        return done.stdout

    def join(self, name: str, *inputs: str | Path) -> Path:
        """Objects as one object."""
        out = self.work / name
        self.run(*self.compiler, "-r", "-nostdlib", "-o", out, *inputs)
        return out

    def exported(self, path: Path, visibility: str = "DEFAULT") -> set[str]:
        """Names that an object, or those of an archive, defines for others."""
        return {
            found[5].split("@")[0]
            for line in self.run(self.readelf, "-sW", path).splitlines()
            if (found := SYMBOL.fullmatch(line))
            and re.fullmatch(visibility, found[3])
            and found[4] not in ("UND", "COM")
        }

    def late(self, path: Path) -> set[str]:
        """Names that WRAP_LATE wraps: each has left a late_x."""
        return set(re.findall(r" late_([A-Za-z_]\w*)$", self.run(self.readelf, "-sW", path), re.MULTILINE))

    def asked(self, path: Path) -> set[str]:
        """Names in the section of names."""
        out = self.work / "names"
        self.run(self.objcopy, "-O", "binary", "--only-section=iolens_names", path, out)
        return {name.decode() for name in out.read_bytes().split(b"\0") if name}

    def copy(self, source: Path, target: Path, *options: str) -> Path:
        self.run(self.objcopy, *options, source, target)
        return target

    def backend(self, number: int, library: str) -> tuple[str, Path]:
        """Each MPI's backend has the same name: its number makes it another."""
        name = f"linked_backend_{number}"
        joined = self.join(f"{name}.o", "-Wl,--whole-archive", library, "-Wl,--no-whole-archive")
        return name, self.copy(
            joined, self.work / f"{name}_own.o", f"--redefine-sym=iolens_mpi_backend={name}"
        )


def libc_names(maker: Maker) -> set[str]:
    """What a static libc defines, without what the linker warns of."""
    found: set[str] = set()
    for library in ("libc.a", "libpthread.a", "librt.a"):
        path = maker.run(*maker.compiler, f"-print-file-name={library}").strip()
        if not Path(path).is_file():
            continue
        found |= maker.exported(Path(path), "DEFAULT|HIDDEN")  # what libc calls itself is hidden there
        found -= set(re.findall(r" \.gnu\.warning\.(\S+)", maker.run(maker.readelf, "-SW", path)))
    return found


def table(names: dict[str, str], strong: set[str], backends: list[str]) -> str:
    """The assembler's source of the tables, from names, and how the linker calls what each stands for."""
    lines = [
        '.section .data.rel.ro,"aw"',
        ".balign 8",
        ".hidden linked_names",
        ".globl linked_names",
        "linked_names:",
    ]
    texts = ['.section .rodata.linked_names,"a"']
    for at, (name, real) in enumerate(sorted(names.items())):
        lines += [] if name in strong else [f".weak {real}"]
        lines += [f".quad .Lname{at}, {real}"]
        texts += [f'.Lname{at}: .asciz "{name}"']
    lines += [".hidden linked_backends", ".globl linked_backends", "linked_backends:"]
    lines += [f".quad {name}" for name in backends] + [".quad 0"]
    lines += [".section .rodata", ".balign 8", ".hidden linked_count", ".globl linked_count"]
    lines += ["linked_count:", f".quad {len(names)}", f".globl {ANCHOR}", f"{ANCHOR}:", ".quad 1"]
    lines += ['.section .note.GNU-stack,"",%progbits']
    return "\n".join([*texts, *lines, ""])


def make(maker: Maker, given: argparse.Namespace) -> None:
    own = maker.join("own.o", "-Wl,--whole-archive", given.objects, "-Wl,--no-whole-archive")
    exported = {name for name in maker.exported(own) if not NOT_WRAPPED.fullmatch(name)}
    kept = {name for name in exported if KEPT.fullmatch(name)}
    foreign = {name for name in exported if FOREIGN.fullmatch(name)} | maker.late(own)
    libc = (exported - kept - foreign) & libc_names(maker)
    wrapped = libc | foreign
    backends = dict(maker.backend(number, library) for number, library in enumerate(given.backends))
    asked = maker.asked(own).union(*(maker.asked(path) for path in backends.values())) - exported
    names = {**{name: f"__real_{name}" for name in wrapped}, **{name: name for name in asked}}
    renames, globals_ = maker.work / "renames", maker.work / "globals"
    renames.write_text("".join(f"{name} __wrap_{name}\n" for name in sorted(exported - kept)))
    renamed = maker.copy(own, maker.work / "renamed.o", f"--redefine-syms={renames}")
    source = maker.work / "table.s"
    source.write_text(table(names, libc, list(backends)))
    libraries = [*given.libraries, "-static", *(f"-L{folder}" for folder in given.folders), "-lz"]
    whole = maker.join("whole.o", renamed, *backends.values(), source, *libraries)
    globals_.write_text("".join(f"{name}\n" for name in [*(f"__wrap_{n}" for n in wrapped), *kept, ANCHOR]))
    local = maker.copy(
        whole,
        maker.work / "iolens.o",
        f"--keep-global-symbols={globals_}",
        *(f"--rename-section={array}={array}{OUTERMOST}" for array in (".init_array", ".fini_array")),
        "--strip-debug",
    )
    given.archive.unlink(missing_ok=True)
    maker.run(maker.ar, "rcsD", given.archive, local)
    options = [f"--undefined={ANCHOR}", *(f"--wrap={name}" for name in sorted(libc))]
    options += [f"--undefined=pthread_{name}" for name in THREADS]
    given.wrap.write_text("".join(f"{option}\n" for option in options))
    others = [f"{name}{' wrapped' if name in foreign else ''}\n" for name in sorted(foreign | asked)]
    given.names.write_text("".join(others))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", nargs="+", required=True)
    parser.add_argument("--objcopy", default="objcopy")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--ar", default="ar")
    parser.add_argument("--objects", required=True, help="archive of the runtime's objects")
    parser.add_argument("--libraries", nargs="*", default=[], help="archives that they need, beside libz.a")
    parser.add_argument("--folders", nargs="*", default=[], help="where libz.a is looked for first")
    parser.add_argument("--backends", nargs="*", default=[], help="archives of the MPI backends")
    parser.add_argument("archive", type=Path)
    parser.add_argument("wrap", type=Path)
    parser.add_argument("names", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        maker = Maker(given.compiler, given.objcopy, given.readelf, given.ar, Path(work))
        make(maker, given)


if __name__ == "__main__":
    main()
