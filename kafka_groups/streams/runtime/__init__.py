"""The runtime of an application: workers that read, process, restore and commit the tasks of their members."""
