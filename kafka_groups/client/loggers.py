"""The loggers of a client, and how its events are written.

The names of the loggers are documented, because programs set levels and handlers by name.
"""

import logging

from kafka_groups.client.events import Area, Event
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.net.rate_limited_log import RateLimitedLog

__all__ = ["GROUP_LOG", "NETWORK_LOG", "RECORDS_LOG", "REQUESTS_LOG", "write_event"]

NETWORK_LOG = logging.getLogger("kafka_groups.network")
"""Brokers that become unreachable or reachable again."""
GROUP_LOG = logging.getLogger("kafka_groups.group")
"""Events of the member (joined, assigned, left, closed), and topics that do not exist."""
RECORDS_LOG = logging.getLogger("kafka_groups.records")
"""Records that lost their lock, cannot be decoded, or cannot be fetched or written for now."""
REQUESTS_LOG = logging.getLogger("kafka_groups.requests")
"""Every request and its response."""
cut_tracebacks(REQUESTS_LOG)

_AREA_LOGS = {Area.GROUP: GROUP_LOG, Area.RECORDS: RECORDS_LOG}


def write_event(rate_limited_log: RateLimitedLog, event: Event) -> None:
    """Log an event. Those with a subject are warnings, whose repeats the rate-limited log leaves out."""
    log = _AREA_LOGS[event.area]
    if event.subject is None:
        log.info("%s", event.text)
    else:
        rate_limited_log.warn(log, event.subject, "%s", event.text)
