"""A real Prometheus scrapes the daemon with a token; each alert of config/alerts.yml fires when something breaks, and clears.

First promtool must find nothing to say about the rules, their unit tests, config/prometheus.yml and the daemon's metrics, and
Prometheus must be able to evaluate each rule and each expression of config/grafana.json. While all is well none may fire. Then
trouble is made, one kind after the other, for daemons with SQLite and for two with PostgreSQL: each alert must fire, and clear
when the trouble is over. An alert of the file that was not seen to do both fails the program.

Two take half a million receipts and a day: for these a stand-in before the daemon changes one value of its metrics on the way.

Prometheus has copies of the files with addresses of this machine. All durations of the rules, and the ages in minutes that they
name, are sixty times shorter there, and none is longer than half a minute.

With `--blind` the alert about paused lanes is left out of the copy: then the script must fail. It needs the right to mount.
"""

from sealpost_e2e import processes
from sealpost_e2e.alerts import cluster, delivery, server, storage, watch

TROUBLE = {"server": server, "delivery": delivery, "cluster": cluster, "storage": storage}


def add_options(parser):
    parser.add_argument("--blind", action="store_true", help="the control: must fail")
    parser.add_argument("--only", choices=TROUBLE, action="append", help="trouble of one kind; again for another")


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
    if missing and not options.only:
        raise SystemExit(f"not seen: {', '.join(missing)}")


def check_files():
    for command in (["check", "rules", watch.CONFIG / "alerts.yml"], ["test", "rules", watch.CONFIG / "alerts-test.yml"]):
        processes.run("promtool", *command)
    return f"promtool has checked and tested {len(watch.names())} alerts"
