"""Measurements: percentiles, steady requests, and the report of a figure and its limit."""

import re
import statistics

from sealpost_e2e import api, processes, require


def percentile(values, part=99):
    """The value that this percentage does not exceed."""
    ordered = sorted(values)
    return ordered[len(ordered) * part // 100]


def report(is_fine, text):
    """Prints a line, marked if it reports a failure. Returns whether it does not."""
    print(text if is_fine else f"FAILED: {text}", flush=True)
    return is_fine


def report_medians(rounds, limits):
    """Prints the medians of the first columns and their limits. Returns whether all reach them."""
    is_fine = True
    for column, (name, limit) in enumerate(limits.items()):
        median = statistics.median(row[column] for row in rounds)
        print(f"{name}, median of {len(rounds)}: {median:.2f}" + (f" (at least {limit})" if limit else ""))
        is_fine &= median >= limit
    return is_fine


def steady_requests(site, url, seconds, *options, clients=8, rate=50, status="200"):
    """Requests at a fixed rate by h2load. Returns durations in seconds; ends the program at another status."""
    log = site.folder / "durations"
    processes.run(
        "h2load", "--h1", "--clients", clients, "--rps", rate, "--duration", seconds, "--log-file", log,
        "-H", f"Authorization: {api.CREDENTIALS}", *options, url,
    )
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    log.unlink()
    if (failed := sum(row[1] != status for row in rows)) or len(rows) < clients * rate * seconds * 0.9:
        raise SystemExit(f"{failed} of {len(rows)} good requests failed")
    return [int(row[2]) / 1e6 for row in rows]


def load_command(url, seconds, connections, threads, *options):
    """wrk's sequential requests on each connection."""
    return ["wrk", "--threads", threads, "--connections", connections, "--duration", f"{seconds}s", "--latency", *options, url]


def steady_load(*load):
    """Runs a load. Returns requests a second and the 99th percentile in milliseconds; a failure ends the program."""
    return read_load(processes.run(*load_command(*load)))


def read_load(output):
    """Parses wrk's output: requests a second, and the 99th percentile in milliseconds."""
    require("Non-2xx" not in output and "Socket errors" not in output, output)
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", output).groups()
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]), float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit])


def bench_rate(cluster, database, script, seconds, clients, threads):
    """Transactions a second of pgbench's clients with a prepared script."""
    output = processes.run(
        *cluster.command("pgbench"), *cluster.address, "--no-vacuum", "-M", "prepared",
        "-c", clients, "-j", threads, "-T", seconds, "-f", script, database, cwd=cluster.folder,
    )
    return float(re.search(r"tps = ([\d.]+)", output)[1])
