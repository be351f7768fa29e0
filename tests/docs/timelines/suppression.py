"""A picture of a table whose updates are held back."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from kafka_groups import serdes
from kafka_groups.streams import KTable, StreamsBuilder, Suppressed
from tests.docs.timelines.arrivals import Build, drawn

__all__ = ["SUPPRESSION_PICTURES"]

LIMIT = timedelta(minutes=3)


def _prices(builder: StreamsBuilder) -> KTable[str, str]:
    return builder.table("prices", key=serdes.string, value=serdes.string)


SUPPRESSED: Mapping[str, Build] = {
    "each update": lambda builder: _prices(builder).to_stream(),
    "until_time_limit": lambda builder: _prices(builder).suppress(Suppressed.until_time_limit(LIMIT)).to_stream(),
}
SUPPRESSION_PICTURES: Mapping[str, Callable[[], str]] = {
    "suppressed": lambda: drawn(
        8,
        [
            ("prices", "tea", "5", 1),
            ("prices", "tea", "6", 2),
            ("prices", "jam", "9", 3),
            ("prices", "tea", "7", 3.5),
            ("prices", "jam", "8", 4),
            ("prices", "tea", "4", 7),
        ],
        SUPPRESSED,
    ),
}
