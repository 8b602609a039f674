"""Instructions of a fetch under callgrind, as a ratio to the executable of another version.

Each executable serves one connection: GET /api/notifications/{id} with a Bearer token (200), first for different notifications,
then for the same one, as phones do after a broadcast. callgrind counts the instructions, allocations and retains of all threads.
These numbers hardly depend on the machine. The bench fails above the limits. Two servers answer 4,000 fetches each.
"""

import pathlib
import re
import tempfile

from sealpost_e2e import api, processes, require, rig
from sealpost_e2e.benches import bench_fetches

LIMIT = 1.02
# Of one fetch. Measured 12.0 and 73.0; fetches of the same notification: 11.1 and 68.1.
MOST_CALLS = {"malloc": 13, "swift_retain": 80}
WARM = 300
COUNT = 2000
NOTIFICATIONS = 200  # More than the cache holds.
OPTIONS = {"--baseline": {"type": pathlib.Path, "help": "the executable of the version to compare with"}}


def run(options):
    now = count(options.sealpost)
    before = None if options.baseline is None else count(options.baseline)
    ratios = []
    for name, (instructions, calls) in now.items():
        told = ", ".join(f"{calls[function]:.1f} calls of {function} (at most {MOST_CALLS[function]})" for function in calls)
        print(f"{name}: {instructions:,.0f} instructions, {told}")
        if before is not None:
            ratios.append(instructions / before[name][0])
            print(f"{name} of the baseline: {before[name][0]:,.0f}; ratio {ratios[-1]:.3f} (at most {LIMIT})")
    require(not any(ratio > LIMIT for ratio in ratios), "a fetch costs more instructions than the limit allows")
    if any(calls[function] > most for _, calls in now.values() for function, most in MOST_CALLS.items()):
        raise SystemExit("a fetch allocates memory or counts references more often than the limit allows")


def count(sealpost):
    """The instructions and calls of one fetch, by kind."""
    with tempfile.TemporaryDirectory(prefix="sealpost-") as folder:
        library, executable = f"{folder}/copied-mask.so", f"{folder}/sealpost"
        processes.run("cc", "-O2", "-shared", "-fPIC", "-o", library, rig.FOLDER / "copied-mask.c")
        # valgrind fails at some debugging sections of the compiler.
        processes.run("objcopy", "--strip-debug", sealpost, executable)
        callgrind = ["env", f"LD_PRELOAD={library}", "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=counts"]
        # A baseline may lack the quota of changes; fetches need none.
        quotas = {name: value for name, value in rig.QUOTAS.items() if not name.endswith("CHANGES")}
        with bench_fetches.Product(executable, wrapper=callgrind, quotas=quotas) as product:
            connection = product.connect()
            text, token = "Your test result is in.", product.token
            ids = [api.post(connection, text, credentials=token) for _ in range(NOTIFICATIONS)]
            return {"a fetch": measure(connection, product, ids), "a fetch of a herd": measure(connection, product, [product.id])}


def measure(connection, product, ids):
    """The instructions and calls of one fetch of these notifications, in turn."""
    fetch(connection, product, ids, max(WARM, len(ids)))
    # The server stores the receipts of the first fetches a little later.
    processes.wait_until_idle(product.daemon, 0.1, 120)
    control(product, "--zero")
    fetch(connection, product, ids, COUNT)
    control(product, "--dump")
    dump = max(product.folder.glob("counts.*"), key=lambda path: path.stat().st_mtime_ns).read_text()
    instructions = int(re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE)[1])
    return instructions / COUNT, {function: calls(dump, function) / COUNT for function in MOST_CALLS}


def calls(dump, function):
    """The number of calls of a function. callgrind writes a name once, and then its number."""
    number = re.search(rf"^c?fn=\((\d+)\) {function}$", dump, re.MULTILINE)
    called = rf"^cfn=\({number[1]}\).*\n(?:cob=.*\n|cf[il]=.*\n)*calls=(\d+)" if number else "$^"
    return sum(map(int, re.findall(called, dump, re.MULTILINE)))


def fetch(connection, product, ids, times):
    for number in range(times):
        api.ask(connection, "GET", f"/api/notifications/{ids[number % len(ids)]}", credentials=product.token)


def control(product, action):
    processes.run("callgrind_control", action, product.daemon.pid)
