"""Full load for a quarter of an hour, in which memory, descriptors, the log and the database's file must not grow.

64 connections post, fetch and list as fast as they are answered, lists as a user with few notifications; each post is pushed to a
simulated provider and expires after half a minute. Beside them strangers come and go, and every ten seconds a SIGHUP has everything
read again. The first third warms up; then the last third is compared with the second. The audit, which is kept for a day at least,
is not counted in the file.
"""

import os
import signal
import statistics
import subprocess
import threading
import time

from sealpost_e2e import api, figures, outbox, processes

CONNECTIONS = 64
# How much more of it the last third may have than the second, and how long the log may get.
DRIFT, LONGEST_LOG = 1.02, 64 << 20
LIFETIME = 30
# wrk's own language. Of ten requests three post, one lists and six fetch.
LOAD = """
local fields, lister, count = {Authorization = "%s"}, {Authorization = "%s"}, 0
local post = '{"Payload":"' .. string.rep("x", 300) .. '","To":["username:alice"],"ExpiresIn":%d}'
function request()
    count = count + 1
    local kind = count %% 10
    if kind < 3 then return wrk.format("POST", "/api/notifications", fields, post) end
    if kind == 3 then return wrk.format("GET", "/api/notifications?limit=20", lister) end
    return wrk.format("GET", "/api/notifications/%d", fields)
end
"""


def add_options(parser):
    parser.add_argument("--minutes", type=float, default=15)


def run(options):
    with outbox.Outbox(options.sealpost, LOG_LEVEL="warning") as site:
        site.simulate()
        site.add_user("ada", "admin")
        site.add_user("bob")
        daemon = site.start_blindly()
        processes.wait_until(lambda: is_ready(site), 60, "the daemon", daemon)
        connection = site.connect()
        id = api.ask(connection, "POST", "/api/register")
        api.ask(connection, "PUT", f"/api/register/{id}", {"Platform": "apns", "Handle": "ab" * 32})
        known = api.post(connection, {"Payload": "known", "To": ["username:alice"]})
        script = site.folder / "load.lua"
        for number in range(20):
            api.post(connection, {"Payload": f"known {number}", "To": ["username:bob"]})
        tokens = [api.sign_in(connection, name) for name in ("alice", "bob")]
        script.write_text(LOAD % (*tokens, LIFETIME, known))
        samples, output = load(site, daemon, script, options.minutes * 60)
        audit, answers = bytes_of_audit_row(site), [line for line in metrics(site) if "requests_total{" in line]
        code = processes.terminate(daemon)[0]
        print(next(line.strip() for line in output.splitlines() if "requests in" in line), flush=True)
        is_fine = judge(samples, audit)
        is_fine &= figures.report("Non-2xx" not in output and "Socket errors" not in output, "each request was answered well")
        is_fine &= figures.report(code == 0, f"exit code {code}")
        if not is_fine:
            print(output, site.log.read_text()[-2000:], *answers, sep="\n")
            raise SystemExit(1)


def is_ready(site):
    try:
        api.ask(site.connect(), "GET", "/readyz")
        return True
    except api.UnexpectedAnswer:
        return False


def load(site, daemon, script, seconds):
    """Samples of each second, and what wrk prints."""
    ends = threading.Event()
    strangers = threading.Thread(target=come_and_go, args=(site, ends))
    wrk = site.start(
        ["wrk", "--threads", "2", "--connections", str(CONNECTIONS), "--duration", f"{seconds:.0f}s", "--script", script,
            f"http://127.0.0.1:{site.port}/"],
        stdout=subprocess.PIPE,
    )
    strangers.start()
    samples = []
    try:
        while wrk.poll() is None:
            if daemon.poll() is not None:
                raise SystemExit(f"the daemon ended with {daemon.returncode}: {site.log.read_text()[-2000:]}")
            samples.append(sample(site, daemon))
            if len(samples) % 10 == 0:
                daemon.send_signal(signal.SIGHUP)
            time.sleep(1)
    finally:
        ends.set()
        strangers.join()
    # The last second may be one of an ended load.
    return samples[:-1], wrk.communicate()[0]


def come_and_go(site, ends):
    """Connections that ask for one thing and end, or ask for nothing."""
    turn = 0
    while not ends.wait(0.02):
        turn += 1
        connection = site.connect()
        if turn % 3:
            api.ask(connection, "GET", "/healthz" if turn % 2 else "/nothing", expected=(200, 404))
        else:
            connection.connect()
        connection.close()


def metrics(site):
    return api.ask(site.connect(), "GET", "/metrics", credentials=api.basic("ada")).splitlines()


def sample(site, daemon):
    """Memory, descriptors, bytes of the log and of the file, and the entries of the audit."""
    database = site.folder / "var/sealpost.db"
    entries = next(line.split()[1] for line in metrics(site) if line.startswith("sealpost_audit_entries_total "))
    return (
        processes.memory(daemon), len(os.listdir(f"/proc/{daemon.pid}/fd")),
        os.stat(f"{database}-wal").st_size, database.stat().st_size, float(entries),
    )


def bytes_of_audit_row(site):
    """What a row of the audit takes in the file, in pages and all."""
    with site.database() as database:
        pages = database.execute("select sum(pgsize) from dbstat where name = 'audit'").fetchone()[0]
        return pages / database.execute("select count(*) from audit").fetchone()[0]


def judge(samples, audit):
    """Prints what the last third has, beside the second. Whether all of it is within its bounds."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[-third:]
    is_fine = True
    for name, unit, value in (
        ("resident memory", 1 << 20, lambda sample: sample[0]),
        ("descriptors", 1, lambda sample: sample[1]),
        ("file without the audit", 1 << 20, lambda sample: sample[3] - sample[4] * audit),
    ):
        before, after = (statistics.fmean(map(value, part)) / unit for part in (middle, last))
        ratio = after / before
        is_fine &= figures.report(
            ratio <= DRIFT, f"{name}: {before:.1f}, then {after:.1f}; last third / second third {ratio:.3f} (at most {DRIFT})"
        )
    longest = max(sample[2] for sample in samples)
    text = f"the log: at most {longest / (1 << 20):.1f} MiB (at most {LONGEST_LOG >> 20})"
    return figures.report(longest <= LONGEST_LOG, text) and is_fine
