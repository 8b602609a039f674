"""Pushes a second from the outbox, as ratios to other programs on the same machine.

  product          a daemon with a full outbox: from the first arrival until it has settled all
  libcurl          its multi-socket loop alone: one connection, as many streams, one thread
  AsyncHTTPClient  a task group alone, with as many concurrent requests

All send the same APNs requests to one sink, over HTTP/2 and TLS. Then one POST sends a broadcast to a million devices: the bench
measures its rate, the peak of resident memory, and the latency of single notifications meanwhile.
"""

import json
import pathlib
import statistics
import time

from sealpost_e2e import api, figures, outbox, processes, require, sealing
from sealpost_e2e.sink import STREAMS, Sink

SINGLES = 100  # Users outside the broadcast: one for each notification, as the server delays a device's next push.
OPTIONS = {
    "peers": "the folder with push-sink, push-libcurl and push-asynchttpclient", "--rounds": (5, "rounds"),
    "--pushes": (100_000, "pushes of each program in a round"), "--broadcast": (1_000_000, "devices of the broadcast; 0: none"),
}


def run(options):
    peers = pathlib.Path(options.peers).resolve()
    if options.rounds:
        with outbox.Outbox(options.sealpost) as site:
            compare(site, Sink(site, peers / "push-sink"), peers, options.rounds, options.pushes)
    if options.broadcast:
        with outbox.Outbox(options.sealpost) as site:
            broadcast(site, Sink(site, peers / "push-sink"), options.broadcast)


def compare(site, sink, peers, rounds, pushes):
    with site.database() as database:
        outbox.add_devices(database, "apns", pushes)
    ratios = []
    for number in range(1, rounds + 1):
        product, first, processor = product_round(site, sink, pushes)
        libcurl = peer_round(sink, peers / "push-libcurl", pushes, 1, STREAMS)
        client = peer_round(sink, peers / "push-asynchttpclient", pushes, STREAMS)
        ratios.append((product / libcurl, product / client, product, first))
        print(
            f"round {number}: {product / libcurl:.2f} {product / client:.2f}  (a second: product {product:.0f}, libcurl "
            f"{libcurl:.0f}, AsyncHTTPClient {client:.0f}; first push {first:.2f} s after exec with {pushes} pending; "
            f"{processor * 1e6 / pushes:.0f} µs of processor time a push)", flush=True
        )
    figures.report_medians(ratios, {"product / libcurl": 0, "product / AsyncHTTPClient": 0, "pushes a second from the outbox": 0})
    print(f"first push after a restart with {pushes} pending, slowest of {rounds}: {max(row[3] for row in ratios):.2f} s")


def product_round(site, sink, pushes):
    """Pushes a second, the seconds from exec to the first, and the daemon's CPU time."""
    with site.database() as database:
        # The devices' twenty minutes without a push are over.
        database.execute("delete from device_push")
        outbox.enqueue(database)
        database.execute("pragma wal_checkpoint(truncate)")
    sink.reset()
    daemon, start = site.serve()
    processes.wait_until(lambda: sink.count >= pushes and site.is_settled(), 300, "the end of the outbox", daemon)
    end = time.monotonic()
    processor = processes.processor_time(daemon)
    processes.terminate(daemon)
    tally = site.tally()
    require(sink.count == pushes and tally["accepted"] == tally["enqueued"], f"{sink.count} of {pushes} arrived: {tally}")
    return pushes / (end - sink.first), sink.first - start, processor


def peer_round(sink, program, pushes, *numbers):
    """Pushes a second."""
    sink.reset()
    result = json.loads(processes.run(program, sink.endpoint, sink.authorities, pushes, *numbers))
    require(sink.count == pushes, f"{sink.count} of {pushes} arrived from {program.name}")
    return result["pushes"] / result["seconds"]


def broadcast(site, sink, devices):
    with site.database() as database:
        outbox.add_devices(database, "apns", devices, each_user=2)
        outbox.add_devices(database, "apns", SINGLES, tags=["beta"])
        singles = database.execute(
            "select opened(?, id, name) from account where id in (select user_id from device join device_tag on device = number "
            "where tag = hashed('device tag', 'beta'))", [sealing.NAME]
        ).fetchall()
        database.execute("pragma wal_checkpoint(truncate)")
        database.execute("analyze")
    daemon, _ = site.serve()
    before = processes.memory(daemon, "VmHWM")
    connection = site.connect()
    start = time.monotonic()
    api.post(connection, {"Payload": "news", "To": ["news && !beta"]})
    answered = time.monotonic() - start
    latencies = []
    while singles and sink.count < devices * 0.9:
        latencies.append(single_latency(site, connection, daemon, f"username:{singles.pop()[0]}"))
        time.sleep(0.5)
    site.wait_until_settled(600, "the end of the broadcast", daemon)
    seconds = time.monotonic() - start
    most = processes.memory(daemon, "VmHWM")
    processes.terminate(daemon)
    tally = site.tally()
    meant = devices + len(latencies)
    print(
        f"broadcast to {devices} devices: answered after {answered * 1000:.0f} ms, all sent and written down after "
        f"{seconds:.1f} s, {devices / seconds:.0f} a second; at most {most >> 20} MiB resident, "
        f"{before >> 20} of them before; {len(latencies)} single notifications meanwhile, the slowest accepted "
        f"after {max(latencies) * 1000:.0f} ms, the median {statistics.median(latencies) * 1000:.0f} ms"
    )
    require(tally["accepted"] == meant and sink.count == meant, f"{sink.count} of {meant} arrived: {tally}")


def single_latency(site, connection, daemon, user):
    """Seconds from the post of a notification to its settlement."""
    start = outbox.milliseconds()
    id = api.post(connection, {"Payload": "news", "To": [user]})
    query = "select max(settled_at), count(settled_at) from push where notification_id = ?"
    with site.database() as database:
        ask = lambda: database.execute(query, [id]).fetchone()
        processes.wait_until(lambda: ask()[1] == 1, 60, "a single notification", daemon, pause=0.01)
        return (ask()[0] - start) / 1000
