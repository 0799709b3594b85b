"""Sends what the outbox holds; what cannot be sent is tried again, later and later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from iolens.fleet.notify.channels import DeliveryError, send
from iolens.fleet.notify.outbox import Outbox
from iolens.fleet.notify.site import USER, Site

__all__ = ["Delivery", "deliver", "wait_after"]

_FIRST, _LONGEST = 300.0, 86400.0


@dataclass
class Delivery:
    """What became of the messages that were due."""

    delivered: int = 0
    withdrawn: int = 0
    failed: list[str] = field(default_factory=list)
    """A line for each: the recipient, and why it failed."""
    busy: bool = False
    """Another process is sending: nothing was done."""


def wait_after(attempts: int) -> float:
    """Seconds until a message is tried again: five minutes, then twice as long each time, at most a day."""
    return min(_FIRST * 2.0 ** min(attempts, 20), _LONGEST)


def deliver(outbox: Outbox, site: Site, clock: Callable[[], float]) -> Delivery:
    """Tries each message that is due once. Two processes do not send at once."""
    done = Delivery()
    with outbox.sending() as mine:
        if not mine:
            done.busy = True
            return done
        for message in outbox.due(clock()):
            recipient = site.find(message.recipient)
            if recipient is None and message.recipient.startswith(USER):
                outbox.withdrawn(message.id, "the user has unsubscribed")
                done.withdrawn += 1
                continue
            outbox.attempt(message.id, clock() + wait_after(message.attempts))
            try:
                if recipient is None:
                    raise DeliveryError("the configuration has no recipient of this name")
                send(site, recipient, message)
            except DeliveryError as error:
                outbox.failed(message.id, str(error))
                done.failed.append(f"{message.recipient}: {error}")
                continue
            outbox.delivered(message.id, clock())
            done.delivered += 1
    return done
