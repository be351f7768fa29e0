"""Streams applications in virtual time: a data plane of our own under the runtime, as librdkafka needs real time."""
