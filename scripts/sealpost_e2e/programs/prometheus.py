"""Tests that each alert of config/alerts.yml fires at its fault and clears, with a real Prometheus.

First promtool must accept the rules, their unit tests, config/prometheus.yml and the daemon's metrics, and Prometheus must
evaluate each rule and each expression of config/grafana.json. No alert may fire at first. Then the program causes faults, one after
the other, of daemons with SQLite and of two with PostgreSQL: each alert must fire, and clear after the fault. Two faults would
need half a million receipts and a day: there a stand-in for the daemon changes a metric.

Prometheus has copies of the files with addresses of this machine. There all durations of the rules, and their ages in minutes, are
sixty times shorter, and at most half a minute.

With `--blind` the copy lacks the alert about paused lanes; then the program must fail. It needs the right to mount.
"""

from sealpost_e2e import processes, require
from sealpost_e2e.alerts import cluster, delivery, server, storage, watch

TROUBLE = {"server": server, "delivery": delivery, "cluster": cluster, "storage": storage}
OPTIONS = {
    "--blind": "the control: must fail",
    "--only": {"choices": TROUBLE, "action": "append", "help": "only this kind of fault; may be repeated"},
}


def run(options):
    print(check_files(), flush=True)
    left_out = ["SealpostLanePaused"] if options.blind else []
    fired = []
    for name in options.only or TROUBLE:
        seen = TROUBLE[name].run(options, left_out)
        print(f"{name}, fired and cleared: {', '.join(dict.fromkeys(seen))}", flush=True)
        fired += seen
    missing = [name for name in watch.names() if name not in fired]
    print(f"{len(set(fired))} of {len(watch.names())} alerts have fired and cleared")
    require(not missing or options.only, f"not seen: {', '.join(missing)}")


def check_files():
    for command in (["check", "rules", watch.CONFIG / "alerts.yml"], ["test", "rules", watch.CONFIG / "alerts-test.yml"]):
        processes.run("promtool", *command)
    return f"promtool has checked and tested {len(watch.names())} alerts"
