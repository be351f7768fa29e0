"""The option `output` of a handler, checked against what other handlers of the worker write."""

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.handlers import HandlerSpec

__all__ = ["check_outputs_of"]


def check_outputs_of(spec: HandlerSpec, other: HandlerSpec) -> None:
    """Check that neither of two handlers writes its results to a retry topic of the other. They may be the same.

    Raises:
        ConfigurationError: One does.
    """
    for writer, reader in ((spec, other), (other, spec)):
        retry_topics = () if reader.retry_topics is None else reader.retry_topics.names
        for output in writer.outputs:
            # A record of a retry topic without the headers of a retry is a parse error there.
            if output.topic in retry_topics:
                raise ConfigurationError(
                    f"handler {writer.name}: output={output.topic!r} is a retry topic of handler {reader.name}, which"
                    " cannot read results. Use another topic"
                )
