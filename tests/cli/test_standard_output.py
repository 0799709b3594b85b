"""`-` in place of a file's name is standard output, or refused: it never is a file called "-"."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

PRINTED = {
    "report --output": (["report", "LOG", "-o", "-"], b"<!DOCTYPE html>", b"</html>"),
    "compare --html": (["compare", "LOG", "OTHER", "--html", "-"], b"<!DOCTYPE html>", b"</html>"),
    "flame --output": (["flame", "LOG", "-o", "-"], b"<!DOCTYPE html>", b"</html>"),
    "top --openmetrics": (["top", "--once", "--openmetrics", "-"], b"# TYPE", b"# EOF"),
    "fleet export --openmetrics": (
        ["fleet", "export", "--lake", "LAKE", "--openmetrics", "-"],
        b"# TYPE",
        b"# EOF",
    ),
}
"""Options that write text or a page: how it begins and ends."""

REFUSED = {
    "run --output": ["run", "-o", "-", "true"],
    "run --json": ["run", "--json", "-", "true"],
    "recover --output": ["recover", "-o", "-"],
    "merge --output": ["merge", "-o", "-", "LOG", "OTHER"],
    "peak --save": ["peak", "--save=-", "."],
    "serve --audit": ["serve", "--lake", "LAKE", "--audit", "-"],
}

READ = {
    "lines --annotate",
    "fleet mark --peak",
    "findings --thresholds",
    "fleet history --series",
    "fleet ingest --thresholds",
    "fleet recompute --thresholds",
    "fleet retention --outbox",
    "fleet notify --site",
    "fleet notify --outbox",
    "serve --site",
    "serve token --site",
}


@pytest.fixture(scope="module")
def folder(corpus: Path, iolens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dash")
    for name, log in (("LOG", "release-x86_64-3.4.7"), ("OTHER", "release-x86_64-3.4.4")):
        (folder / name).write_bytes((corpus / "logs" / f"{log}.darshan").read_bytes())
    subprocess.run(
        [iolens, "fleet", "ingest", folder / "LOG", "--lake", folder / "LAKE"],
        check=True,
        capture_output=True,
    )
    return folder


def test_every_option_that_takes_a_file_is_in_one_of_the_tables(root: Path) -> None:
    found, command = set(), ""
    lines = (root / "docs" / "reference" / "commands.md").read_text().splitlines()
    option = re.compile(r"(?:-\w, )?--([\w-]+)(?:\[=| )(?:FILE|LOG|NEWLOG)\b")
    shared = {match[1] for line in lines if (match := option.match(line))}  # explained once, at the end
    for line in lines:
        if line.startswith("Also: "):
            found |= {f"{command} --{name}" for name in re.findall(r"`--([\w-]+)`", line) if name in shared}
        elif heading := re.match(r"#+ iolens ([\w ]+)", line):
            command = heading[1]
        elif line[:1] == " " and (match := option.match(line.lstrip())):
            found.add(f"{command} --{match[1]}")
    assert found == {*PRINTED, *REFUSED, *READ}


@pytest.mark.parametrize("option", PRINTED)
def test_text_and_pages_are_printed(option: str, folder: Path, iolens: Path) -> None:
    arguments, begin, end = PRINTED[option]
    done = subprocess.run([iolens, *arguments], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(begin) and done.stdout.rstrip().endswith(end)
    assert not (folder / "-").exists()


@pytest.mark.parametrize(("form", "begin"), [("--json", b"{"), ("--text", b""), ("--pdf", b"%PDF")])
def test_every_form_of_a_report_is_printed(form: str, begin: bytes, folder: Path, iolens: Path) -> None:
    done = subprocess.run(
        [iolens, "report", form, "-o", "-", "LOG"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 0 and len(done.stdout) > 1000 and done.stdout.startswith(begin)
    assert not (folder / "-").exists()


@pytest.mark.parametrize("arguments", [*REFUSED.values(), ["convert", "LOG", "-"]], ids=" ".join)
def test_logs_and_what_has_no_place_there_are_refused(
    arguments: list[str], folder: Path, iolens: Path
) -> None:
    done = subprocess.run([iolens, *arguments], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the name of a file" in done.stderr and done.stderr.count(b"\n") == 1
    assert not (folder / "-").exists()
