"""Makes hostile users' moves in sequence, and measures their effect on everybody else.

The daemon has its default limits and all kinds of senders, in its own network with simulated providers and hostile hosts. A
publisher posts to honest users on each lane, a user fetches, and /readyz is requested. Meanwhile a new account with the least
rights makes each move for some seconds. Honest pushes must arrive within a second, no honest request may fail, and the answers are
those of the table in `insiders/moves`. Quiet windows, and a page flushed to the same disk, show the machine's own delays. A move
with a late push fails after --tries late ones: a move's effect recurs, a busy disk's seldom does.

--write-table writes the table into docs/evidence/insiders.md, and keeps its column about an earlier version.
"""

import multiprocessing
import pathlib
import sys
import time

from sealpost_e2e import api, processes, require
from sealpost_e2e.insiders import insider as insiders
from sealpost_e2e.insiders import network, table, watch
from sealpost_e2e.insiders.moves import ALL
from sealpost_e2e.insiders.site import CROWD, Site

LATEST = 1
QUIET = 6
EVERY = 12  # The number of moves between quiet windows.
SHORTEST, LONGEST = 3, 90  # The least seconds of a window, and the timeout of a move.
OPTIONS = {
    "--inside": "run inside the private network",
    "--only": ("", "moves by their names, separated by commas; `list` prints them"),
    "--crowd": (CROWD, "devices of the broadcasts"), "--tries": (3, "tries of a move with a late push"),
    "--write-table": {"type": pathlib.Path, "help": "docs/evidence/insiders.md, whose table is replaced"},
}


def run(options):
    if options.only == "list":
        print("\n".join(f"{move.name:28}{move.title}" for move in ALL))
        return
    network.enter("insiders", sys.argv[3:])
    processes.raise_descriptor_limit()
    names = options.only.split(",") if options.only else [move.name for move in ALL]
    moves = [move for move in ALL if move.name in names]
    require(len(moves) == len(names), "there is no such move; --only list prints all")
    with Site(options.sealpost, options.crowd) as site:
        daemon, _ = site.serve()
        site.create_honest_users()
        codes = []
        site.fetched = site.send("alice", {"Payload": "for the fetches"})
        results, quiet = [], [look(site)]
        for number, move in enumerate(moves):
            for attempt in range(options.tries):
                result = make(site, move, number, attempt, daemon)
                if result["worst"] <= LATEST:
                    break
                # A lane may stay paused for an hour, which would disturb later moves.
                codes.append(processes.terminate(daemon)[0])
                daemon, _ = site.serve()
                processes.wait_until(site.is_reached, 120, "the pushes that were late", daemon, pause=0.2)
            results.append(result)
            if number % EVERY == EVERY - 1:
                quiet.append(look(site))
        quiet.append(look(site))
        codes.append(processes.terminate(daemon)[0])
        errors = site.log.read_text().count("level=error")
    finish(options, results, quiet, codes, errors)


def look(site):
    """A window without a move."""
    window = watch.Window(site)
    time.sleep(QUIET)
    verdict = window.end()
    print(f"quiet: worst push {verdict.worst * 1000:.0f} ms ({watch.summary(verdict)}); slowest fetch "
          f"{verdict.slowest_fetch * 1000:.0f} ms, flush {verdict.slowest_flush * 1000:.0f} ms", flush=True)
    return table.measured(verdict)


def make(site, move, number, attempt, daemon):
    """Makes a move. Returns its row of the table."""
    name = f"mallory-{number + 1}-{attempt + 1}"
    # A write may wait during the deletion of the previous account.
    insider = insiders.Insider(site, name, site.make_user(name, move.role), number * 3 + attempt, move.role)
    window, start = watch.Window(site), time.monotonic()
    pipe, other = multiprocessing.Pipe()
    process = multiprocessing.Process(target=insiders.play, args=(move, insider, other), daemon=True)
    process.start()
    if pipe.poll(LONGEST):
        answers, harms, failure = pipe.recv()
    else:
        answers, harms, failure = {}, [], f"not over after {LONGEST} s"
    process.kill()
    process.join()
    seconds = time.monotonic() - start
    api.ask(site.connect(), "DELETE", f"/api/users/{name}", credentials=site.admin)
    time.sleep(max(0.5, start + SHORTEST - time.monotonic()))
    verdict = window.end()
    if daemon.poll() is not None:
        raise SystemExit(f"the daemon ended with {daemon.returncode} at \"{move.title}\": {site.log.read_text()[-2000:]}")
    result = table.result(move, answers, verdict, seconds, harms, failure, LATEST) | {"tries": attempt + 1}
    print(table.line(number + 1, result) + f" [{watch.summary(verdict)}]", flush=True)
    return result


def finish(options, results, quiet, codes, errors):
    if options.write_table:
        table.write(options.write_table, results, quiet)
    bad = [result for result in results if result["faults"]]
    worst = max((result["worst"] for result in results), default=0)
    print(
        f"{len(results)} moves, {len(bad)} with faults; the latest push of anybody else {worst * 1000:.0f} ms (at most "
        f"{LATEST * 1000}), in quiet windows {max(window['worst'] for window in quiet) * 1000:.0f} ms; the daemon ended with "
        f"{max(codes)}, {errors} errors in its log"
    )
    require(not bad and not any(codes) and not errors)
