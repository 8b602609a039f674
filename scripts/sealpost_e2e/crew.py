"""Threads: works that are done at once, and works that go on until they are told to stop."""

import threading


def together(work, values):
    """Does a work with each value, in a thread of its own. Raises what the first failure has raised."""
    failures = []

    def guarded(value):
        try:
            work(value)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(value,), daemon=True) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


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
