"""PnetCDF: what programs do through it is in the records of files and variables, exactly."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import drishti
import places
import pytest
from interfaces import PNETCDF
from mpis import MPIS
from observed import Observe, Observed

HERE = Path(__file__).parent / "programs"
LAYERS = Path(os.environ.get("IOLENS_LAYERS", places.CORPUS.parent / "layers"))
Seen = dict[tuple[str, str], dict[str, str]]

RANKS = 2
MPI = MPIS["openmpi"]  # Debian's PnetCDF is built for it


def compiled(source: Path, place: Path) -> Path:
    MPI.require()
    if not Path("/usr/include/pnetcdf.h").is_file():
        pytest.skip("no libpnetcdf-dev")
    program = place / source.stem
    compiler = MPI.compiler(source.suffix)
    modules = [f"-I{path.parent}" for path in Path("/usr/lib").glob("*/fortran/*/pnetcdf.mod")]
    command = [compiler, f"-I{HERE}", *modules, "-o", program, source, "-lpnetcdf"]
    subprocess.run(command, check=True, cwd=place, capture_output=True)
    return program


def run(observe: Observe, place: Path, *command: str | Path, ranks: int = RANKS) -> Observed:
    (place / "work").mkdir()
    seen = observe(
        [*MPI.launcher(ranks), *command], cwd=place / "work", env={**os.environ, **MPI.environment}
    )
    assert seen.done.returncode == 0, seen.done.stderr
    return seen


def pnetcdf(seen: Observed) -> Seen:
    """Records of PnetCDF by module and name within the working directory: all ranks share them."""
    return {
        (module, name.rpartition("/work/")[2]): row
        for (module, name, rank), row in seen.records.items()
        if module in PNETCDF and rank == -1
    }


def counted(row: dict[str, str], prefix: str) -> dict[str, int]:
    """Counters that are not 0, without times, those of ranks, and common accesses."""
    return {
        name.removeprefix(prefix): int(value)
        for name, value in row.items()
        if not re.search(r"_F_|TIME_SIZE|RANK|ACCESS|FILE_REC_ID", name) and int(value)
    }


def accesses(row: dict[str, str]) -> list[tuple[str, int, int, list[int], list[int]]]:
    """Common ones: bytes, how often, elements and strides of the dimensions that have any."""
    found = []
    for n in range(1, 5):
        at = f"PNETCDF_VAR_ACCESS{n}"
        sides = [[int(row[f"{at}_{side}_D{d}"]) for d in range(1, 6)] for side in ("LENGTH", "STRIDE")]
        used = [[v for v in side if v] for side in sides]
        found.append((int(row[f"{at}_ACCESS"]), int(row[f"{at}_COUNT"]), *used))
    return [access for access in found if access[1]]


def test_files(observe: Observe, tmp_path: Path) -> None:
    seen = run(observe, tmp_path, compiled(HERE / "files.c", tmp_path))
    found = pnetcdf(seen)
    files = {name: counted(row, "PNETCDF_FILE_") for (m, name), row in found.items() if m == PNETCDF[0]}
    assert set(files) == {"files.nc", "aborted.nc", "open.nc"}
    moved = {name: (row.pop("BYTES_READ", 0), row.pop("BYTES_WRITTEN", 0)) for name, row in files.items()}
    assert files == {
        "files.nc": {"CREATES": RANKS, "OPENS": 2 * RANKS, "REDEFS": RANKS, "SYNCS": 2 * RANKS},
        "aborted.nc": {"CREATES": RANKS},
        "open.nc": {"CREATES": RANKS, "SYNCS": RANKS},
    }
    # 64 ints of each rank; what is more are headers, which the first rank writes and all but the first are told.
    assert moved["files.nc"][0] > 256 * RANKS and moved["files.nc"][1] > 256 * RANKS
    assert moved["open.nc"][1] > 256 * RANKS
    row = found[PNETCDF[0], "files.nc"]
    opened, closed = (float(row[f"PNETCDF_FILE_F_{n}_END_TIMESTAMP"]) for n in ("OPEN", "CLOSE"))
    assert 0 < opened < closed
    assert float(row["PNETCDF_FILE_F_META_TIME"]) > 0
    assert row["PNETCDF_FILE_F_WAIT_TIME"] == "0.000000"


def test_requests(observe: Observe, tmp_path: Path) -> None:
    found = pnetcdf(run(observe, tmp_path, compiled(HERE / "requests.c", tmp_path)))
    file = found[PNETCDF[0], "requests.nc"]
    waits = counted(file, "PNETCDF_FILE_")
    assert {name: value for name, value in waits.items() if "WAIT" in name} == {
        "COLL_WAITS": 2 * RANKS, "INDEP_WAITS": 3 * RANKS, "WAIT_FAILURES": RANKS,
    }  # fmt: skip
    assert float(file["PNETCDF_FILE_F_WAIT_TIME"]) > 0


def variables(found: Seen) -> dict[str, dict[str, int]]:
    return {name: counted(row, "PNETCDF_VAR_") for (m, name), row in found.items() if m == PNETCDF[1]}


def test_shapes(observe: Observe, tmp_path: Path) -> None:
    """All of a variable is its elements, times its own records; what was out of range was moved."""
    found = pnetcdf(run(observe, tmp_path, compiled(HERE / "shapes.c", tmp_path)))
    counts = variables(found)
    each = {name: {k: v // RANKS for k, v in row.items()} for name, row in counts.items()}
    for name, row in each.items():
        for same in ("NDIMS", "NPOINTS", "DATATYPE_SIZE", "IS_RECORD_VAR"):
            row[same] = counts[name].get(same, 0)
    assert each["shapes.nc:fixed"] == {
        "OPENS": 1, "COLL_READS": 1, "COLL_WRITES": 2, "PUT_VAR": 1, "PUT_VARA": 1, "GET_VAR": 1,
        "BYTES_READ": 256, "BYTES_WRITTEN": 256 + 8, "RW_SWITCHES": 2,
        "SIZE_READ_AGG_100_1K": 1, "SIZE_WRITE_AGG_100_1K": 1, "SIZE_WRITE_AGG_0_100": 1,
        "NDIMS": 2, "NPOINTS": 64, "DATATYPE_SIZE": 4, "IS_RECORD_VAR": 0,
    }  # fmt: skip
    assert each["shapes.nc:record"] == {
        "OPENS": 1, "COLL_READS": 2, "COLL_WRITES": 5, "PUT_VARA": 5, "GET_VAR": 1, "GET_VARA": 1,
        "BYTES_READ": 640, "BYTES_WRITTEN": 320, "RW_SWITCHES": 1,
        "SIZE_READ_AGG_100_1K": 1, "SIZE_READ_AGG_0_100": 1, "SIZE_WRITE_AGG_0_100": 5,
        "NDIMS": 3, "NPOINTS": 64, "DATATYPE_SIZE": 2, "IS_RECORD_VAR": 1,
    }  # fmt: skip
    assert each["shapes.nc:scalar"] == {
        "OPENS": 1, "COLL_WRITES": 2, "PUT_VAR": 1, "PUT_VARA": 1, "BYTES_WRITTEN": 16, "SIZE_WRITE_AGG_0_100": 2,
        "NDIMS": 0, "NPOINTS": 1, "DATATYPE_SIZE": 8, "IS_RECORD_VAR": 0,
    }  # fmt: skip
    common = {name: accesses(found[PNETCDF[1], name]) for name in counts}
    assert common["shapes.nc:record"] == [(64, 5 * RANKS, [1, 4, 8], []), (640, RANKS, [], [])]
    assert common["shapes.nc:scalar"] == [(8, 2 * RANKS, [], [])]
    last = [2, 1, 2, 1, 4]
    assert sorted(common["shapes.nc:seven"]) == [
        (128, RANKS, last, [1, 1, 1, 1, 1]), (128, RANKS, last, [1, 1, 1, 1, 2]),
    ]  # fmt: skip


def test_variables_of_two_files_are_two(observe: Observe, tmp_path: Path) -> None:
    """Whatever their numbers, and whether or not the file's number was another's before."""
    found = pnetcdf(run(observe, tmp_path, compiled(HERE / "shapes.c", tmp_path)))
    seen = {
        name: tuple(row.get(k, 0) // RANKS for k in ("OPENS", "BYTES_WRITTEN", "BYTES_READ"))
        for name, row in variables(found).items()
        if not name.startswith("shapes")
    }
    assert seen == {"first.nc:u": (1, 40, 0), "second.nc:u": (1, 80, 80), "second.nc:w": (2, 20, 20)}
    hashed = {
        name.partition(":")[0]: row["PNETCDF_VAR_FILE_REC_ID"]
        for (m, name), row in found.items()
        if m == PNETCDF[1]
    }
    assert len(set(hashed.values())) == len(hashed) == 3


# ---- every function ----

TYPES = "text schar uchar short ushort int uint long float double longlong ulonglong".split()
FORMS = {
    "var": ("", 24),
    "var1": ("start, ", 1),
    "vara": ("start, count, ", 6),
    "vars": ("start, count, stride, ", 6),
    "varm": ("start, count, stride, map, ", 6),
    "varn": ("2, starts, counts, ", 4),
}
EVERY = """
#include "checked.h"
/* Of parts that overlap not all are what they were: values may be out of range. */
static int in_range(int code)
{
	return code == NC_ERANGE ? 0 : code;
}
static double data[64], posted[256][64]; /* what is posted may be turned in place until it is waited for */
int main(int argc, char **argv)
{
	int file, i = 0, of[2], n, c, request;
	MPI_Datatype six;
	MPI_Offset start[2] = {0, 1}, count[2] = {2, 3}, stride[2] = {2, 2}, map[2] = {3, 1};
	MPI_Offset one[2] = {1, 2}, two[2] = {2, 1}, *starts[2] = {start, start}, *counts[2] = {one, two};
	MPI_Init(&argc, &argv);
	MPI_Type_contiguous(6, MPI_INT, &six);
	MPI_Type_commit(&six);
	OK(ncmpi_create(MPI_COMM_WORLD, "every.nc", NC_CLOBBER, MPI_INFO_NULL, &file));
	OK(ncmpi_def_dim(file, "y", 4, &of[0]));
	OK(ncmpi_def_dim(file, "x", 6, &of[1]));
	OK(ncmpi_def_var(file, "n", NC_INT, 2, of, &n));
	OK(ncmpi_def_var(file, "c", NC_CHAR, 2, of, &c));
	OK(ncmpi_enddef(file));
	OK(ncmpi_buffer_attach(file, 1 << 20));
%s
	OK(in_range(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL)));
	OK(ncmpi_begin_indep_data(file));
%s
	OK(ncmpi_end_indep_data(file));
	ncmpi_cancel(file, NC_REQ_ALL, NULL, NULL); /* what a value out of range has left */
	OK(ncmpi_buffer_detach(file));
	OK(ncmpi_close(file));
	MPI_Finalize();
	return 0;
}
"""


def calls(verb: str, suffix: str = "") -> list[str]:
    """Of one verb, for all forms and types."""
    lines = []
    data, more = ("data", "") if verb in {"put", "get"} else ("posted[i++]", ", &request")
    for form, (arguments, elements) in FORMS.items():
        for type_ in ["", *TYPES]:
            name = f"ncmpi_{verb}_{form}" + (f"_{type_}" if type_ else "") + suffix
            memory = data if type_ else f"{data}, {elements}, MPI_INT"
            variable = "c" if type_ == "text" else "n"
            lines.append(f"OK(in_range({name}(file, {variable}, {arguments}(void *){memory}{more})));")
    return lines


def many(verb: str, suffix: str = "") -> list[str]:
    """Functions that move several variables: here the same one twice."""
    lines = []
    for form, (arguments, elements) in FORMS.items():
        if form == "varn":
            continue
        arrays = "".join(f"(MPI_Offset *[]){{{a}, {a}}}, " for a in arguments.split(", ") if a)
        for type_ in ["", *TYPES]:
            name = f"ncmpi_{verb}_{form}" + (f"_{type_}" if type_ else "") + suffix
            flexible = f", (MPI_Offset[]){{{elements}, {elements}}}, (MPI_Datatype[]){{MPI_INT, MPI_INT}}"
            number = "c" if type_ == "text" else "n"
            memory = "(void *)(void *[]){data, posted[255]}" + ("" if type_ else flexible)
            lines.append(f"OK(in_range({name}(file, 2, (int[]){{{number}, {number}}}, {arrays}{memory})));")
    return lines


def test_every_function(observe: Observe, tmp_path: Path) -> None:
    together = [*calls("put", "_all"), *calls("get", "_all")]
    together += ["OK(ncmpi_put_vard_all(file, n, six, data, 6, MPI_INT));"]
    together += ["OK(ncmpi_get_vard_all(file, n, six, data, 6, MPI_INT));"]
    together += [*calls("iput"), *calls("iget"), *calls("bput"), *many("mput", "_all"), *many("mget", "_all")]
    alone = [*calls("put"), *calls("get"), *many("mput"), *many("mget")]
    alone += ["OK(ncmpi_put_vard(file, n, six, data, 6, MPI_INT));"]
    alone += ["OK(ncmpi_get_vard(file, n, six, data, 6, MPI_INT));"]
    (tmp_path / "every.c").write_text(EVERY % ("\n".join(together), "\n".join(alone)))
    found = variables(pnetcdf(run(observe, tmp_path, compiled(tmp_path / "every.c", tmp_path), ranks=1)))
    elements, several = sum(n for _, n in FORMS.values()), len(FORMS) - 1
    double = 2 * (elements - FORMS["varn"][1])  # of both variables of one call
    for name, size, types, vard in (("n", 4, len(TYPES), 1), ("c", 1, 1, 0)):
        row, forms = found[f"every.nc:{name}"], len(FORMS) * types
        wanted = {
            **dict.fromkeys(["INDEP_READS", "INDEP_WRITES", "COLL_READS", "COLL_WRITES"],
                            forms + vard + 2 * several * types),
            "NB_READS": forms, "NB_WRITES": 2 * forms,
            "BYTES_READ": size * types * (3 * elements + 2 * double) + 2 * vard * 24,
            "BYTES_WRITTEN": size * types * (4 * elements + 2 * double) + 2 * vard * 24,
        }  # fmt: skip
        for verb, times, also in (
            ("PUT", 2, 4),
            ("GET", 2, 4),
            ("IPUT", 1, 0),
            ("IGET", 1, 0),
            ("BPUT", 1, 0),
        ):
            more = {form: 0 if form == "varn" else also for form in FORMS}
            wanted |= {f"{verb}_{form.upper()}": (times + more[form]) * types for form in FORMS}
        wanted |= {"PUT_VARD": 2, "GET_VARD": 2} if vard else {}
        assert {key: row[key] for key in wanted} == wanted


def exported(library: Path) -> set[str]:
    text = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r" (?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)", text))


def test_no_function_of_the_installed_release_is_left_out(preload: Path) -> None:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    library = re.search(r"libpnetcdf\.so\S* .*=> (\S+)", listed)
    if not library:
        pytest.skip("no libpnetcdf")
    moving = re.compile(r"ncmpi_(put|get|iput|iget|bput|mput|mget)_var([1asmnd]?)(_\w+)?")
    names = {name for name in exported(Path(library[1])) if moving.fullmatch(name)}
    assert len(names) > 700
    assert not names - exported(preload)


# ---- other languages, readers and programs ----


def test_fortran_is_seen_once(observe: Observe, tmp_path: Path) -> None:
    found = variables(pnetcdf(run(observe, tmp_path, compiled(HERE / "fortran.f90", tmp_path))))
    wanted = {"OPENS": RANKS, "PUT_VARA": RANKS, "GET_VARA": RANKS, "BYTES_WRITTEN": 32 * RANKS, "NPOINTS": 8}
    assert {key: found["fortran.nc:v"][key] for key in wanted} == wanted


def test_other_readers_agree(observe: Observe, tmp_path: Path, oracle: ModuleType) -> None:
    darshan = pytest.importorskip("darshan")
    seen = run(observe, tmp_path, compiled(HERE / "shapes.c", tmp_path))
    ours = {line for line in seen.text.splitlines() if line.startswith("PNETCDF")}
    theirs = {line for line in oracle.parser_lines(oracle.Log(str(seen.log))) if line.startswith("PNETCDF")}
    assert ours == theirs and len(ours) > 1000
    with darshan.DarshanReport(str(seen.log), read_all=True) as report:
        for module in PNETCDF:
            rows = report.records[module].to_df()["counters"].to_dict("records")
            for row in rows:
                shown = seen.records[module, report.name_records[row["id"]], row["rank"]]
                assert all(int(shown[c]) == v for c, v in row.items() if c in shown)
            assert len(rows) == sum(m == module for m, _, _ in seen.records)
    drishti.agrees(seen)


TOOLS = """
ncmpigen -o made.nc in.cdl && ncmpidump made.nc && ncmpidiff made.nc made.nc && ncvalidator made.nc && ncoffsets made.nc
"""
CDL = """netcdf made {
dimensions: t = UNLIMITED; x = 4;
variables: int v(t, x); double w(x); v:unit = "m";
data: v = 1, 2, 3, 4, 5, 6, 7, 8; w = 0.5, 1.5, 2.5, 3.5;
}
"""


def test_tools_do_what_they_did(observe: Observe, tmp_path: Path) -> None:
    """Debian's have the library inside, so that their calls are not seen: MPI-IO's below are."""
    MPI.require()
    if not shutil.which("ncmpigen"):
        pytest.skip("no pnetcdf-bin")
    bare = tmp_path / "bare"
    for place in (bare, tmp_path / "work"):
        place.mkdir()
        (place / "in.cdl").write_text(CDL)
    wanted = subprocess.run(["sh", "-c", TOOLS], cwd=bare, check=False, capture_output=True)
    done = observe(
        ["sh", "-c", TOOLS], cwd=tmp_path / "work"
    ).done  # each of them is an MPI job with a log of its own
    assert (done.returncode, done.stdout) == (wanted.returncode, wanted.stdout)
    assert wanted.returncode == 0, wanted.stderr
    assert (tmp_path / "work" / "made.nc").read_bytes() == (bare / "made.nc").read_bytes()


# ---- compared with Darshan: differences are those of docs/decisions/0023 ----

TIMES = re.compile(r"TIME|FASTEST|SLOWEST|VARIANCE|FILE_REC_ID")


def darshan_s(name: str) -> Seen:
    text = gzip.decompress((LAYERS / "expected" / f"{name}.counters.txt.gz").read_bytes()).decode()
    found: Seen = {}
    for line in text.splitlines():
        module, _, _, counter, value, file = line.split("\t")[:6]
        if module in PNETCDF and not TIMES.search(counter):
            found.setdefault((module, file.removeprefix(f"/srv/data/{name}/")), {})[counter] = value
    return found


def unlike(ours: Seen, theirs: Seen) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """(theirs, ours) of what differs."""
    assert set(ours) == set(theirs)
    found = {
        key: {
            c.partition("_VAR_")[2] or c: (int(value), int(ours[key][c]))
            for c, value in row.items()
            if ours[key][c] != value
        }
        for key, row in theirs.items()
    }
    return {key: counters for key, counters in found.items() if counters}


def layer(observe: Observe, place: Path, name: str) -> Seen:
    if not LAYERS.is_dir():
        pytest.skip(f"no programs and logs of Darshan's layers at {LAYERS}: set IOLENS_LAYERS")
    program = compiled(LAYERS / "programs" / f"{name}.c", place)
    return pnetcdf(run(observe, place, program, ".", ranks=4))


def test_kinds_as_darshan_counts(observe: Observe, tmp_path: Path) -> None:
    """Whole variables without records were counted with the records of others."""
    found = unlike(layer(observe, tmp_path, "pnc_kinds"), darshan_s("pnc_kinds"))
    assert found == {
        (PNETCDF[1], "kinds.nc:fixed"): {
            "ACCESS3_ACCESS": (4, 512), "ACCESS4_ACCESS": (1536, 4), "ACCESS4_COUNT": (4, 8),
            "BYTES_READ": (7328, 7328 - 4 * 1536 + 8 * 512),
            "SIZE_READ_AGG_0_100": (16, 12), "SIZE_READ_AGG_100_1K": (8, 16), "SIZE_READ_AGG_1K_10K": (4, 0),
        },
        (PNETCDF[1], "kinds.nc:tiny"): {
            "ACCESS1_ACCESS": (0, 8), "ACCESS1_COUNT": (0, 4), "BYTES_WRITTEN": (0, 4 * 8),
        },
        (PNETCDF[1], "kinds.nc:late"): {"ACCESS1_ACCESS": (96, 32), "BYTES_WRITTEN": (96, 32)},
    }  # fmt: skip


def test_two_files_as_darshan_counts(observe: Observe, tmp_path: Path) -> None:
    """Files alike; variables have what the program did with them."""
    found = layer(observe, tmp_path, "pnc_two_files")
    differences = unlike(found, darshan_s("pnc_two_files"))
    assert {module for module, _ in differences} == {PNETCDF[1]}
    moved = {
        name: tuple(
            row.get(k, 0) for k in ("OPENS", "COLL_WRITES", "COLL_READS", "BYTES_WRITTEN", "BYTES_READ")
        )
        for name, row in variables(found).items()
    }
    assert moved == {
        "two0.nc:u": (12, 8, 4, 320, 160),
        "two0.nc:w": (4, 4, 4, 80, 80),
        "two1.nc:u": (4, 4, 4, 320, 320),
        "two1.nc:w": (4, 0, 0, 0, 0),
    }
