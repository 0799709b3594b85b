"""Writing logs again: nothing changes but what was asked for."""

from __future__ import annotations

import json
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import shown
import synthetic
from logmaker import LogMaker

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SCRIPT = """
mkdir -p secretproject/run17
for i in 1 2 3; do
    dd if=/dev/zero of=secretproject/run17/out.$i bs=1000 count=$i status=none
    mv secretproject/run17/out.$i secretproject/run17/final.$i
done
sort /etc/passwd > sorted-names
"""


@pytest.fixture
def log(run_iolens: Run, tmp_path: Path) -> Path:
    done = run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", SCRIPT], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "log"


def data(run_iolens: Run, log: Path) -> list[str]:
    """All that a log says, less the sizes of its regions and the section of its own file."""
    text = run_iolens(["show", "--all", log]).stdout
    return [line for line in text.splitlines() if "compressed)" not in line]


def test_round_trip(run_iolens: Run, log: Path) -> None:
    again = log.with_name("again")
    assert run_iolens(["convert", log, again]).returncode == 0
    assert data(run_iolens, again) == data(run_iolens, log)
    assert again.stat().st_mode & 0o777 == 0o400


@pytest.mark.parametrize("length", [300, 2900, 3008])
@pytest.mark.parametrize("compression", [0, 1, 2])
def test_a_long_command_line_is_not_cut(
    length: int, compression: int, run_iolens: Run, tmp_path: Path
) -> None:
    """A job region has 4096 bytes, of which 3016 are for it and the mounts."""
    line = b"/bin/program " + bytes(65 + i % 26 for i in range(length - 13))
    mounts = [("ext4", "/")] if length > 3000 else [("ext4", "/"), ("lustre", "/scratch")]
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(bytes(LogMaker(exe=line, mounts=mounts, compression=compression)))
    assert run_iolens(["convert", old, new]).returncode == 0
    shown_lines = run_iolens(["show", new]).stdout.splitlines()
    assert f"# exe: {line.decode()}" in shown_lines
    assert sum(one.startswith("# mount entry:") for one in shown_lines) == len(mounts)
    assert base_head(run_iolens, new) == base_head(run_iolens, old)


def base_head(run_iolens: Run, log: Path) -> list[str]:
    lines = run_iolens(["show", log]).stdout.splitlines()
    return [one for one in lines if one.startswith(("# exe", "# mount", "# metadata", "# nprocs", "# jobid"))]


def test_arguments_of_an_observed_program_are_not_cut(run_iolens: Run, tmp_path: Path) -> None:
    words = ["true", *(f"--option-{i}=value{i * 7919}" for i in range(100))]
    run_iolens(["run", "-q", "-o", "log", "--", *words], cwd=tmp_path)
    assert run_iolens(["convert", tmp_path / "log", tmp_path / "new"]).returncode == 0
    assert data(run_iolens, tmp_path / "new") == data(run_iolens, tmp_path / "log")
    assert words[-1] in "\n".join(data(run_iolens, tmp_path / "new"))


def test_the_corpus_converts_to_what_it_was(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    different = []
    for log in sorted((corpus / "logs").glob("*.darshan")):
        new = tmp_path / log.name
        done = run_iolens(["convert", log, new])
        if done.returncode == 0 and base(run_iolens, new) != base(run_iolens, log):
            different.append(log.name)
        elif done.returncode not in (0, 4):
            different.append(f"{log.name}: {done.stderr}")
    assert not different


def base(run_iolens: Run, log: Path) -> list[str]:
    text = run_iolens(["show", "--base", "--show-incomplete", log]).stdout
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def traced(run_iolens: Run, log: Path) -> list[str]:
    text = run_iolens(["trace", "--show-incomplete", log]).stdout
    return [line for line in text.splitlines() if line.startswith((" X_POSIX", " X_MPIIO"))]


def test_traces_convert_to_what_released_tools_read(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    logs = [log for log in sorted((corpus / "logs").glob("*.darshan")) if traced(run_iolens, log)]
    assert logs
    for log in logs:
        new = tmp_path / log.name
        assert run_iolens(["convert", log, new]).returncode == 0
        assert traced(run_iolens, new) == traced(run_iolens, log)
        assert run_iolens(["check", new]).returncode == run_iolens(["check", log]).returncode
        versions = run_iolens(["show", "--show-incomplete", new]).stdout
        assert (
            "DXT_POSIX module" not in versions
            or "ver=1" in versions.split("DXT_POSIX module")[1].splitlines()[0]
        )


def test_modules_and_files_can_be_chosen(run_iolens: Run, log: Path) -> None:
    one = log.with_name("one")
    name = f"{log.parent}/secretproject/run17/out.2"
    assert run_iolens(["convert", "--module", "posix", "--file", name, log, one]).returncode == 0
    found = shown.records(run_iolens(["show", one]).stdout)
    assert {(module, file) for module, file, _ in found} == {("POSIX", name)}


def test_ranks_can_be_chosen(run_iolens: Run, log: Path) -> None:
    some = log.with_name("some")
    assert run_iolens(["convert", "--rank", "1,3-6", log, some]).returncode == 0
    there = {rank for _, _, rank in shown.records(run_iolens(["show", log]).stdout)}
    assert there > {1, 4, 6}
    kept = {rank for _, _, rank in shown.records(run_iolens(["show", some]).stdout)}
    assert kept == there & {1, 3, 4, 5, 6} < there
    assert run_iolens(["check", some]).returncode == 0


@pytest.mark.parametrize("option", [["--name", "*/out.[12]"], ["--regex", "out.(1|2)$"]])
def test_names_can_be_chosen(run_iolens: Run, log: Path, option: list[str]) -> None:
    some = log.with_name("some")
    assert run_iolens(["convert", *option, log, some]).returncode == 0
    names = {name.rpartition("/")[2] for _, name, _ in shown.records(run_iolens(["show", some]).stdout)}
    assert names == {"out.1", "out.2"}
    counted = [json.loads(run_iolens(["info", "--json", path]).stdout)["names"] for path in (log, some)]
    assert counted[1] == 2 < counted[0]


def test_bzip2(run_iolens: Run, log: Path, oracle: ModuleType) -> None:
    packed = log.with_name("packed")
    assert run_iolens(["convert", "--bzip2", log, packed]).returncode == 0
    same = [line for line in data(run_iolens, log) if "compression method" not in line]
    text = data(run_iolens, packed)
    assert [line for line in text if "compression method" not in line] == same
    assert "# compression method: BZIP2" in text
    assert list(oracle.parser_lines(oracle.Log(str(packed)))) == list(
        oracle.parser_lines(oracle.Log(str(log)))
    )


def same_by_others(oracle: ModuleType, log: Path, new: Path) -> bool:
    lines = [list(oracle.parser_lines(oracle.Log(str(path)))) for path in (log, new)]
    return lines[0] == lines[1]


def test_best_is_smaller_and_says_the_same(run_iolens: Run, log: Path, oracle: ModuleType) -> None:
    plain, best = log.with_name("plain"), log.with_name("best")
    assert run_iolens(["convert", log, plain]).returncode == 0
    assert run_iolens(["convert", "--best", log, best]).returncode == 0
    assert data(run_iolens, best) == data(run_iolens, log)
    assert "# compression method: ZLIB" in data(run_iolens, best)
    assert best.stat().st_size < plain.stat().st_size
    assert same_by_others(oracle, log, best)


def test_best_of_the_corpus_says_what_the_corpus_says(
    run_iolens: Run, released: list[Path], tmp_path: Path, oracle: ModuleType
) -> None:
    plain, best, total = tmp_path / "plain", tmp_path / "best", [0, 0]
    for log in [log for log in released if log.suffix == ".darshan"]:
        if run_iolens(["convert", log, plain]).returncode == 0:
            assert run_iolens(["convert", "--best", log, best]).returncode == 0, log.name
            assert data(run_iolens, best) == data(run_iolens, plain), log.name
            assert same_by_others(oracle, plain, best), log.name
            total = [total[0] + plain.stat().st_size, total[1] + best.stat().st_size]
            best.unlink()
        plain.unlink(missing_ok=True)
    assert total[1] < 0.95 * total[0]


def test_best_cuts_large_regions_into_streams(run_iolens: Run, tmp_path: Path) -> None:
    """So that what is to be one stream fits into memory: here 14 MB, some 8 MiB each."""
    import darshan
    from logmaker import plain_log, posix

    ids = [7919 * number + 1 for number in range(20000)]
    old, new = tmp_path / "old", tmp_path / "new"
    records = b"".join(posix(one, opens=one % 5) for one in ids)
    names = {one: b"/scratch/out.%d" % one for one in ids}
    old.write_bytes(bytes(plain_log(names=names, regions={1: (4, records)}, compression=0)))
    assert run_iolens(["convert", "--best", old, new]).returncode == 0
    at, length = struct.unpack_from("<2Q", new.read_bytes(), 48 + 16)
    rest, streams = new.read_bytes()[at : at + length], []
    while rest:
        stream = zlib.decompressobj()
        streams.append(stream.decompress(rest))
        rest = stream.unused_data
    assert b"".join(streams) == records and len(streams) == 2 and len(streams[0]) % 704 == 0
    frames = [darshan.DarshanReport(str(path)).records["POSIX"].to_df() for path in (old, new)]
    assert all(frames[0][key].equals(frames[1][key]) for key in ("counters", "fcounters"))


def test_best_is_of_zlib_alone(run_iolens: Run, log: Path) -> None:
    done = run_iolens(["convert", "--best", "--bzip2", log, log.with_name("new")])
    assert done.returncode == 2 and "give one of them" in done.stderr
    assert not log.with_name("new").exists()


def test_names_stand_in_order_of_their_text(run_iolens: Run, log: Path) -> None:
    """Like files stand next to each other: in the order of ids, which are hashes, they take a tenth more."""
    new = log.with_name("new")
    assert run_iolens(["convert", log, new]).returncode == 0
    at, length = struct.unpack_from("<2Q", new.read_bytes(), 32)
    raw, names = zlib.decompress(new.read_bytes()[at : at + length]), []
    while raw:
        end = raw.index(b"\0", 8)
        names.append(raw[8:end])
        raw = raw[end + 1 :]
    assert names == sorted(names) and len(names) > 5


def test_a_second_of_a_job_stays_a_second(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    """Logs before 3.41 count the last second as a whole one."""
    old, new = corpus / "logs" / "release-x86_64-3.4.0.darshan", tmp_path / "new"
    run_iolens(["convert", old, new])
    keys = ("# start_time:", "# end_time:", "# run time:")
    heads = [
        [line for line in run_iolens(["show", path]).stdout.splitlines() if line.startswith(keys)]
        for path in (old, new)
    ]
    assert heads[0] == heads[1] and "# run time: 1.0000" in heads[0]


def test_annotations_and_a_fresh_start(run_iolens: Run, log: Path) -> None:
    noted, bare = log.with_name("noted"), log.with_name("bare")
    run_iolens(["convert", "--annotate", "project=p=7", "--annotate", "note=two words", log, noted])
    assert "# metadata: project = p=7" in run_iolens(["show", noted]).stdout
    run_iolens(["convert", "--reset-md", "--drop-trailer", noted, bare])
    text = run_iolens(["show", "--all", bare]).stdout
    assert "# metadata: project" not in text and "# metadata: lib_ver" in text and "[process]" not in text


def test_an_anonymized_log_keeps_its_shape_and_loses_its_names(run_iolens: Run, log: Path) -> None:
    hidden, again = log.with_name("hidden"), log.with_name("again")
    key = f"--anonymize=key:{log.with_name('key')}"
    assert run_iolens(["convert", key, log, hidden]).returncode == 0
    assert run_iolens(["convert", key, log, again]).returncode == 0
    assert base(run_iolens, hidden) == base(run_iolens, again), "the same key gives the same pseudonyms"
    old, new = (
        shown.records("\n".join(base(run_iolens, log))),
        shown.records("\n".join(base(run_iolens, hidden))),
    )
    assert sorted((m, r) for m, _, r in old) == sorted((m, r) for m, _, r in new)
    text = run_iolens(["show", "--all", hidden]).stdout
    for secret in ("secretproject", "run17", "sorted-names", "passwd", log.parent.name):
        assert secret not in text and secret.encode() not in hidden.read_bytes()
    depths = {name.count("/") for _, name, _ in old}
    assert {name.count("/") for _, name, _ in new} == depths, "components stay components"


def test_anonymized_ids_belong_to_the_new_names(run_iolens: Run, log: Path) -> None:
    hidden = log.with_name("hidden")
    run_iolens(["convert", "--anonymize", log, hidden])
    ids = {line.split("\t")[2] for line in base(run_iolens, log) if "run17" in line}
    new = {line.split("\t")[2] for line in base(run_iolens, hidden)}
    assert ids and not ids & new
    sources = {
        line.split("\t")[4]
        for line in base(run_iolens, hidden)
        if "RENAMED_FROM" in line and line.split("\t")[4] != "0"
    }
    names = {line.split("\t")[2] for line in base(run_iolens, hidden)}
    assert sources <= names


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["log"], 2, "give a log and a new name"),
        (["--frobnicate", "log", "new"], 2, "--frobnicate"),
        (["--module", "NOSUCH", "log", "new"], 2, "expected names of modules"),
        (["--regex", "(", "log", "new"], 2, "expected a regular expression"),
        (["--rank", "x", "log", "new"], 2, "expected a list of ranks"),
        (["--rank", "5-2", "log", "new"], 2, "expected a list of ranks"),
        (["--annotate", "novalue", "log", "new"], 2, "KEY=VALUE"),
        (["--anonymize", "", "log", "new"], 2, "takes no passphrase on the command line"),
        (["--salt", "x", "log", "new"], 2, "--salt goes with --anonymize"),
        (["missing", "new"], 3, "missing"),
        (["log", "log"], 3, "log"),
        (["log", "no/such/folder/new"], 3, "no/such/folder"),
    ],
)
def test_wrong_use(run_iolens: Run, log: Path, arguments: list[str], code: int, complaint: str) -> None:
    done = run_iolens(["convert", *arguments], cwd=log.parent)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1 and complaint in done.stderr


def test_check_finds_nothing_wrong_with_our_logs(run_iolens: Run, log: Path) -> None:
    done = run_iolens(["check", log])
    assert done.returncode == 0 and "sound" in done.stdout


def test_check_names_the_place_of_damage(run_iolens: Run, log: Path) -> None:
    whole = log.read_bytes()
    bad = log.with_name("bad")
    bad.write_bytes(whole[:1500] + bytes(200) + whole[1700:])
    done = run_iolens(["check", bad])
    assert done.returncode in (3, 4)
    assert "at byte" in done.stdout + done.stderr


def test_check_of_the_corpus(run_iolens: Run, corpus: Path) -> None:
    logs = sorted((corpus / "logs").glob("*.darshan"))
    done = run_iolens(["check", *logs])
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert not [line for line in done.stdout.splitlines() if "damaged" in line]


# The header of 3.41 has 1,328 bytes, that of 3.00 has 360; the trailer says what older versions did not count.
ROOM = 1328 - 360 + 300


def test_converting_makes_no_log_larger_but_for_its_header(
    run_iolens: Run, corpus: Path, tmp_path: Path
) -> None:
    """Darshan's times have bits that our own deflater, made for times on a grid, does not pack well."""
    grown = {}
    for path in sorted((corpus / "logs").glob("*.darshan")):
        new = tmp_path / path.name
        if run_iolens(["convert", path, new]).returncode == 0:
            grown[path.name] = new.stat().st_size - path.stat().st_size
            allowed = ROOM + path.stat().st_size // 50
            assert grown[path.name] <= allowed, path.name
    assert len(grown) > 20
    assert all(by < 400 for name, by in grown.items() if name.startswith(("dlio", "hdf5-diagonal", "sample")))


def test_what_is_to_be_known_of_old_versions_stays_known(run_iolens: Run, tmp_path: Path) -> None:
    logs = {v: synthetic.old_log(v, order[0], 1, zlib.crc32) for v, (order, *_) in synthetic.OLD.items()}
    kind = synthetic.Kind(20, "<", 0)
    logs["3.20"] = synthetic.Maker(kind, 1, zlib.crc32).log({"POSIX": synthetic.VERSIONS["POSIX"][0]})
    said = {}
    for version, content in logs.items():
        old, new, merged, again = (tmp_path / f"{version}-{step}" for step in range(4))
        old.write_bytes(content)
        assert run_iolens(["convert", "--reset-md", old, new]).returncode == 0
        assert run_iolens(["merge", "-o", merged, new]).returncode == 0
        assert run_iolens(["convert", "--anonymize", "--reset-md", new, again]).returncode == 0
        shown = [run_iolens(["show", log]).stdout.splitlines() for log in (old, new, merged, again)]
        warned = [{line for line in lines if line.startswith("# *WARNING*")} for lines in shown]
        assert warned[0] == warned[1] == warned[2] == warned[3], version
        said[version] = len(warned[0])
    assert said["3.20"] == 1 and max(said.values()) >= 3
