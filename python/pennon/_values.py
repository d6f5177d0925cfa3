"""Python values that Arrow has types for, and how a handle is opened again in another process."""

from collections import namedtuple
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)

MonthDayNano = namedtuple("MonthDayNano", ["months", "days", "nanoseconds"])
MonthDayNano.__module__ = "pennon"
MonthDayNano.__doc__ = "An interval in months, days and nanoseconds."


def zone(name):
    """The zone of a timestamp type: an offset, or a name of the zone database; UTC where that does not know the name."""
    if name in ("UTC", "utc", "Z", "+00:00"):
        return timezone.utc
    if name[:1] in "+-" and len(name) == 6 and name[3] == ":":
        span = timedelta(hours=int(name[1:3]), minutes=int(name[4:6]))
        return timezone(-span if name[0] == "-" else span)
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except Exception:
        return timezone.utc


def reopen(path, format, mapping):
    from ._pennon import open

    return open(path, format=format, mapping=mapping)
