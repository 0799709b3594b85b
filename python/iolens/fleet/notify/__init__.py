"""New findings of a fleet, told to those who want to know: by mail, webhook, or files in a directory.

A finding is new once per recipient, user, application and rule. What is to be said is first kept in the outbox, then
sent: a failure of delivery loses nothing, and what was delivered is never sent again.
"""

from iolens.fleet.notify.collect import collect
from iolens.fleet.notify.deliver import Delivery, deliver
from iolens.fleet.notify.occurrence import Occurrence
from iolens.fleet.notify.outbox import Message, Outbox
from iolens.fleet.notify.site import Recipient, Site, read_site

__all__ = [
    "Delivery",
    "Message",
    "Occurrence",
    "Outbox",
    "Recipient",
    "Site",
    "collect",
    "deliver",
    "read_site",
]
