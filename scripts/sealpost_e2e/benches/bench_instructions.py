"""How many instructions a fetch takes, under callgrind, and as a ratio to the executable of another version.

Each executable serves one connection of its own database: GET /api/notifications/{id} with a Bearer token (200), each time of
another notification, and then each time of the same, as phones do after a broadcast. callgrind counts the instructions of all
threads from the first counted fetch to the last, and how often memory was allocated and a reference counted. Unlike seconds,
these numbers hardly depend on the machine. Fails above the limits. Bounded: two servers, one after the other, with 4,000 fetches each.
"""

import pathlib
import re
import tempfile

from sealpost_e2e import api, processes, rig
from sealpost_e2e.benches import bench_fetches

LIMIT = 1.02
# In one fetch, so that they do not grow unnoticed; measured 15.2 and 106.5, and of a herd 14.2 and 103.5.
MOST_CALLS = {"malloc": 16, "swift_retain": 110}
WARM = 300
COUNT = 2000
# So many different ones that none is still there when it is fetched again.
NOTIFICATIONS = 200


def add_options(parser):
    parser.add_argument("--baseline", type=pathlib.Path, help="the executable of the version to compare with")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"the largest ratio to the baseline ({LIMIT})")


def run(options):
    now = count(options.sealpost)
    before = None if options.baseline is None else count(options.baseline)
    ratios = []
    for name, (instructions, calls) in now.items():
        told = ", ".join(f"{calls[function]:.1f} calls of {function} (at most {MOST_CALLS[function]})" for function in calls)
        print(f"{name}: {instructions:,.0f} instructions, {told}")
        if before is not None:
            ratios.append(instructions / before[name][0])
            print(f"{name} of the baseline: {before[name][0]:,.0f}; ratio {ratios[-1]:.3f} (at most {options.limit})")
    if any(ratio > options.limit for ratio in ratios):
        raise SystemExit("a fetch costs more instructions than the limit allows")
    if any(calls[function] > most for _, calls in now.values() for function, most in MOST_CALLS.items()):
        raise SystemExit("a fetch allocates memory or counts references more often than the limit allows")


def count(sealpost):
    """The instructions and calls of one fetch, by kind."""
    with tempfile.TemporaryDirectory(prefix="sealpost-") as folder:
        library, executable = f"{folder}/copied-mask.so", f"{folder}/sealpost"
        processes.run("cc", "-O2", "-shared", "-fPIC", "-o", library, rig.FOLDER / "copied-mask.c")
        # valgrind gives up at some of the compiler's debugging sections.
        processes.run("objcopy", "--strip-debug", sealpost, executable)
        callgrind = ["env", f"LD_PRELOAD={library}", "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=counts"]
        # Fetches are no changes, whose quota a baseline may not know.
        quotas = {name: value for name, value in rig.QUOTAS.items() if not name.endswith("CHANGES")}
        with bench_fetches.Product(executable, wrapper=callgrind, quotas=quotas) as product:
            connection = product.connect()
            text, token = "Your test result is in.", product.token
            ids = [api.post(connection, text, credentials=token) for _ in range(NOTIFICATIONS)]
            return {
                "a fetch": measure(connection, product, ids),
                "a fetch of a herd": measure(connection, product, [product.id]),
            }


def measure(connection, product, ids):
    """The instructions and calls of one fetch of these notifications, in turn."""
    fetch(connection, product, ids, max(WARM, len(ids)))
    # The receipts of the first fetches are stored a little later.
    processes.wait_until_idle(product.daemon, 0.1, 120)
    control(product, "--zero")
    fetch(connection, product, ids, COUNT)
    control(product, "--dump")
    dump = max(product.folder.glob("counts.*"), key=lambda path: path.stat().st_mtime_ns).read_text()
    instructions = int(re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE)[1])
    return instructions / COUNT, {function: calls(dump, function) / COUNT for function in MOST_CALLS}


def calls(dump, function):
    """How often a function was called. A name is spelled out once, and then told by its number."""
    number = re.search(rf"^c?fn=\((\d+)\) {function}$", dump, re.MULTILINE)
    called = rf"^cfn=\({number[1]}\).*\n(?:cob=.*\n|cf[il]=.*\n)*calls=(\d+)" if number else "$^"
    return sum(map(int, re.findall(called, dump, re.MULTILINE)))


def fetch(connection, product, ids, times):
    for number in range(times):
        api.ask(connection, "GET", f"/api/notifications/{ids[number % len(ids)]}", credentials=product.token)


def control(product, action):
    processes.run("callgrind_control", action, product.daemon.pid)
