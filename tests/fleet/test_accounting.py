"""Accounting of Slurm, PBS and CSV: jobs as they are told, and what cannot be read in a line each."""

from __future__ import annotations

import gzip
from datetime import timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from iolens.error import IolensError
from iolens.fleet.accounting import AccountedJob, Reading, read_jobs

HEAD = "JobID|JobIDRaw|Cluster|User|Account|State|Submit|Start|End|ElapsedRaw|AllocCPUS|NNodes|CPUTimeRAW|Comment"
T0 = 1_359_676_800  # 2013-02-01T00:00:00 UTC


def read(tmp_path: Path, text: str, **more: object) -> tuple[list[AccountedJob], Reading]:
    path = tmp_path / "accounting"
    path.write_text(text)
    reading = Reading(str(path), **{"zone": timezone.utc, **more})  # type: ignore[arg-type]
    return list(read_jobs(reading)), reading


def sacct(*lines: str) -> str:
    return "\n".join([HEAD, *lines, ""])


def test_a_job_of_sacct(tmp_path: Path) -> None:
    (job,), reading = read(
        tmp_path,
        sacct(
            "17|17|hopper|anna|m1|CANCELLED by 500|2013-02-01T00:00:00|2013-02-01T00:10:00|2013-02-01T01:10:05"
            "|3605|48|2|173040|iolens/1.0"
        ),
    )
    assert job == AccountedJob(
        *("hopper", 17, None, None, "anna", "m1", None, None, "CANCELLED"),
        *(T0, T0 + 600, T0 + 4205, 48, 2, 173040, True),
    )
    assert not reading.problems and not reading.left_out


def test_steps_tasks_and_jobs_that_never_started(tmp_path: Path) -> None:
    rest = "|c|u|a|COMPLETED|2013-02-01T00:00:00|2013-02-01T00:00:00|2013-02-01T00:01:00|60|4|1|240|"
    jobs, reading = read(
        tmp_path,
        sacct(
            *("20_3|23" + rest, "20_3.batch|23.batch" + rest, "20_3.0|23.0" + rest, "30+1|31" + rest),
            "20_[4-9]|20|c|u|a|PENDING|2013-02-01T00:00:00|Unknown|Unknown|0|4|1|0|",
            "40|40|c|u|a|CANCELLED by 0|2013-02-01T00:00:00|None|2013-02-01T00:00:09|0|4|1|0|",
        ),
    )
    assert [(job.job_id, job.array_job, job.array_task) for job in jobs] == [(23, 20, 3), (31, None, None)]
    assert reading.left_out == {"steps": 2, "never started": 2}
    assert [job.observed for job in jobs] == [None, None]


def test_a_running_job_has_no_end(tmp_path: Path) -> None:
    (job,), _ = read(tmp_path, sacct("1|1|c|u|a|RUNNING|Unknown|2013-02-01T00:00:00|Unknown|60|4|1|240|"))
    assert (job.state, job.end, job.submit) == ("RUNNING", None, None)


def test_times_are_of_the_zone_that_is_given(tmp_path: Path) -> None:
    text = sacct("1|1|c|u|a|CD|Unknown|2013-02-01T00:30:00|2013-07-01T02:00:00|60|4|1|240|")
    (job,), _ = read(tmp_path, text, zone=ZoneInfo("Europe/Berlin"))
    assert (job.start, job.end) == (T0 + 1800 - 3600, 1_372_636_800)  # winter and summer
    (job,), _ = read(tmp_path, text.replace("00:30:00", "00:30:00-08:00"))
    assert job.start == T0 + 1800 + 8 * 3600
    (job,), _ = read(tmp_path, text.replace("2013-02-01T00:30:00", str(T0)))
    assert job.start == T0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1|1|c|u|a|CD|Unknown|yesterday|2013-02-01T00:00:00|60|4|1|240|", '"yesterday" is no time as 2013-'),
        ("1|1|c|u|a|CD|Unknown|2013-02-01T00:00:00|2013-01-01T00:00:00|60|4|1|240|", "it ends (2013-01-01T00:00:00)"),
        ("1|1|c|u|a|CD|Unknown|2013-02-01T00:00:00|2013-02-01T01:00:00|60|four|1|240|", '"four" is no whole number'),
        ("x|x|c|u|a|CD|Unknown|2013-02-01T00:00:00|2013-02-01T01:00:00|60|4|1|240|", '"x" is no number of a job'),
        ("1|1|c|u|a|CD|Unknown", "7 columns instead of 14"),
        ("1|1|c|u|a|b|CD|Unknown|x|x|60|4|1|240|", '15 columns instead of 14 (is there a "|" in a name?)'),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_told_and_passed_over(tmp_path: Path, line: str, told: str) -> None:
    good = "2|2|c|u|a|CD|Unknown|2013-02-01T00:00:00|2013-02-01T01:00:00|60|4|1|240|"
    (job,), reading = read(tmp_path, sacct(line, good))
    assert job.job_id == 2
    assert reading.damaged == 1
    assert reading.problems[0].startswith(f"{tmp_path}/accounting: line 2: {told}")


def test_only_the_first_bad_lines_are_named(tmp_path: Path) -> None:
    jobs, reading = read(tmp_path, sacct(*["bad"] * 1000))
    assert (jobs, reading.damaged, len(reading.problems)) == ([], 1000, 5)


def test_csv_by_the_names_of_other_people(tmp_path: Path) -> None:
    jobs, _ = read(
        tmp_path,
        "Job ID,User Name,Project,Status,Start Time,Run Time,Cores,Core Hours,Observed,Job Name\n"
        '5,"anna, the first",m1,done,2013-02-01 00:00:00,1:00:00,8,,yes,"a, b"\n'
        "6,bert,m2,exit,2013-02-01T00:00:00Z,1-00:00:00,8,2.5,no,\n",
    )
    assert [(job.user, job.state, job.end, job.core_seconds, job.observed) for job in jobs] == [
        ("anna, the first", "COMPLETED", T0 + 3600, 28800, True),
        ("bert", "FAILED", T0 + 86400, 9000, False),
    ]
    assert jobs[0].name == "a, b"


def test_gzipped(tmp_path: Path) -> None:
    text = sacct("1|1|c|u|a|CD|Unknown|2013-02-01T00:00:00|2013-02-01T01:00:00|60|4|1|240|")
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert len(list(read_jobs(Reading(str(path), timezone.utc)))) == 1
    path.write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(IolensError, match="is damaged"):
        list(read_jobs(Reading(str(path), timezone.utc)))


E = (
    'user=anna group=staff account="m1" project=_pbs_project_default jobname=my job queue=workq ctime=1359676700 '
    "qtime=1359676700 etime=1359676700 start=1359676800 exec_host=n1/0*24+n2/0*24 Resource_List.ncpus=48 "
    "Resource_List.nodect=2 Resource_List.walltime=01:00:00 session=7 end={end} Exit_status={status} "
    "resources_used.cput=00:00:01 resources_used.walltime=01:00:00"
)


@pytest.mark.parametrize(
    ("status", "run", "state"),
    [(0, 60, "COMPLETED"), (1, 60, "FAILED"), (-29, 3600, "TIMEOUT"), (-27, 60, "OUT_OF_MEMORY"),
     (271, 3600, "TIMEOUT"), (271, 60, "CANCELLED"), (139, 60, "FAILED")],
)  # fmt: skip
def test_a_job_of_pbs(tmp_path: Path, status: int, run: int, state: str) -> None:
    (job,), reading = read(
        tmp_path,
        "02/01/2013 00:00:00;S;12[7].sdb;user=anna\n"
        f"02/01/2013 00:10:00;E;12[7].sdb;{E.format(end=T0 + run, status=status)}\n"
        "02/01/2013 00:11:00;L;license;floating license hour:0\n",
    )
    assert job == AccountedJob(
        *("sdb", 12, 12, 7, "anna", "m1", "workq", "my job", state),
        *(T0 - 100, T0, T0 + run, 48, 2, 48 * run, None),
    )
    assert reading.left_out == {"records of other events": 2}


def test_lines_of_pbs_that_cannot_be_read(tmp_path: Path) -> None:
    jobs, reading = read(
        tmp_path,
        f"02/01/2013 00:10:00;E;x.sdb;{E.format(end=T0, status=0)}\nnonsense\n"
        "02/01/2013 00:10:00;E;13.sdb;user=a start=1359676800\n",
    )
    assert not jobs
    assert [problem.split(": ", 1)[1][:38] for problem in reading.problems] == [
        'line 1: "x.sdb" is no number of a job',
        'line 2: no record as "01/31/2013 12:00',
        "line 3: its end is missing",
    ]


DUMP = r"""-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)
CREATE TABLE `hopper_assoc_table` (
  `id_assoc` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `user` tinytext NOT NULL DEFAULT '',
  `acct` tinytext NOT NULL,
  PRIMARY KEY (`id_assoc`)
) ENGINE=InnoDB;
INSERT INTO `hopper_assoc_table` VALUES (1,'','root'),(2,'anna','m1');
CREATE TABLE `hopper_event_table` (
  `x` int
) ENGINE=InnoDB;
INSERT INTO `hopper_event_table` VALUES (1);
CREATE TABLE `hopper_job_table` (
  `job_db_inx` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `deleted` tinyint(4) NOT NULL DEFAULT 0,
  `account` tinytext DEFAULT NULL,
  `admin_comment` text DEFAULT NULL,
  `id_assoc` int(10) unsigned NOT NULL,
  `id_array_job` int(10) unsigned NOT NULL DEFAULT 0,
  `id_array_task` int(10) unsigned NOT NULL DEFAULT 4294967294,
  `id_job` int(10) unsigned NOT NULL,
  `id_user` int(10) unsigned NOT NULL,
  `job_name` tinytext NOT NULL,
  `partition` tinytext NOT NULL,
  `state` int(10) unsigned NOT NULL,
  `time_submit` bigint(20) unsigned NOT NULL DEFAULT 0,
  `time_start` bigint(20) unsigned NOT NULL DEFAULT 0,
  `time_end` bigint(20) unsigned NOT NULL DEFAULT 0,
  `tres_alloc` text NOT NULL DEFAULT '',
  PRIMARY KEY (`job_db_inx`),
  KEY `k` (`id_job`)
) ENGINE=InnoDB;
INSERT INTO `hopper_job_table` VALUES
(1,0,'m1','iolens',2,0,4294967294,70,500,'it\'s, a ''job)''','all',6,1359676700,1359676800,1359680400,'1=48,2=100,4=2'),
(2,0,'m2',NULL,9,60,5,71,501,'','all',1,1359676700,1359676800,0,'1=4,4=1'),
(3,0,'m1',NULL,2,0,4294967294,72,500,'x','all',0,1359676700,0,0,'');
"""


def test_the_dump_of_slurms_database(tmp_path: Path) -> None:
    jobs, reading = read(tmp_path, DUMP)
    assert jobs == [
        AccountedJob(
            *("hopper", 70, None, None, "anna", "m1", "all", "it's, a 'job)'", "TIMEOUT"),
            *(T0 - 100, T0, T0 + 3600, 48, 2, 48 * 3600, True),
        ),
        AccountedJob(
            *("hopper", 71, 60, 5, "501", "m2", "all", None, "RUNNING"),
            *(T0 - 100, T0, None, 4, 1, None, None),
        ),
    ]
    assert reading.left_out == {"never started": 1} and not reading.problems


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("JobID JobName State\n------ -----\n1 a b\n", "print it by sacct --parsable2"),
        ("JobID|State|Start|End\n", "accounting without a column user: print it by sacct --parsable2"),
        ("hello\nworld\n", "unknown form of accounting: expected sacct"),
        ("\0\1\2\n", "unknown form of accounting: expected sacct"),
    ],
)
def test_files_that_are_no_accounting(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(IolensError) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path}/accounting: ")
    assert told in str(raised.value)
