"""PyDarshan's own tests, from its installed package, on iolens.pydarshan: `make pydarshan`.

What passes with PyDarshan's own reader passes with ours, but for EXCEPTIONS; one of those that passes is an error, too.
Tests of logs that are not in the corpus fail with both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import places  # noqa: E402

BINDINGS = "it calls PyDarshan's C library through ffi and libdutil, which are not there"

# Beginnings of names of tests that fail, and why.
EXCEPTIONS = {
    "test_cffi_misc::test_df_to_rec[": BINDINGS,
    "test_cffi_misc::test_reverse_record_array[": BINDINGS,
}

# What PyDarshan's tests call the logs of the corpus.
LOGS = {
    "apmpi": "darshan-apmpi-2nodes-64mpi",
    "hdf5-diagonal-1-byte-dxt": "hdf5_diagonal_write_1_byte_dxt",
    "hdf5-diagonal-half-ranks-dxt": "hdf5_diagonal_write_half_ranks_dxt",
    "hdf5-file-opens-only": "hdf5_file_opens_only",
    "nonmpi-dxt-anonymized": "nonmpi_dxt_anonymized",
    "partial-data-stdio": "partial_data_stdio",
    "runtime-and-dxt-heatmaps": "runtime_and_dxt_heatmaps_diagonal_write_only",
}

NO_LOG = "could not be found in any available resources"
Outcomes = dict[str, tuple[str, str]]


def provide_logs(folder: Path) -> None:
    """A package darshan_logs, as PyDarshan's tests look for it."""
    package = folder / "darshan_logs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for log in sorted((places.CORPUS / "logs").glob("*.darshan")):
        (package / f"{LOGS.get(log.stem, log.stem)}.darshan").symlink_to(log)


def outcome_of(case: ElementTree.Element, folder: str) -> tuple[str, tuple[str, str]]:
    name = f"{case.get('classname', '').rpartition('tests.')[2]}::{case.get('name')}".replace(folder, "")
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            return name, ("skipped" if kind == "skipped" else "failed", found.get("message", ""))
    return name, ("passed", "")


def run(reader: str, arguments: list[str]) -> Outcomes:
    """Each test: "passed", "failed" or "skipped", and the message."""
    with tempfile.TemporaryDirectory() as made:
        folder, result = Path(made), Path(made) / "result.xml"
        provide_logs(folder)
        path = os.pathsep.join([made, str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "PYDARSHAN_READER": reader, "MPLBACKEND": "agg"}
        command = [sys.executable, "-m", "pytest", "-q", "--pyargs", "darshan", "-p", "pydarshan_plugin"]
        options = ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={made}", f"--junitxml={result}"]
        done = subprocess.run(
            [*command, *options, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if not result.exists():
            raise RuntimeError(f"PyDarshan's tests did not run:\n{done.stdout}{done.stderr}")
        return dict(outcome_of(case, made) for case in ElementTree.parse(result).iter("testcase"))


def problems(ours: Outcomes, theirs: Outcomes | None = None) -> list[str]:
    """Failures that are not in the table, and lines of the table that fail no more."""
    wrong, unused = [], set(EXCEPTIONS)
    for name, (outcome, message) in ours.items():
        reason = next((beginning for beginning in EXCEPTIONS if name.startswith(beginning)), None)
        if outcome != "failed" or NO_LOG in message:
            if reason and outcome == "passed":
                wrong.append(f"{name}: passes, and is in EXCEPTIONS")
            continue
        unused.discard(reason or "")
        if not reason and (theirs is None or theirs.get(name, ("", ""))[0] != "failed"):
            wrong.append(f"{name}: {' '.join(message.split())[:200]}")
    if theirs is not None:
        wrong += [f"{beginning}...: in EXCEPTIONS, and no such test fails" for beginning in sorted(unused)]
    return wrong


def main(arguments: list[str]) -> int:
    theirs, ours = run("pydarshan", arguments), run("iolens", arguments)
    for title, outcomes in (("PyDarshan", theirs), ("iolens.pydarshan", ours)):
        kinds = [outcome for outcome, _ in outcomes.values()]
        missing = sum(NO_LOG in message for _, message in outcomes.values())
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("passed", "failed", "skipped"))
        print(f"{title}: {counts} of {len(kinds)} tests; {missing} failed for want of the log")
    for beginning, reason in EXCEPTIONS.items():
        failed = sum(name.startswith(beginning) and o[0] == "failed" for name, o in ours.items())
        print(f"  {failed:3} {beginning.rpartition('::')[2]}...: {reason}")
    wrong = problems(ours, theirs)
    print("\n".join(wrong) or "nothing else differs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
