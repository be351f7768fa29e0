"""The worker of `journaled_worker` in several processes that it starts and watches itself.

`python -m tests.support.workers.supervised_worker PROCESSES`, with the settings in an environment variable, as each
process imports this module.
"""

import os
import sys

from tests.support.workers.journaled_worker import SETTINGS_VARIABLE, JournaledSettings, begin_log, worker_of

__all__ = ["worker"]

worker = worker_of(JournaledSettings.of(os.environ[SETTINGS_VARIABLE]))

if __name__ == "__main__":
    begin_log()
    worker.run(processes=int(sys.argv[1]))
