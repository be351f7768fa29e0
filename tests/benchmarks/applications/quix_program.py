"""An application of Quix Streams for the benchmarks. It runs in an environment of its own, until it is killed."""

import json
import os
from datetime import timedelta

from quixstreams import Application  # type: ignore[import-not-found]
from works import JOB_VARIABLE, MAP, WINDOW_S  # type: ignore[import-not-found]


def main() -> None:
    job = json.loads(os.environ[JOB_VARIABLE])
    app = Application(
        broker_address=job["servers"],
        consumer_group=job["group"],
        auto_offset_reset="earliest",
        commit_interval=job["commit_ms"] / 1000,
        state_dir=job["directory"],
        loglevel="WARNING",
        processing_guarantee="exactly-once" if job["guarantee"] == "exactly_once_v2" else "at-least-once",
    )
    source = app.topic(job["source"], key_deserializer="str", value_deserializer="str")
    frame = app.dataframe(source)
    if job["work"] == MAP:
        target = app.topic(job["target"], key_serializer="str", value_serializer="str")
        frame.apply(str.upper).to_topic(target)
    else:
        target = app.topic(job["target"], key_serializer="str", value_serializer="json")
        size = timedelta(seconds=WINDOW_S)
        frame.tumbling_window(size, grace_ms=size).count().current().to_topic(target)
    app.run()


if __name__ == "__main__":
    main()
