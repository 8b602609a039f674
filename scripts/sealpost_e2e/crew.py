"""Threads: parallel jobs, and jobs that run until they are stopped."""

import concurrent.futures
import contextlib
import threading


def together(work, values, threads=None):
    """Calls a function with each value in parallel. Returns the results, or raises the first failure."""
    values = list(values)
    with concurrent.futures.ThreadPoolExecutor(threads or len(values)) as pool:
        return list(pool.map(work, values))


class Crew(contextlib.AbstractContextManager):
    """A thread for each job, which must return soon after `ends` is set. The lock is for shared values."""

    def __init__(self, *works, ends=None):
        self.lock, self.ends = threading.Lock(), ends or threading.Event()
        self.threads = [threading.Thread(target=work) for work in works]
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()
