"""The results of the moves: their faults, their lines, and the table in docs/evidence/insiders.md."""

import re

BEGIN, END = "<!-- moves: written by scripts/e2e run insiders --write-table -->", "<!-- end of the moves -->"


def measured(verdict):
    return {
        "worst": verdict.worst, "lane": verdict.lane, "posts": verdict.posts, "fetch": verdict.slowest_fetch, "flush": verdict.slowest_flush,
    }


def result(move, answers, verdict, seconds, harms, failure, latest):
    """The row of a move, with its faults."""
    late = [lane for lane in verdict.latencies if verdict.of(lane) > latest and lane not in verdict.missing]
    found = {
        "pushes of others had not arrived after": [f"{lane} {verdict.of(lane):.0f} s" for lane in verdict.missing],
        "pushes of others were late:": [f"{lane} {verdict.of(lane):.1f} s" for lane in late],
        "/readyz": sorted(set(map(str, verdict.unready))), "posts of others refused:": sorted(set(map(str, verdict.refused))),
        "fetches of others failed:": sorted(set(map(str, verdict.failed_fetches))),
    }
    faults = [*harms, *([failure] if failure else move.misses(answers)), *(f"{text} {', '.join(what)}" for text, what in found.items() if what)]
    about = {"title": move.title, "tried": move.tried, "role": move.role}
    return about | measured(verdict) | {"answers": answers, "seconds": seconds, "faults": faults}


def line(number, result):
    told = ", ".join(f"{count} × {answer}" for answer, count in sorted(result["answers"].items()))
    text = f"{number:2} {result['title']}: {told or 'no answers'}; worst push {result['worst'] * 1000:.0f} ms ({result['lane']})"
    text += f", slowest fetch {result['fetch'] * 1000:.0f} ms, flush {result['flush'] * 1000:.0f} ms, in {result['seconds']:.0f} s"
    return f"FAILED: {text}: {'; '.join(result['faults'])}" if result["faults"] else text


def write(path, results, quiet):
    """Replaces the table in the file, and keeps its column about the earlier version."""
    text = path.read_text()
    cells = [row.strip("| ").split(" | ") for row in text[text.index(BEGIN) : text.index(END)].splitlines() if re.match(r"\| \d+ \|", row)]
    kept = {row[1]: row[3].replace("\\|", "|") for row in cells}
    rows = ["| | move | what was tried | before | answers now | latest push of others | verdict |", "|---|---|---|---|---|---|---|"]
    for number, entry in enumerate(results, 1):
        tries = f", at try {entry['tries']}" if entry["tries"] > 1 else ""
        role = "" if entry["role"] == "device" else f" (a {entry['role']})"
        title = entry["title"] + role
        cells = [
            number, title, entry["tried"], kept.get(title, "not measured"),
            answers(entry), f"{entry['worst'] * 1000:.0f} ms ({entry['lane']}){tries}",
            "; ".join(entry["faults"]) or "fine",
        ]
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    worst = max(window["worst"] for window in quiet) * 1000
    rows += ["", f"Between the moves, the slowest of {sum(window['posts'] for window in quiet)} pushes took {worst:.0f} ms."]
    path.write_text(text[: text.index(BEGIN) + len(BEGIN)] + "\n\n" + "\n".join(rows) + "\n\n" + text[text.index(END):])


def answers(entry):
    codes = sorted(entry["answers"], key=lambda answer: (answer == "closed", answer))
    return ", ".join(re.sub(r"^(\d+) ([\w-]+)$", r"\1 `\2`", code) for code in codes) or "none is waited for"
