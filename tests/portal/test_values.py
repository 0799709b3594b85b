"""Values in addresses: sizes as people write them, and a word about what is not known."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("path", ["/q/screen_redundant_reads", "/api/v1/queries/screen_redundant_reads"])
def test_a_size_may_have_a_unit(path: str, visit: Any) -> None:
    rows = [visit("sam", f"{path}?bytes={text}") for text in ("1GiB", "1g", "1073741824", "1.5K", "1536")]
    assert [row.status_code for row in rows] == 5 * [200]
    if "api" in path:
        assert [row.json()["parameters"]["bytes"] for row in rows] == 3 * [1 << 30] + 2 * [1536]
    else:
        assert 'value="1073741824"' in rows[0].text  # and not 1.07374e+09, which is another number
        assert 'value="0.25"' in visit("sam", "/q/screen_metadata").text
    for wrong in ("GiB", "1X", "1e", "nan", "1_0", "-1GiB", "1 ", "\u0661"):
        assert visit("sam", f"{path}?bytes={wrong}").status_code == 400, wrong


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/q/top_users?by=tim", 'unknown value of by "tim": did you mean time?'),
        ("/csv/top_files?by=owner", 'unknown value of by "owner": there is time, bytes, metadata, small'),
        ("/api/v1/queries/findings?severity=higher", "did you mean high?"),
        ("/api/v1/jobs?by=startt", "did you mean start?"),
        ("/jobs?since=yesterday", 'since: "yesterday" is no day: 2026-01-31'),
        ("/jobs?until=2026-13-01", 'until: "2026-13-01" is no day: 2026-01-31'),
        ("/api/v1/jobs?since=abc", 'since: "abc" is no day: 2026-01-31'),
    ],
)
def test_a_value_that_is_not_known(path: str, word: str, visit: Any) -> None:
    answer = visit("sam", path)
    text = answer.text.replace("&#34;", '"').replace('\\"', '"')
    assert answer.status_code == 400 and word in text


def test_a_lists_definition_has_the_values_in_it(visit: Any) -> None:
    shown = visit("sam", "/q/top_users?by=bytes").text
    assert "In order of bytes:" in shown and "<option selected>bytes</option>" in shown
    for path in ("/q/top_users", "/q/drift", "/q"):
        assert "$" not in visit("sam", path).text.partition("<main")[2].partition("</main")[0], path
