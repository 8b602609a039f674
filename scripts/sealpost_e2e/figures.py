"""What is measured: percentiles, steady requests, and the line that tells whether a figure is within its bound."""

import re
import statistics

from sealpost_e2e import api, processes


def percentile(values, part=99):
    """The value that so many in a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[len(ordered) * part // 100]


def report(is_fine, text):
    """Prints a line, marked if it tells of a failure. Whether it does not."""
    print(text if is_fine else f"FAILED: {text}", flush=True)
    return is_fine


def report_medians(rounds, limits):
    """Prints the median of each of the first columns beside the least that it may be, by name. Whether none is below."""
    is_fine = True
    for column, (name, limit) in enumerate(limits.items()):
        median = statistics.median(row[column] for row in rounds)
        print(f"{name}, median of {len(rounds)}: {median:.2f} (at least {limit})")
        is_fine &= median >= limit
    return is_fine


def steady_fetches(site, url, seconds, clients=8, rate=50):
    """h2load asks at a fixed rate, by so many clients. The durations in seconds; ends the program if a request fails."""
    log = site.folder / "durations"
    processes.run(
        "h2load", "--h1", "--clients", clients, "--rps", rate, "--duration", seconds, "--log-file", log,
        "-H", f"Authorization: {api.CREDENTIALS}", url,
    )
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    log.unlink()
    if (failed := sum(row[1] != "200" for row in rows)) or len(rows) < clients * rate * seconds * 0.9:
        raise SystemExit(f"{failed} of {len(rows)} good requests failed")
    return [int(row[2]) / 1e6 for row in rows]


def steady_load(url, script, seconds, connections=64, threads=2):
    """wrk runs a script's requests, one after the other on each connection; ends the program if one fails.

    Requests a second, and the milliseconds that 99 of 100 took at most.
    """
    return read_load(processes.run(
        "wrk", "--threads", threads, "--connections", connections, "--duration", f"{seconds}s", "--latency", "--script", script, url
    ))


def read_load(output):
    """What wrk has printed: requests a second, and the milliseconds that 99 of 100 took at most."""
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(output)
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", output).groups()
    return (
        float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]),
        float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit],
    )


def bench_rate(cluster, database, script, seconds, clients, threads):
    """Transactions a second of so many clients of pgbench, which run a script's statements, prepared."""
    output = processes.run(
        *cluster.command("pgbench"), *cluster.address, "--no-vacuum", "-M", "prepared",
        "-c", clients, "-j", threads, "-T", seconds, "-f", script, database, cwd=cluster.folder,
    )
    return float(re.search(r"tps = ([\d.]+)", output)[1])
