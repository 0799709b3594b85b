"""What is made once for a key: nobody waits for another's, what failed is tried again, and the oldest go first."""

from __future__ import annotations

import threading

import pytest
from iolens.portal.data.cache import Cache


def test_each_is_made_once_and_the_oldest_goes_first() -> None:
    kept: Cache[str, list[str]] = Cache()
    made: list[str] = []

    def get(key: str) -> list[str]:
        return kept.get(key, lambda: [made.append(key) or key], most=2)  # type: ignore[func-returns-value]

    first = get("a")
    assert get("a") is first and made == ["a"]
    get("b")
    assert get("a") is first
    get("c")
    assert [key for key, _ in kept.newest()] == ["c", "a"] and len(kept) == 2
    assert get("b") == ["b"] and made == ["a", "b", "c", "b"]
    kept.clear()
    assert not kept.newest() and get("a") is not first


def test_what_failed_is_tried_again() -> None:
    kept: Cache[str, int] = Cache()

    def fail() -> int:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        kept.get("a", fail, most=2)
    assert not kept.newest()
    assert kept.get("a", lambda: 3, most=2) == 3


def test_who_asks_for_another_key_does_not_wait() -> None:
    kept: Cache[str, str] = Cache()
    begun, go_on = threading.Event(), threading.Event()
    found: list[str] = []

    def slow() -> str:
        begun.set()
        assert go_on.wait(30)
        return "slow"

    waiting = [
        threading.Thread(target=lambda: found.append(kept.get("a", slow, most=9))),
        threading.Thread(target=lambda: found.append(kept.get("a", lambda: "second", most=9))),
    ]
    waiting[0].start()
    assert begun.wait(30)
    waiting[1].start()
    assert kept.get("b", lambda: "fast", most=9) == "fast"
    assert not found
    go_on.set()
    for thread in waiting:
        thread.join(30)
    assert found == ["slow", "slow"]
