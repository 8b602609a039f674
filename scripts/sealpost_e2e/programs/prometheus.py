"""Tests that each alert of config/alerts.yml fires at its fault and clears, with a real Prometheus.

promtool must accept the rules, their unit tests and the daemon's metrics, and Prometheus must evaluate each rule and each expression
of config/grafana.json. No alert may fire at first. Then the program causes faults of daemons with SQLite and of two with PostgreSQL:
each alert must fire, and clear. A stand-in for the daemon changes the metrics of faults that would take too long. The copies of
the rules have shorter durations. With `--blind` the copy lacks an alert; then the program must fail. It needs the right to mount.
"""

from sealpost_e2e import processes, require
from sealpost_e2e.alerts import cluster, delivery, server, storage, watch

TROUBLE = {"server": server, "delivery": delivery, "cluster": cluster, "storage": storage}
OPTIONS = {
    "--blind": "the control: must fail",
    "--only": {"choices": TROUBLE, "action": "append", "help": "only this kind of fault; may be repeated"},
}


def run(options):
    # Each kind causes its faults, and returns the alerts that have fired and cleared.
    for command in (["check", "rules", watch.CONFIG / "alerts.yml"], ["test", "rules", watch.CONFIG / "alerts-test.yml"]):
        processes.run("promtool", *command)
    left_out = ["SealpostLanePaused"] if options.blind else []
    fired = []
    for name in options.only or TROUBLE:
        seen = TROUBLE[name].run(options, left_out)
        print(f"{name}, fired and cleared: {', '.join(dict.fromkeys(seen))}", flush=True)
        fired += seen
    missing = [name for name in watch.names() if name not in fired]
    print(f"{len(set(fired))} of {len(watch.names())} alerts have fired and cleared")
    require(not missing or options.only, f"not seen: {', '.join(missing)}")
