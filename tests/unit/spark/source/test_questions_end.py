"""Questions that are under way when the source is closed leave nothing behind, wherever they are."""

import gc
import threading

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.share.parts import Environment
from kafka_groups.spark.source.options import source_options
from kafka_groups.spark.source.questions import GroupQuestions


def test_no_connection_is_left_whenever_it_is_closed() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t")
        given = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "kafka.group.id": "g", "subscribe": "t"}
        config = source_options(given).consumer
        for later_us in range(0, 8_000, 40):  # from before the first connection to after the last answer
            questions = GroupQuestions(config, ["t"], Environment())
            questions.ask_lag(is_changed=True)
            threading.Event().wait(later_us / 1_000_000)
            questions.close()
        gc.collect()  # a connection that is left says so now, and pytest makes an error of it
        assert not [t for t in threading.enumerate() if t.name.startswith("share-group-questions")]
