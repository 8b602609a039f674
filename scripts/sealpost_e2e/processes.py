"""Processes: what they say, what they use, and waiting for them."""

import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import time


def begin_as_root(*options):
    """Starts the program again by `sudo`, with those options, if it does not run as root. One that is ended from outside cleans up."""
    if os.geteuid() != 0:
        os.execvp("sudo", ["sudo", *options, sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))


def run(*command, **options):
    """Runs a command to its end. What it prints; ends the program if it fails."""
    done = subprocess.run(list(map(str, command)), **{"capture_output": True, "text": True} | options)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def wait_for_line(process, text):
    """Reads standard error up to the line that contains `text`; ends the program if that never comes."""
    read = []
    for line in process.stderr:
        read.append(line)
        if text in line:
            return line
    raise SystemExit(f"{process.args[0]} ended: {''.join(read)}")


def wait_until(condition, seconds, what, process=None, pause=0.02):
    """Waits until a condition holds; ends the program if it does not in time, or if `process` ends before."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process and process.poll() is not None:
            raise SystemExit(f"the daemon ended with {process.returncode} before {what}")
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not come within {seconds} s")
        time.sleep(pause)


def terminate(process):
    """SIGTERM. The exit code, and the rest of what the process says."""
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    return process.returncode, rest


def processor_time(process):
    """Seconds that a process's threads have run for, also those that have ended."""
    # The process's clock, as clock_getcpuclockid(3) makes its number.
    return time.clock_gettime(~process.pid << 3 | 2)


def wait_until_idle(process, most, seconds):
    """Waits for a second in which a process uses at most `most` seconds of processor time."""
    def is_idle():
        before = processor_time(process)
        time.sleep(1)
        return processor_time(process) - before <= most

    wait_until(is_idle, seconds, "the daemon's rest", process, pause=0)


def memory(process, field="VmRSS"):
    """Bytes of memory: resident, or the most that ever were (`VmHWM`)."""
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"no {field}")


def free_port():
    """A port that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def listens(port):
    """Whether something takes connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def sockets(port):
    """The kernel's rows of TCP sockets that are bound to a port: state, bytes to send, bytes to be read."""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if local.endswith(f":{port:04X}"):
            to_send, to_read = queues.split(":")
            yield state, int(to_send, 16), int(to_read, 16)


def raise_descriptor_limit():
    """As many descriptors as the machine allows, for thousands of connections."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
