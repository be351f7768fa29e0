"""Answers HTTP requests about an application's health, such as those of Kubernetes."""

from kafka_groups.net.http_answers import HttpAnswers, plain_answer
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState

__all__ = ["ProbeServer"]


class ProbeServer(HttpAnswers):
    """Answers `GET /live` and `GET /ready` in threads of its own, until it is closed.

    Args:
        address: The host and port to listen at; port 0 takes a free one.
        life: The application.

    Raises:
        ConfigurationError: The address cannot be used.
    """

    def __init__(self, address: tuple[str, int], life: ApplicationLife) -> None:
        answers = {
            "/live": lambda: plain_answer(life.state.name, is_fine=not life.has_ended),
            "/ready": lambda: plain_answer(life.state.name, is_fine=life.state is StreamsState.RUNNING),
        }
        super().__init__(address, answers, "streams-probe")

    def __repr__(self) -> str:
        return f"<ProbeServer at port {self.port}>"
