"""The list that librdkafka gives of its own configuration properties."""

import ctypes
import os
import re
from pathlib import Path

import confluent_kafka
import pytest

__all__ = ["KEYS_OF_LIBRDKAFKA", "installed_keys"]

KEYS_OF_LIBRDKAFKA = (
    (Path(__file__).parents[1] / "unit" / "config" / "clients" / "librdkafka-keys.txt").read_text().split()
)
"""The names of all properties of librdkafka 2.16, those of topics included."""


def installed_keys() -> list[str]:
    """Return the names of the properties of the installed librdkafka. Skips the test where it does not show them."""
    bundled = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    libraries = sorted(bundled.glob("librdkafka-*.so*"))
    if not libraries or not hasattr(os, "memfd_create"):
        pytest.skip("confluent-kafka's wheel for this platform does not show librdkafka's list of properties")
    library, libc = ctypes.CDLL(str(libraries[0])), ctypes.CDLL(None)
    libc.fdopen.restype, libc.fdopen.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_char_p]
    libc.fflush.argtypes, library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p], [ctypes.c_void_p]
    descriptor = os.memfd_create("properties")
    stream = libc.fdopen(descriptor, b"w")
    library.rd_kafka_conf_properties_show(stream)
    libc.fflush(stream)
    text = os.pread(descriptor, 10**6, 0).decode()
    libc.fclose.argtypes = [ctypes.c_void_p]
    libc.fclose(stream)
    return re.findall(r"^(\w[\w.]*) +\| +(?:C|P|\*) +\|", text, re.MULTILINE)
