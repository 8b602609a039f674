"""Faults of one daemon with SQLite: of its process, certificates, log and clients."""

import datetime
import os
import pathlib
import resource
import select
import signal
import socket
import threading
import time

from sealpost_e2e import api, outbox, processes, require
from sealpost_e2e.alerts import watch as watching

MOST_CONNECTIONS = 200
SIGN_INS = 400  # Parallel sign-ins, each from its own address: more than the queue for hashing holds.
REQUESTS = 6000  # Requests whose log lines overflow the pipe and the queue of the log.
CLIENT_AUTHORITY = """
[ca]
default_ca = own
[own]
database = {folder}/index
default_md = sha256
"""


def run(options, left_out):
    settings = {"SERVER_LIMITS_MAXCONNECTIONSPERADDRESS": MOST_CONNECTIONS}
    with outbox.Outbox(options.sealpost, **settings) as site:
        site.add_user("ada", "admin")
        site.simulate()
        with watching.Watch(site, [site.port], left_out) as watch:
            daemon, _ = site.serve()
            watching.watch_quiet_daemons(site, watch)
            guess_passwords(site, watch)
            sign_in_often(site, watch)
            open_connections(site, watch)
            use_descriptors(site, watch, daemon)
            daemon = restart_often(site, watch, daemon)
            daemon = kill(site, watch, daemon)
            daemon = stop_reading_log(site, watch, daemon)
            forget_target(watch)
        fired = watch.fired
    return fired + revoke(options, left_out)


def guess_passwords(site, watch):
    def guess():
        for number in range(5):
            api.ask(site.connect(), "GET", "/api/register", credentials=api.basic("alice", f"wrong {number}"), expected=[401, 429])

    watch.await_both("SealpostSignInsThrottled", meanwhile=guess)


def sign_in_often(site, watch):
    """Signs in many names from many addresses at the same time."""
    opened = []
    for number in range(SIGN_INS):
        source = f"127.1.{number // 250}.{number % 250 + 1}"
        opened.append(socket.create_connection(("127.0.0.1", site.port), source_address=(source, 0)))
    for number, one in enumerate(opened):
        credentials = api.basic(f"nobody-{number}")
        one.sendall(f"GET /api/register HTTP/1.1\r\nHost: h\r\nAuthorization: {credentials}\r\n\r\n".encode())
    require(is_any_refused(opened), "all sign-ins were hashed")
    watch.await_firing("SealpostSignInsBusy")
    for one in opened:
        one.close()
    watch.await_clear("SealpostSignInsBusy")


def is_any_refused(opened):
    """Whether the server answers a connection that it is busy."""
    waiting = set(opened)
    while ready := waiting and select.select(waiting, [], [], 60)[0]:
        if any(one.recv(4096).startswith(b"HTTP/1.1 503 ") for one in ready):
            return True
        waiting.difference_update(ready)
    return False


def open_connections(site, watch):
    opened = connect(site, MOST_CONNECTIONS + 20)
    processes.wait_until(lambda: select.select(opened, [], [], 0)[0], 30, "a refused connection", watch.process)
    for one in opened:
        one.close()
    watch.await_both("SealpostConnectionsRefused")


def connect(site, count):
    return [socket.create_connection(("127.0.0.1", site.port)) for _ in range(count)]


def use_descriptors(site, watch, daemon):
    """Connections use nearly all descriptors of the process."""
    opened = connect(site, MOST_CONNECTIONS - 20)
    usual = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    processes.wait_until(lambda: descriptors(daemon) > len(opened), 30, "the connections", daemon)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (descriptors(daemon) + 10, usual[1]))
    watch.await_firing("SealpostDescriptorsShort")
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, usual)
    watch.await_clear("SealpostDescriptorsShort")
    for one in opened:
        one.close()


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


def restart_often(site, watch, daemon):
    def restart():
        nonlocal daemon
        processes.terminate(daemon)
        daemon, started = site.serve()
        began = int(time.time() - (time.monotonic() - started))
        is_seen = lambda: (watch.value("sealpost_start_time_seconds") or 0) >= began
        processes.wait_until(is_seen, 30, "a scrape of the new process", daemon)

    watch.await_both("SealpostRestarting", meanwhile=restart)
    return daemon


def kill(site, watch, daemon):
    """The daemon dies. The next one has a secret that expires soon; the one after it has not."""
    processes.kill(daemon)
    watch.await_firing("SealpostDown", severity="critical")
    text = site.configuration.read_text()
    day = datetime.date.today() + datetime.timedelta(days=2)
    site.configuration.write_text(text.replace("type: wns,", f"type: wns, clientSecretExpires: {day},"))
    daemon, _ = site.serve()
    watch.await_clear("SealpostDown")
    names = ("SealpostCredentialExpiresIn14Days", "SealpostCredentialExpiresIn3Days")
    for name in names:
        watch.await_firing(name, credential="senders.wns.clientSecretFile")
    processes.terminate(daemon)
    site.configuration.write_text(text)
    daemon, _ = site.serve()
    watch.await_clear(*names)
    return daemon


def stop_reading_log(site, watch, daemon):
    """Nobody reads the pipe of the log for a while."""
    processes.terminate(daemon)
    site.environment["SEALPOST_LOG_LEVEL"] = "debug"
    daemon = site.start_daemon()
    del site.environment["SEALPOST_LOG_LEVEL"]
    connection = site.connect()
    for _ in range(REQUESTS):
        api.ask(connection, "GET", "/healthz")
    watch.await_firing("SealpostLogLinesDropped")
    reader = threading.Thread(target=daemon.stderr.read)
    reader.start()
    watch.await_clear("SealpostLogLinesDropped")
    daemon.terminate()
    daemon.wait(timeout=60)
    reader.join()
    return site.serve()[0]


def forget_target(watch):
    watch.configure([])
    watch.await_firing("SealpostAbsent")
    watch.configure(watch.targets)
    watch.await_clear("SealpostAbsent")


def revoke(options, left_out):
    """A daemon with TLS gets a revocation list that expires soon, and then one that does not."""
    with outbox.Outbox(options.sealpost) as site:
        site.add_user("ada", "admin")
        certificate, key = site.use_tls()
        write_list(site.folder, certificate, key, hours=3)
        names = {"CLIENTCA": certificate, "CLIENTCRL": site.folder / "list.pem"}
        site.environment |= {f"SEALPOST_SERVER_TLS_{name}": str(path) for name, path in names.items()}
        site.configuration.write_text("{}\n")
        with watching.Watch(site, [site.port], left_out, certificate) as watch:
            daemon, _ = site.serve()
            watch.await_scrape()
            watch.await_firing("SealpostRevocationListExpires")
            write_list(site.folder, certificate, key, hours=72)
            position = site.log.stat().st_size
            daemon.send_signal(signal.SIGHUP)
            processes.wait_until(lambda: b"certificates reloaded" in site.read_log(position), 30, "the reload", daemon)
            watch.await_clear("SealpostRevocationListExpires")
        return watch.fired


def write_list(folder: pathlib.Path, certificate, key, hours):
    (folder / "index").touch()
    (folder / "authority").write_text(CLIENT_AUTHORITY.format(folder=folder))
    processes.run(
        "openssl", "ca", "-gencrl", "-config", folder / "authority", "-cert", certificate, "-keyfile", key,
        "-crlhours", hours, "-out", folder / "list.pem",
    )
