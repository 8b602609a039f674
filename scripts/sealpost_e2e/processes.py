"""Processes: their output, their resources, and waiting for them."""

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from sealpost_e2e import require


def begin_as_root(*options):
    """Restarts the program by `sudo` with these options unless it is root. SIGTERM still cleans up."""
    if os.geteuid() != 0:
        os.execvp("sudo", ["sudo", *options, sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))


def run(*command, **options):
    """Runs a command. Returns its output; ends the program if it fails."""
    done = subprocess.run(list(map(str, command)), **{"capture_output": True, "text": True} | options)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def give_to_server(folder):
    """Gives a folder to the user of a PostgreSQL, which refuses to run as root."""
    shutil.chown(folder, *(("postgres", "postgres") if os.getuid() == 0 else (os.getuid(), os.getgid())))
    folder.chmod(0o755)


def wait_for_line(process, text):
    """Reads standard error up to the line that contains `text`; ends the program if it is missing."""
    read = []
    for line in process.stderr:
        read.append(line)
        if text in line:
            return line
    raise SystemExit(f"{process.args[0]} ended: {''.join(read)}")


def drain(process):
    """Reads a process's errors, which would otherwise fill the pipe and block it."""
    threading.Thread(target=process.stderr.read, daemon=True).start()


def wait_until(condition, seconds, what, process=None, pause=0.02):
    """Waits until a condition holds; ends the program at a timeout or at the end of `process`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process and process.poll() is not None:
            raise SystemExit(f"the daemon ended with {process.returncode} before {what}")
        require(time.monotonic() <= deadline, f"{what} did not come within {seconds} s")
        time.sleep(pause)


def terminate(process):
    """Sends SIGTERM. Returns the exit code and the remaining output."""
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    return process.returncode, rest


def end(process, seconds=30):
    """Ends a process by SIGTERM, and by SIGKILL after some seconds."""
    process.terminate()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill(process)


def kill(process):
    """Kills a process, if there is one, and waits for its end."""
    if process and process.poll() is None:
        process.kill()
        process.wait()


def make_profile():
    """A browser's temporary folder: its holder and its path."""
    holder = tempfile.TemporaryDirectory(prefix="sealpost-browser-", ignore_cleanup_errors=True)
    return holder, pathlib.Path(holder.name)


def processor_time(process):
    """CPU seconds of a process's threads, including ended ones."""
    # The process's clock: clock_getcpuclockid(3) makes its number like this.
    return time.clock_gettime(~process.pid << 3 | 2)


def wait_until_idle(process, most, seconds):
    """Waits until a process uses at most `most` CPU seconds in a second."""
    def is_idle():
        before = processor_time(process)
        time.sleep(1)
        return processor_time(process) - before <= most

    wait_until(is_idle, seconds, "the daemon's rest", process, pause=0)


def memory(process, field="VmRSS"):
    """Bytes of memory: resident, or the peak (`VmHWM`)."""
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"no {field}")


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def listens(port):
    """Whether a server accepts connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def sockets(port):
    """The kernel's rows of TCP sockets bound to a port: state, bytes to send, bytes to read."""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if local.endswith(f":{port:04X}"):
            to_send, to_read = queues.split(":")
            yield state, int(to_send, 16), int(to_read, 16)


def raise_descriptor_limit():
    """Raises the descriptor limit to the machine's maximum, for thousands of connections."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
