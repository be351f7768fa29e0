"""Serdes: how keys and values of streams and handlers become bytes. Import the package and use its names from there.

```python
from kafka_groups import serdes

serdes.string, serdes.json(Order), serdes.time_windowed(serdes.string, timedelta(minutes=5))
```
"""

from kafka_groups.serdes.contexts import DeserializationContext, SerializationContext
from kafka_groups.serdes.json_documents import json
from kafka_groups.serdes.pairs import of
from kafka_groups.serdes.plain import bool_, bytes_, float64, int32, int64, string, uuid
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, Serde, nullable
from kafka_groups.serdes.windowed import Window, Windowed, WindowedSerde, session_windowed, time_windowed

__all__ = [
    "BoundDeserializer",
    "BoundSerializer",
    "DeserializationContext",
    "Serde",
    "SerializationContext",
    "Window",
    "Windowed",
    "WindowedSerde",
    "bool_",
    "bytes_",
    "float64",
    "int32",
    "int64",
    "json",
    "nullable",
    "of",
    "session_windowed",
    "string",
    "time_windowed",
    "uuid",
]
