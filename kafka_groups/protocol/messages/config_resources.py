"""The types of resources that have configs: numbers that DescribeConfigs and IncrementalAlterConfigs share."""

from typing import Final

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
BROKER_LOGGER_RESOURCE: Final = 8
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32
