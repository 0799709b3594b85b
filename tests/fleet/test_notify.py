"""New findings reach who wants to know them, once, whatever fails on the way."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import hmac
import json
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from iolens.error import IolensError
from iolens.fleet.notify import Occurrence, Outbox, Site, collect, deliver, read_site
from iolens.fleet.notify.deliver import wait_after
from iolens.fleet.notify.evidence import with_evidence
from iolens.rules.finding import Evidence
from iolens.schemas import load
from jsonschema import Draft202012Validator
from made_log import Make
from receivers import Hook, Mailbox, certificate, mail_server, web_server

NOON = 1_357_387_200.0  # 5 January 2013
DAY = 86400.0
START = datetime.datetime(2013, 1, 5, 10)


def found(**more: Any) -> Occurrence:
    facts: dict[str, Any] = {
        "rule": "sync_storm",
        "title": "Data is forced to storage again and again",
        "severity": "high",
        "message": "Data is forced to storage 8,004 times.",
        "user": "alice",
        "application": "vasp",
        "log": 17,
        "path": "/logs/2013/1/5/alice_vasp_id4711.darshan",
        "job_id": 4711,
        "time_lost": 38.2,
        "share": 0.84,
        "start": START,
        "run_time": 45.5,
        "nprocs": 512,
    }
    return Occurrence(**{**facts, **more})


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox(tmp_path / "state" / "outbox.sqlite") as box:
        yield box


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture
def hook() -> Iterator[Hook]:
    with web_server() as one:
        yield one


def site(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "site.toml"
    path.write_text(text)
    return read_site(str(path))


def mail_site(tmp_path: Path, port: int, more: str = "") -> Site:
    return site(
        tmp_path,
        f"""
        [site]
        name = "Hopper"
        link = "https://jobs.example.org/{{user}}/{{job_id}}?rule={{rule}}"
        [[recipient]]
        name = "operators"
        channel = "mail"
        to = "io@example.org"
        [mail]
        host = "localhost"
        port = {port}
        sender = "iolens@example.org"
        {more}
        """,
    )


def tell(outbox: Outbox, where: Site, *what: Occurrence, now: float = NOON) -> tuple[int, Any]:
    made = collect(outbox, where, what, now)
    return made, deliver(outbox, where, lambda: now)


def test_a_mail_has_job_finding_evidence_and_link(outbox: Outbox, mailbox: Mailbox, tmp_path: Path) -> None:
    evidence = Evidence("Files", ("name", "syncs"), ("", "count"), (("/scratch/alice/out", 8004),))
    one = found(evidence=(evidence,), advice=("Call fsync once.",), code=("fsync(file);",))
    made, done = tell(outbox, mail_site(tmp_path, mailbox.port), one)
    assert (made, done.delivered, done.failed) == (1, 1, [])
    (mail,) = mailbox.taken
    assert mail["X-Taken-For"] == mail["To"] == "io@example.org"
    assert (
        mail["Subject"] == "[Hopper] vasp, job 4711 of alice: about 38.2 s lost of 45.5 s, "
        "Data is forced to storage again and again"
    )
    assert mail.get_content().replace("\r", "").splitlines() == [
        "vasp, job 4711 of alice",
        "512 processes, 2013-01-05 10:00 UTC, ran 45.5 s",
        "https://jobs.example.org/alice/4711?rule=sync_storm",
        "",
        "Data is forced to storage again and again  [sync_storm, high]",
        "  Data is forced to storage 8,004 times.",
        "  costs 38.2 s, 84 % of the run time.",
        "  -> Call fsync once.",
        "       fsync(file);",
        "  Files:",
        "    name                syncs",
        "    /scratch/alice/out  8,004",
    ]


def test_a_mail_is_grouped_by_job_and_says_advice_once(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    """Two findings that are the same seconds were two entries with the same text of advice."""
    first = found(advice=("Call fsync once.",))
    other = found(
        rule="metadata_time", title="Metadata takes long", time_lost=38.1, advice=("Call fsync once.",)
    )
    elsewhere = found(user="bob", log=18, job_id=4712, time_lost=9.0)
    tell(outbox, mail_site(tmp_path, mailbox.port), elsewhere, other, first)
    (mail,) = mailbox.taken
    assert mail["Subject"].startswith(
        "[Hopper] vasp, job 4711 of alice: about 38.2 s lost of 45.5 s, 2 findings;"
    )
    assert mail["Subject"].endswith("and 1 other job")
    text = mail.get_content().replace("\r", "")
    assert text.count("job 4711") == 1 and text.count("Call fsync once.") == 1
    assert "costs 38.1 s, 84 % of the run time, the same time as: Data is forced" in text
    assert text.index("Metadata takes long") < text.index("vasp, job 4712 of bob")


def test_a_finding_is_told_once_per_user_application_and_rule(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    where = mail_site(tmp_path, mailbox.port)
    first = [found(), found(log=18, job_id=4712, time_lost=99.0), found(user="bob")]
    assert tell(outbox, where, *first)[0] == 1
    (mail,) = mailbox.taken
    assert mail["Subject"].endswith("and 1 other job")
    assert (
        "job 4712" in mail.get_content() and "job 4711" in mail.get_content()
    )  # the worst of alice's, and bob's
    assert mail.get_content().count("[sync_storm, high]") == 2
    # The same again: nothing. Another user, application or rule: a mail each.
    assert tell(outbox, where, *first)[0] == 0
    for more in ({"user": "carol"}, {"application": "namd"}, {"rule": "tiny_writes"}):
        assert tell(outbox, where, found(**more))[0] == 1
    assert len(mailbox.taken) == 4


def test_repeat_days_tells_it_again(outbox: Outbox, mailbox: Mailbox, tmp_path: Path) -> None:
    where = mail_site(tmp_path, mailbox.port, "[notify]\nrepeat_days = 30\nmax_age_days = 1000")
    assert [tell(outbox, where, found(), now=NOON + day * DAY)[0] for day in (0, 29, 31, 60, 62)] == [
        1,
        0,
        1,
        0,
        1,
    ]


def test_old_jobs_are_history_and_no_news(outbox: Outbox, mailbox: Mailbox, tmp_path: Path) -> None:
    where = mail_site(tmp_path, mailbox.port)
    assert tell(outbox, where, found(start=START - datetime.timedelta(days=8)))[0] == 0
    assert tell(outbox, where, found(start=START - datetime.timedelta(days=6)))[0] == 1


def test_refused_mail_is_kept_and_sent_later_once(outbox: Outbox, mailbox: Mailbox, tmp_path: Path) -> None:
    where = mail_site(tmp_path, mailbox.port)
    mailbox.answers = ["451 4.3.0 try later", "554 5.7.1 never"]
    _, done = tell(outbox, where, found())
    assert done.failed == ["operators: the mail server says 451 4.3.0 try later"] and not mailbox.taken
    assert not deliver(outbox, where, lambda: NOON + 299).failed  # not due yet
    assert deliver(outbox, where, lambda: NOON + 300).failed == [
        "operators: the mail server says 554 5.7.1 never"
    ]
    (kept,) = outbox.waiting()
    assert (kept.attempts, kept.error, kept.next_try) == (
        2,
        "the mail server says 554 5.7.1 never",
        NOON + 900,
    )
    assert [deliver(outbox, where, lambda: NOON + 900).delivered for _ in range(3)] == [1, 0, 0]
    assert len(mailbox.taken) == 1 and mailbox.taken[0]["Message-ID"] == f"<{kept.id}@iolens>"
    assert outbox.counts() == {"waiting": 0, "delivered": 1, "withdrawn": 0}


def test_waiting_grows_to_a_day() -> None:
    assert [wait_after(n) for n in (0, 1, 2, 8, 9, 1000)] == [300, 600, 1200, 76800, 86400, 86400]


def test_one_recipient_that_fails_holds_up_no_other(
    outbox: Outbox, mailbox: Mailbox, hook: Hook, tmp_path: Path
) -> None:
    more = f'[[recipient]]\nname = "chat"\nchannel = "webhook"\nurl = "{hook.url}"\nbody = "text"\n'
    mailbox.unknown = {"io@example.org"}
    _, done = tell(outbox, mail_site(tmp_path, mailbox.port, more), found())
    assert done.delivered == 1 and done.failed == ["operators: the mail server says 550 5.1.1 no such user"]
    (said,) = hook.json
    assert list(said) == ["text"] and said["text"].startswith(
        "[Hopper] vasp, job 4711 of alice: about 38.2 s"
    )


def test_no_server_at_all(outbox: Outbox, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("localhost", 0))
        port = closed.getsockname()[1]
        _, done = tell(outbox, mail_site(tmp_path, port), found())
    assert done.failed == ["operators: Connection refused"] and len(outbox.waiting()) == 1


def test_mail_over_tls_with_a_login(outbox: Outbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path)
    (tmp_path / "password").write_text("secret\n")
    login = f'security = "starttls"\nuser = "iolens"\npassword_file = "{tmp_path}/password"'
    with mail_server(pem, ("iolens", "secret")) as box:
        where = mail_site(tmp_path, box.port, login)
        _, done = tell(outbox, where, found())
        assert "CERTIFICATE_VERIFY_FAILED" in done.failed[0] and not box.taken
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "only"))
        (tmp_path / "password").write_text("wrong\n")
        assert "535" in deliver(outbox, where, lambda: NOON + 300).failed[0]
        (tmp_path / "password").write_text("secret\n")
        assert deliver(outbox, where, lambda: NOON + DAY).delivered == 1
        assert len(box.taken) == 1


def hook_site(tmp_path: Path, hook: Hook, more: str = "") -> Site:
    return site(tmp_path, f'[[recipient]]\nchannel = "webhook"\nurl = "{hook.url}"\n{more}')


def test_a_webhook_gets_json_by_its_schema_and_a_signature(
    outbox: Outbox, hook: Hook, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("key\n")
    where = hook_site(tmp_path, hook, f'secret_file = "{tmp_path}/secret"')
    evidence = Evidence("Files", ("name", "n", "t"), ("", "", ""), (("/a", float("nan"), START),))
    assert tell(outbox, where, found(evidence=(evidence,)))[1].delivered == 1
    ((headers, content),) = hook.taken
    said = json.loads(content)
    Draft202012Validator(load("notice")).validate(said)
    assert headers["Idempotency-Key"] == said["id"] and headers["Content-Type"] == "application/json"
    assert headers["X-Iolens-Signature"] == "sha256=" + hmac.new(b"key", content, hashlib.sha256).hexdigest()
    (one,) = said["findings"]
    assert (one["job_id"], one["time_lost"], one["start"]) == (4711, 38.2, "2013-01-05T10:00:00Z")
    assert one["evidence"][0]["rows"] == [["/a", None, "2013-01-05T10:00:00Z"]]


@pytest.mark.parametrize("code", [302, 400, 404, 429, 500, 503])
def test_a_webhook_that_does_not_take_it_gets_it_again(
    outbox: Outbox, hook: Hook, tmp_path: Path, code: int
) -> None:
    where = hook_site(tmp_path, hook)
    hook.answers = [code]
    _, done = tell(outbox, where, found())
    assert len(done.failed) == 1 and f"the server says {code}" in done.failed[0]
    assert (hook.asked, len(hook.taken)) == (1, 0)
    assert deliver(outbox, where, lambda: NOON + 300).delivered == 1
    assert (hook.asked, len(hook.taken)) == (2, 1)


def test_a_directory_has_a_file_per_message(outbox: Outbox, tmp_path: Path) -> None:
    where = site(tmp_path, f'[[recipient]]\nchannel = "directory"\npath = "{tmp_path}/spool/new"')
    tell(outbox, where, found())
    (path,) = (tmp_path / "spool" / "new").iterdir()
    said = json.loads(path.read_text())
    Draft202012Validator(load("notice")).validate(said)
    assert path.name == f"{said['id']}.json" and said["findings"][0]["user"] == "alice"


def test_recipients_choose_by_severity_and_rule(outbox: Outbox, tmp_path: Path) -> None:
    where = site(
        tmp_path,
        "".join(
            f'[[recipient]]\nname = "{name}"\nchannel = "directory"\npath = "{tmp_path}/{name}"\n{more}\n'
            for name, more in (
                ("usual", ""),
                ("worst", 'severity = "high"'),
                ("screens", 'rules = ["screen_*"]'),
                ("loud_screens", 'rules = ["screen_*"]\nseverity = "high"'),
            )
        ),
    )
    tell(
        outbox,
        where,
        *(found(rule="sync_storm", severity=level, user=level) for level in ("high", "medium", "low")),
        found(rule="screen_metadata", severity="info"),
    )

    def told(name: str) -> list[str]:
        files = (tmp_path / name).glob("*.json") if (tmp_path / name).is_dir() else ()
        return [f"{f['severity']} {f['rule']}" for p in files for f in json.loads(p.read_text())["findings"]]

    assert told("usual") == ["high sync_storm", "medium sync_storm"]
    assert told("worst") == ["high sync_storm"]
    assert told("screens") == ["info screen_metadata"]
    assert told("loud_screens") == []


def test_users_are_told_of_their_own_jobs_if_they_asked_for_it(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    (tmp_path / "opted").write_text("bob # since May\n\n# nobody else\n")
    users = '[users]\nopt_in = ["alice"]\nopt_in_file = "opted"\naddress = "{user}@users.example.org"\n'
    where = mail_site(tmp_path, mailbox.port, users)
    tell(outbox, where, found(), found(user="bob"), found(user="carol"))
    mails = {mail["To"]: mail.get_content() for mail in mailbox.taken}
    assert sorted(mails) == ["alice@users.example.org", "bob@users.example.org", "io@example.org"]
    assert "bob" not in mails["alice@users.example.org"] and "carol" not in mails["bob@users.example.org"]
    assert all(name in mails["io@example.org"] for name in ("alice", "bob", "carol"))


def test_who_opts_out_gets_nothing_that_still_waits(outbox: Outbox, mailbox: Mailbox, tmp_path: Path) -> None:
    users = '[users]\nopt_in = ["alice"]\naddress = "{user}@users.example.org"\n'
    mailbox.answers = ["451 later", "451 later"]
    tell(outbox, mail_site(tmp_path, mailbox.port, users), found())
    done = deliver(outbox, mail_site(tmp_path, mailbox.port), lambda: NOON + DAY)
    assert (done.delivered, done.withdrawn) == (1, 1)
    assert [mail["To"] for mail in mailbox.taken] == ["io@example.org"]


def test_rules_in_the_dark_are_told_to_nobody_until_they_are_launched(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    dark = mail_site(tmp_path, mailbox.port, '[rules]\ndark = ["sync_storm"]')
    assert tell(outbox, dark, found())[0] == 0
    assert tell(outbox, mail_site(tmp_path, mailbox.port), found())[0] == 1


def test_many_findings_are_several_messages_and_none_is_lost(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    where = mail_site(tmp_path, mailbox.port, "[notify]\nper_message = 20")
    mailbox.answers = ["451 later"]  # the first of three
    made, done = tell(outbox, where, *(found(user=f"user{n:02}", log=n) for n in range(45)))
    assert (made, done.delivered, len(done.failed)) == (3, 2, 1)
    deliver(outbox, where, lambda: NOON + DAY)
    text = "".join(mail.get_content() for mail in mailbox.taken)
    assert [text.count(f"of user{n:02}") for n in range(45)] == [1] * 45


def test_a_recipient_that_the_configuration_lost_gets_it_when_it_is_back(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    where = mail_site(tmp_path, mailbox.port)
    collect(outbox, where, [found()], NOON)
    done = deliver(outbox, site(tmp_path, ""), lambda: NOON)
    assert done.failed == ["operators: the configuration has no recipient of this name"]
    assert deliver(outbox, where, lambda: NOON + DAY).delivered == 1


def test_names_cannot_write_headers_or_move_the_cursor(
    outbox: Outbox, mailbox: Mailbox, tmp_path: Path
) -> None:
    evil = found(application="x\r\nBcc: all@example.org", message="\x1b[2Jgone")
    assert tell(outbox, mail_site(tmp_path, mailbox.port), evil)[1].delivered == 1
    (mail,) = mailbox.taken
    assert mail["Bcc"] is None and mail["X-Taken-For"] == "io@example.org"
    assert "\x1b" not in mail.get_content() and "\\x1b[2Jgone" in mail.get_content()


def test_only_its_owner_reads_the_outbox(outbox: Outbox) -> None:
    assert stat.S_IMODE(Path(outbox.path).stat().st_mode) == 0o600


def test_of_a_delivered_message_no_text_is_kept(outbox: Outbox, mailbox: Mailbox, tmp_path: Path) -> None:
    """Only what was told to whom: user, application, rule."""
    assert tell(outbox, mail_site(tmp_path, mailbox.port), found())[1].delivered == 1
    kept = "SELECT subject, body, payload FROM message"
    with contextlib.closing(sqlite3.connect(outbox.path)) as read:
        assert read.execute(kept).fetchall() == [("", "", "{}")]


SENDER = """
import sys, time
from iolens.fleet.notify import Outbox, deliver, read_site
with Outbox(sys.argv[1]) as outbox:
    done = deliver(outbox, read_site(sys.argv[2]), lambda: float(sys.argv[3]))
    print(done.delivered, len(done.failed), done.busy)
"""


def sender(outbox: Outbox, tmp_path: Path, now: float = NOON) -> subprocess.Popen[str]:
    arguments = [outbox.path, str(tmp_path / "site.toml"), str(now)]
    return subprocess.Popen([sys.executable, "-c", SENDER, *arguments], stdout=subprocess.PIPE, text=True)


def test_two_senders_at_once_send_nothing_twice(outbox: Outbox, hook: Hook, tmp_path: Path) -> None:
    where = hook_site(tmp_path, hook, "[notify]\nper_message = 1")
    assert collect(outbox, where, (found(user=f"u{n}") for n in range(40)), NOON) == 40
    both = [sender(outbox, tmp_path) for _ in range(2)]
    said = [one.communicate(timeout=300)[0].split() for one in both]
    assert sum(int(words[0]) for words in said) == 40
    assert len({headers["Idempotency-Key"] for headers, _ in hook.taken}) == len(hook.taken) == 40
    assert outbox.counts()["waiting"] == 0


@pytest.mark.parametrize("channel", ["webhook", "mail"])
def test_a_kill_repeats_at_most_the_message_that_is_under_way(
    outbox: Outbox, hook: Hook, mailbox: Mailbox, tmp_path: Path, channel: str
) -> None:
    """By the same key: the sender cannot know whether it was taken."""
    one_each = "[notify]\nper_message = 1"
    mail = channel == "mail"
    where = mail_site(tmp_path, mailbox.port, one_each) if mail else hook_site(tmp_path, hook, one_each)

    def keys() -> list[str]:
        if mail:
            return [message["Message-ID"] for message in mailbox.taken]
        return [headers["Idempotency-Key"] for headers, _ in hook.taken]

    collect(outbox, where, (found(user=f"u{n}") for n in range(60)), NOON)
    for kill in range(1, 5):
        one = sender(outbox, tmp_path, NOON + kill * DAY)
        while len(keys()) < 12 * kill:
            assert one.poll() is None
        one.kill()
        one.communicate()
        assert len(keys()) <= len(set(keys())) + kill
    assert deliver(outbox, where, lambda: NOON + 9 * DAY).failed == []
    assert len(set(keys())) == 60 and len(keys()) <= 64
    assert outbox.counts()["waiting"] == 0


def test_evidence_comes_from_the_log(make_log: Make, tmp_path: Path) -> None:
    record = {"id": 1, "rank": -1, "bytes_read": 5 << 40, "max_byte_read": (1 << 40) - 1, "reads": 1 << 20}
    log = make_log(posix=[record], nprocs=64, names={1: b"/data/base"})
    catalog = site(tmp_path, '[rules]\nskip = ["sync_storm"]').catalog()
    one = with_evidence(found(rule="redundant_reads", path=str(log)), catalog)
    assert [row[0] for row in one.evidence[0].rows] == ["/data/base"] and one.advice
    for other in (found(path=str(log)), found(rule="redundant_reads", path="/no/such/log")):
        assert with_evidence(other, catalog) is other


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[sit]", 'unknown table "sit"'),
        ("[site]\nnam = 'x'", '[site]: unknown key "nam"'),
        ("[site]\nname = 1", '[site]: "name" must be a string'),
        ("[site]\nlink = 'http://x/{job}'", '[site]: "job" is none of job_id, log'),
        ("[notify]\nper_message = 0", '"per_message" must be 1 or more'),
        ("[notify]\nmax_age_days = true", '"max_age_days" must be a number'),
        ("[recipient]\nchannel = 'mail'", "write [[recipient]]"),
        ("[[recipient]]\nchannel = 'fax'", '"fax" is none of mail, webhook, directory'),
        ("[[recipient]]\nchannel = 'mail'", '"to" is missing: a mail needs it'),
        ("[[recipient]]\nchannel = 'webhook'\nurl = 'file:///etc/passwd'", "is no URL of http or https"),
        ("[[recipient]]\nchannel = 'mail'\nto = 'a'\nseverity = 'bad'", '"bad" is none of high'),
        ("[[recipient]]\nchannel = 'mail'\nto = 'a'\n" * 2, 'two recipients have the name "mail a"'),
        ("[users]\nopt_in = ['a']", '"address" is missing'),
        ("[users]\nopt_in_file = 'none'", "No such file or directory"),
        ("[rules]\ndark = ['sync_strom']", 'unknown rule "sync_strom"'),
        ("[thresholds.sync_storm]\nnone = 1", 'unknown threshold "sync_storm.none"'),
        ("[thresholds]\nshare = 1", "write [thresholds.RULE]"),
        ("[site", "not TOML"),
    ],
)
def test_mistakes_in_the_configuration_are_one_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(IolensError) as raised:
        site(tmp_path, text)
    assert problem in str(raised.value) and "\n" not in str(raised.value) and raised.value.exit_code == 2
    assert str(tmp_path) in str(raised.value)


def test_thresholds_of_the_site_are_those_of_its_rules(tmp_path: Path) -> None:
    catalog = site(tmp_path, "[thresholds.screen_metadata]\nratio = 0.5\nranks = 8").catalog()
    rule = catalog.rules["screen_metadata"]
    assert [rule.thresholds[name].default for name in ("ratio", "seconds", "ranks")] == [0.5, 30, 8]
