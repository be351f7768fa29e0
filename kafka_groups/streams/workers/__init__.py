"""The workers of an application, in threads and processes: how they are started, watched, replaced and stopped."""
