"""What commands print with --json holds to the published schemas, and has nothing that they do not describe."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from iolens import schemas
from jobs import Job, MiB
from jsonschema import Draft202012Validator
from observed import Observe

# Command -> schemas of what it prints.
SCHEMAS = {
    "compare": ["compare"],
    "diff": ["diff"],
    "doctor": ["doctor"],
    "explain": ["metric", "metrics", "rule"],
    "files": ["files"],
    "findings": ["findings"],
    **{f"fleet {name}": ["fleet"] for name in ("findings", "history", "job", "screen", "top")},
    "fleet import": ["imported"],
    "fleet accounting": ["accounting"],
    "fleet coverage": ["coverage"],
    "fleet ingest": ["ingest"],
    "fleet notify": ["trial"],
    "info": ["info"],
    "lines": ["lines"],
    "overhead": ["overhead"],
    "peak": ["peak"],
    "report": ["report"],
    "run": ["run"],
    "show": ["show"],
    "top": ["top"],
    "trace": ["trace"],
    "watch": ["watch"],
}
# Of what commands send or write elsewhere.
SENT = ["notice"]
SHOWN = (
    [],
    ["--total"],
    ["--file"],
    ["--perf"],
    ["--all"],
    ["--file-list"],
    ["--file-list-detailed"],
    ["--ext"],
)
BUSY = """
import mmap, os, sys
with open(sys.argv[1], "w+b", buffering=0) as file:
    for _ in range(300):
        file.write(bytes(100))
        os.fsync(file.fileno())
    for _ in range(3):
        file.seek(0)
        file.read()
    mmap.mmap(file.fileno(), 0)[0]
print("done")
"""


def closed(schema: Any) -> Any:
    """The same without room for what it does not name: a new member is described, or this fails."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and isinstance(schema.get("type"), (str, list)):
        made.setdefault("additionalProperties", False)
    return made


def check(name: str, text: str) -> None:
    told = json.loads(text)
    assert told["schema"]["name"] == name
    errors = Draft202012Validator(closed(schemas.load(name))).iter_errors(told)
    assert not (said := [f"{e.json_path}: {e.message[:200]}" for e in errors]), said[:5]


@pytest.fixture(scope="session")
def command() -> Path:
    """The installed command: its Python package stands beside it."""
    return Path(sys.executable).parent / "iolens"


@pytest.fixture
def said(command: Path) -> Any:
    def run(*args: object) -> str:
        done = subprocess.run([command, *map(str, args)], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1, 4), (args, done.stderr)
        return done.stdout

    return run


def commands_with_json(command: Path) -> Iterator[str]:
    listed = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    waiting = [[name] for name in re.findall(r"^  (\w+) ", listed, re.M)]
    while waiting:
        name = waiting.pop(0)
        told = subprocess.run([command, *name, "--help"], capture_output=True, text=True, check=False).stdout
        inner = re.findall(r"^  ([a-z]\w+) ", told.partition("\nCommands:\n")[2], re.M)
        waiting += [[*name, one] for one in inner]
        if (
            re.search(r"^\s+--json\b", told, re.M) and name[-1] != "sql"
        ):  # whose rows are a table of one's own choice
            yield " ".join(name)


def test_every_command_with_json_has_a_schema(command: Path, root: Path) -> None:
    assert sorted(commands_with_json(command)) == sorted(SCHEMAS)
    assert sorted({name for names in (*SCHEMAS.values(), SENT) for name in names}) == schemas.names()
    page = (root / "docs" / "guide" / "json.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(schemas.names())


def test_schemas_are_schemas() -> None:
    for name in schemas.names():
        schema = schemas.load(name)
        Draft202012Validator.check_schema(schema)
        version = schema["properties"]["schema"]["properties"]["version"]["const"]
        assert schema["$id"] == f"urn:iolens:schema:{name}:{version}"


def test_a_member_that_no_schema_describes_is_found() -> None:
    folded = {"folded_opens": 0, "folded_files": 0}
    good: dict[str, Any] = {"schema": {"name": "files", "version": 1}, "log": "a", **folded, "files": []}
    check("files", json.dumps(good))
    for more in ({"new": 1}, {"log": 1}, {"schema": {"name": "files", "version": 2}}, {"files": [{}]}):
        with pytest.raises(AssertionError):
            check("files", json.dumps({**deepcopy(good), **more}))
    assert not list(Draft202012Validator(schemas.load("files")).iter_errors({**good, "new": 1}))


def test_schema_prints_them(said: Any) -> None:
    assert json.loads(said("schema", "files")) == schemas.load("files")
    listed = {line.split()[0]: int(line.split()[1]) for line in said("schema").splitlines()}
    assert listed == dict.fromkeys(schemas.names(), 1)


def test_a_schema_that_there_is_not(command: Path) -> None:
    done = subprocess.run([command, "schema", "none"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('iolens: unknown schema "none": `iolens schema` lists them')


def of_native(said: Any, log: Path, other: Path, shown: Sequence[Sequence[str]] = SHOWN) -> None:
    for name in ("info", "files", "trace"):
        check(name, said(name, "--json", log))
    for options in shown:
        check("show", said("show", *options, "--json", log))
    check("diff", said("diff", "--json", log, other))


def of_python(said: Any, log: Path, other: Path) -> None:
    check("findings", said("findings", "--json", log, other))
    check("compare", said("compare", "--json", log, other))
    check("lines", said("lines", "--json", log, other))
    check("lines", said("lines", "--json", "--by", "source", log))
    check("report", said("report", "--json", log))


def test_a_run_with_estimated_times(observe: Observe, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    (tmp_path / "file").write_text("x")
    code = "import os, sys; f = os.open(sys.argv[1], os.O_RDONLY); [os.pread(f, 1, 0) for _ in range(10000)]"
    seen = observe(
        [sys.executable, "-c", code, tmp_path / "file"],
        options=["-q", "--json", str(summary)],
        env={"IOLENS_TIMES": "always-sampled"},
    )
    assert seen.done.returncode == 0, seen.done.stderr
    told = json.loads(summary.read_text())["sampled_times"]
    assert 0 < 8 * told["timed"] < told["calls"] < 10000
    check("run", summary.read_text())


def test_own_logs(said: Any, observe: Observe, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    program = [sys.executable, "-c", BUSY, tmp_path / "file"]
    logs = [observe(program, options=["-q", "--trace", "--json", str(summary)]).log, observe(["true"]).log]
    check("run", summary.read_text())
    for log, other in (logs, logs[::-1]):
        of_native(said, log, other)
        of_python(said, log, other)
    check("report", said("report", "--json", *logs))
    groups = ["--group", f"a={logs[0]}", "--group", f"b={logs[0].parent}/*.darshan"]
    check("compare", said("compare", "--json", *groups))


def test_a_running_program(said: Any, command: Path, tmp_path: Path) -> None:
    """It looks at itself."""
    looks = [f"{command} top --json --every 0.1", f"{command} watch --once --json"]
    code = f"import subprocess; print(subprocess.getoutput({' && '.join(looks)!r}))"
    text = said(
        "run", "-q", "-o", tmp_path / "a.darshan", "--", sys.executable, "-c", BUSY + code, tmp_path / "a"
    )
    text = text.partition("done\n")[2]
    top, watch = re.split(r"(?<=\n})\n", text, maxsplit=1)
    check("top", top)
    check("watch", watch)
    assert any(job["command"].startswith(sys.executable) for job in json.loads(top)["jobs"])


def test_logs_of_parallel_jobs(said: Any, tmp_path: Path) -> None:
    job = Job().mpiio("/scratch/out", -1, write={MiB: 64}, write_time=4.0)
    job.posix("/scratch/out", -1, write={MiB: 64}, write_time=3.0).lustre("/scratch/out", MiB, [1, 5])
    log = job.save(tmp_path / "job.darshan")
    job.partial = ["posix"]
    partial = job.save(tmp_path / "partial.darshan")
    of_native(said, log, partial)
    of_python(said, log, partial)


def test_a_damaged_log(command: Path, observe: Observe, tmp_path: Path) -> None:
    """Its records end early: what a command prints of it is still what the schema describes."""
    log = observe([sys.executable, "-c", BUSY, tmp_path / "file"], options=["-q", "--trace"]).log
    raw = log.read_bytes()
    told = 0
    for place in range(360, len(raw) - 100, len(raw) // 40):
        damaged = tmp_path / "damaged.darshan"
        damaged.write_bytes(raw[:place] + bytes(8) + raw[place + 8 :])
        for name in ("info", "files", "trace", "show"):
            done = subprocess.run(
                [command, name, "--json", damaged], capture_output=True, text=True, check=False
            )
            if done.stdout:
                check(name, done.stdout)
                told += done.returncode != 0
    assert told > 20


def test_native_commands_on_logs_of_darshan(said: Any, corpus: Path) -> None:
    logs = sorted((corpus / "logs").glob("*.darshan*"))
    for log, other in zip(logs, [*logs[1:], logs[0]]):
        of_native(said, log, other, [["--all"]])


@pytest.mark.parametrize(
    "name",
    ["imbalanced-io", "mpi-io-test-dxt", "apmpi", "partial-data-stdio", "v2-x86-2.0.0", "sample-badost"],
)
def test_analysis_of_logs_of_darshan(said: Any, corpus: Path, name: str) -> None:
    (log,) = (corpus / "logs").glob(f"{name}.darshan*")
    of_python(said, log, corpus / "logs" / "dlio-1.darshan")


def test_explained(said: Any) -> None:
    check("metrics", said("explain", "--json"))
    check("metric", said("explain", "perf", "--json"))
    from iolens.cli.command import to_json
    from iolens.metrics import metrics
    from iolens.rules import load

    for rule in load().rules.values():
        check("rule", to_json(schemas.stamped("rule", asdict(rule))))
    for metric in metrics().values():
        check("metric", to_json(schemas.stamped("metric", asdict(metric))))
    check("rule", said("explain", "small_reads", "--json"))
