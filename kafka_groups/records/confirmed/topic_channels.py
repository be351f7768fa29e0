"""The connection to a broker that a topic uses for now, so that no topic waits for the answers of another one."""

from kafka_groups.client.requests import OutgoingRequest

__all__ = ["TopicChannels"]


class TopicChannels:
    """Channels of the lane of Produce: a topic has one for each broker while it waits for answers of that broker.

    A broker reads the next request of a connection when it has answered the one before, and it answers when all
    in-sync replicas have the records. So a topic whose replicas are slow would delay all that is behind it.
    """

    def __init__(self) -> None:
        self._used: dict[int, dict[str, list[int]]] = {}

    def __repr__(self) -> str:
        return f"<TopicChannels: {sum(len(each) for each in self._used.values())} in use>"

    def take(self, node_id: int, topic: str) -> int:
        """Return the channel of the next request of a topic to a broker. `free` it when the request is answered."""
        topics = self._used.setdefault(node_id, {})
        # In one channel, batches of a partition arrive in the order in which they are sent.
        used = topics.get(topic)
        if used is None:
            taken = {channel for channel, _ in topics.values()}
            channel = next(each for each in range(len(taken) + 1) if each not in taken)
            used = topics[topic] = [channel, 0]
        used[1] += 1
        return used[0]

    def free(self, node_id: int, topic: str) -> None:
        """Note that a request of a topic has its answer, or gets none."""
        used = self._used[node_id][topic]
        used[1] -= 1
        if not used[1]:
            del self._used[node_id][topic]

    @staticmethod
    def topic_of(request: OutgoingRequest) -> str:
        """Return the topic of a request of `ProduceManager`, which has one topic here."""
        topic: str = request.context.entries[0][0].name.topic
        return topic
