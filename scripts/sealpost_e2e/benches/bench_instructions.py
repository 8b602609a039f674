"""How many instructions a fetch takes, under callgrind, and as a ratio to the executable of another version.

Each executable serves one connection of its own database: GET /api/notifications/{id} with a Bearer token (200). callgrind counts
the instructions of all threads from the first counted fetch to the last. Unlike seconds, the number hardly depends on the
machine. Fails above the limit. Bounded: two servers, one after the other, with 2,000 fetches each.
"""

import pathlib
import re
import tempfile

from sealpost_e2e import api, processes, rig
from sealpost_e2e.benches import bench_fetches

LIMIT = 1.02
WARM = 300
COUNT = 2000


def add_options(parser):
    parser.add_argument("--baseline", type=pathlib.Path, help="the executable of the version to compare with")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"the largest ratio to the baseline ({LIMIT})")


def run(options):
    now = count(options.sealpost)
    print(f"a fetch: {now:,.0f} instructions")
    if options.baseline is None:
        return
    before = count(options.baseline)
    ratio = now / before
    print(f"a fetch of the baseline: {before:,.0f}; ratio {ratio:.3f} (at most {options.limit})")
    if ratio > options.limit:
        raise SystemExit("a fetch costs more instructions than the limit allows")


def count(sealpost):
    """The instructions of one fetch."""
    with tempfile.TemporaryDirectory(prefix="sealpost-") as folder:
        library, executable = f"{folder}/copied-mask.so", f"{folder}/sealpost"
        processes.run("cc", "-O2", "-shared", "-fPIC", "-o", library, rig.FOLDER / "copied-mask.c")
        # valgrind gives up at some of the compiler's debugging sections.
        processes.run("strip", "-o", executable, sealpost)
        callgrind = ["env", f"LD_PRELOAD={library}", "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=counts"]
        # Fetches are no changes, whose quota a baseline may not know.
        quotas = {name: value for name, value in rig.QUOTAS.items() if not name.endswith("CHANGES")}
        with bench_fetches.Product(executable, wrapper=callgrind, quotas=quotas) as product:
            connection = product.connect()
            fetch(connection, product, WARM)
            control(product, "--zero")
            fetch(connection, product, COUNT)
            control(product, "--dump")
            connection.close()
            (dump,) = product.folder.glob("counts.*")
            return int(re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.MULTILINE)[1]) / COUNT


def fetch(connection, product, times):
    for _ in range(times):
        api.ask(connection, "GET", f"/api/notifications/{product.id}", credentials=product.token)


def control(product, action):
    processes.run("callgrind_control", action, product.daemon.pid)
