"""Threads: works that are done at once, and works that go on until they are told to stop."""

import concurrent.futures
import threading


def together(work, values):
    """Does a work with each value, all at once. What came of each; raises what the first failure has raised."""
    values = list(values)
    with concurrent.futures.ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(work, values))


class Crew:
    """A thread for each work, which must return soon after `ends` is set. The lock is for what the works share."""

    def __init__(self, *works, ends=None):
        self.lock, self.ends = threading.Lock(), ends or threading.Event()
        self.threads = [threading.Thread(target=work) for work in works]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()
