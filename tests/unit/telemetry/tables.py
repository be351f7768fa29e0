"""All exported metrics: the table that pages, the dashboard and the alerts are checked against."""

from kafka_groups.broker.metrics import METRICS
from kafka_groups.records.metrics import RECORDS_METRIC_GROUPS
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS, MEMBER_METRICS
from kafka_groups.streams.workers.application_metrics import METRIC_GROUPS
from kafka_groups.telemetry.families import (
    HANDLER_FAMILIES,
    SPARK_FAMILIES,
    Family,
    broker_families,
    share_consumer_families,
    streams_families,
    streams_member_families,
)

__all__ = ["FAMILIES", "all_families"]


def all_families() -> list[Family]:
    """The metrics of all clients, one for each client and name."""
    return [
        *share_consumer_families(SHARE_METRICS).values(),
        *streams_member_families(MEMBER_METRICS).values(),
        *streams_families({**METRIC_GROUPS, **RECORDS_METRIC_GROUPS, **COORDINATOR_METRIC_GROUPS}).values(),
        *HANDLER_FAMILIES.values(),
        *SPARK_FAMILIES.values(),
        *dict.fromkeys(place.family for place in broker_families(METRICS).values()),
    ]


FAMILIES = {family.name: family for family in all_families()}
