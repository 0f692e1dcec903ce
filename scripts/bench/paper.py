"""Writes down what a comparison found out."""

import statistics

from . import load, machine, media
from .peers import roster
from .text import milliseconds, table, wrapped

OURS = "deepfaked"
GOOD = 0.9  # of the peak, at twice the capacity
EVEN = 1.25  # times the capacity of one round, which another has at most, where rounds are alike
WHERE = {"cpu": "CPU provider", "cuda": "CUDA provider, in TF32"}


def told(c, facts, took):
    """Everything, for the JSON."""
    return {
        "facts": {**facts, "runtime": f"{c.settings['version']}, {WHERE[c.provider]}", "python": machine.said("/usr/bin/python3", "--version") or machine.said("python3", "--version"),
                  "node": machine.said("node", "--version")},
        "service": {**c.settings, "flags": c.flags}, "seconds": statistics.mean(c.seconds), "together": c.given.together, "minutes": took / 60, "rounds": c.rounds, "slo": load.SLO, "drowned": load.DROWNED, "clients": {w: media.clients(w, c.given.clients) for w in c.workloads},
        "peers": {p.name: {"version": p.version(), "settings": p.settings.format(batch=c.given.batch, queue=c.given.queue, ongoing=2 * c.given.batch), "layout": c.layouts.get(p.name) or c.default, "difference": c.differences.get(p.name)}
                  for p in roster.PEERS if p in c.peers or p.name in c.absent},
        "rows": c.rows, "absent": c.absent, "results": c.results,
    }


def of(rounds, name, figure):
    """One figure of all rounds that have it."""
    return [r[name][figure] for r in rounds if name in r and r[name][figure] is not None]


def ratios(ours, theirs, name, figure, inverse=False):
    """How far the service is ahead in each round, above 1 where it is."""
    out = []
    for a, b in zip(ours, theirs):
        if name in a and name in b and a[name][figure] and b[name][figure]:
            out.append(b[name][figure] / a[name][figure] if inverse else a[name][figure] / b[name][figure])
    return out


def median(values, show):
    """The median, or a dash where there are no values."""
    return show(statistics.median(values)) if values else "–"


def spread(values, show):
    """The median, and from the least to the greatest where there are several."""
    if not values:
        return "–"
    middle = median(values, show)
    return middle if len(values) == 1 else f"{middle} ({show(min(values))} – {show(max(values))})"


def times(value):
    return f"{value:.2f}×"


def goodput(rounds):
    """The goodput at twice the capacity as a share of the peak, in each round."""
    return [r["twice"]["goodput"] / r["capacity"]["throughput"] for r in rounds if "twice" in r]


def head(ours):
    """The columns of a table. The load that all were given is told, in requests a second of each round."""
    shorter = "deepfaked's is shorter"
    same = spread(sorted({round(rate) for rate in of(ours, "same", "rate")}), lambda v: f"{v:.0f}/s")
    return ("server", "capacity", "deepfaked's is", "p99 at 50 %", shorter, "p99 at 80 %", shorter, f"p99 at {same}", shorter,
            "goodput at 200 %", "CPU each", "memory", "answers at 50, 80 %")


def row(name, rounds, ours):
    mine = name == OURS
    return (
        f"**{name}**" if mine else name,
        spread(of(rounds, "capacity", "throughput"), lambda v: f"{v:.1f}/s"),
        "" if mine else spread(ratios(ours, rounds, "capacity", "throughput"), times),
        median(of(rounds, "half", "p99"), milliseconds), "" if mine else median(ratios(ours, rounds, "half", "p99", True), times),
        median(of(rounds, "high", "p99"), milliseconds), "" if mine else median(ratios(ours, rounds, "high", "p99", True), times),
        median(of(rounds, "same", "p99"), milliseconds), "" if mine else median(ratios(ours, rounds, "same", "p99", True), times),
        median(goodput(rounds), lambda v: f"{v * 100:.0f} %"),
        median(of(rounds, "capacity", "cpu"), milliseconds), median(of(rounds, "capacity", "memory"), lambda v: f"{v / 2**20:.0f} MiB"),
        f"{sum(of(rounds, 'half', 'answers'))}, {sum(of(rounds, 'high', 'answers'))}",
    )


def compared(against):
    """Whether the service is ahead of all, by its ratios to each, and of whom that differed from round to round."""
    beaten = [n for n, v in against.items() if statistics.median(v) < 1]
    close = [n for n, v in against.items() if min(v) < 1 < max(v)]
    words = "reached" if not beaten else "not reached: ahead are " + ", ".join(beaten)
    return words + (f"; not in every round: {', '.join(close)}" if close else "")


def goals(results):
    """Which goals are reached, in the medians."""
    lines = []
    for workload, servers in results.items():
        ours, ahead = servers.get(OURS, []), {}
        for what, name, figure, inverse in (("throughput", "capacity", "throughput", False), ("p99 at 50 %", "half", "p99", True), ("p99 at 80 %", "high", "p99", True), ("p99 at the same load", "same", "p99", True)):
            against = {n: v for n, r in servers.items() if n != OURS and (v := ratios(ours, r, name, figure, inverse))}
            # Who answered in the same round as the service and lost too much has no p99, and is behind.
            asked = any(name in a and name in b for n, rounds in servers.items() if n != OURS for a, b in zip(ours, rounds))
            ahead[what] = compared(against) if asked and of(ours, name, figure) else "not measured"
        kept = goodput(ours)
        ahead["goodput at 200 %"] = "–" if not kept else f"{'reached' if statistics.median(kept) >= GOOD else 'not reached'}: {spread(kept, lambda v: f'{v * 100:.0f} %')} of the peak"
        lines += [f"| `{workload}` | {what} | {words} |" for what, words in ahead.items()]
    return "\n".join(["| media | goal | |", "|---|---|---|", *lines])


def layout(name, p):
    """A row of the table of servers."""
    workers, threads = p["layout"]
    off = "" if p["difference"] is None else f"{p['difference']:.1g} off"
    return f"**{name}** {p['version']}", f"{workers} × {threads} threads", p["settings"], off


def given(d):
    """What each server was given, the service first."""
    s = d["service"]
    ours = (f"**{OURS}**", f"{s['sessions']} × {s['intra_op_threads']} threads",
            f"chose its threads itself; `{' '.join(s['flags'])}`, `inference.wait` and `inference.burst` of {d['slo'] / 2:g} s, no plan's limit in the way, "
            f"64 uploads at a time{', as many as peers let wait' if s['provider'] == 'cpu' else ''}; asked synchronously, with a key", "")
    return table(("server", "`workers` × threads", "settings", "confidence"), [ours, *(layout(n, p) for n, p in d["peers"].items() if n not in d["absent"])])


def batches(rows, provider):
    """How many rows go into a run."""
    if not rows:
        return "Rows of at most 8 go into a run."
    if provider != "cpu":
        return f"The Python peers put at most {max(rows.values())} rows into a run, deepfaked 64, Gin all of a request."
    told = ", ".join(f"{n} for {task}" for task, n in rows.items())
    return f"The Python peers and Fastify put as many rows into a run as was measured to be cheapest ({told}). Deepfaked puts at most 8, Gin all of a request."


def uneven(results):
    """Which servers were so much slower in one round than in another that their figures say little."""
    found = {}
    for workload, servers in results.items():
        for name, rounds in servers.items():
            capacity = of(rounds, "capacity", "throughput")
            if capacity and max(capacity) > EVEN * min(capacity):
                found.setdefault(name, []).append(f"`{workload}`")
    if not found:
        return []
    named = "; ".join(f"{name} ({', '.join(workloads)})" for name, workloads in found.items())
    return [f"Between rounds the capacity of these differed by more than {EVEN:g} times, so that their figures say less: {named}.", ""]


def method(d):
    """How it was measured, as items of a list."""
    s = d["service"]
    cpu, together = s["provider"] == "cpu", d.get("together", False)
    rounds = f"in {d['rounds']} round{'s' if d['rounds'] > 1 else ''} of alternating order"
    alone = f"All servers are started for each round, {rounds}, and take turns, load by load. Those that wait are stopped (`SIGSTOP`)." if together else f"Each server runs alone, {rounds}."
    clients = ", ".join(f"{n} clients for `{w}`" for w, n in d["clients"].items())
    return [
        f"- {alone} The one that is measured shares the machine with `deepfaked-bench`, the same client for all.",
        f"- *Capacity* is what a closed loop gets ({clients}).",
        "- The other loads are open loops with Poisson arrivals: at 50, 80 and 200 % of the capacity that the same server had just shown, and at one rate that is the same for all.",
        f"- That rate is {load.SAME * 100:.0f} % of deepfaked's capacity {'in the same round' if together else 'before the first round'}. A dash: more than {load.LOST * 100:.0f} % had no answer.",
        f"- Each load lasts about {d['seconds']:.1f} seconds. p99 counts from when a request was due, and is the slowest answer of a round with less than a hundred.",
        f"- Goodput is what is answered within {d['slo']:g} s. At 200 % it is counted from {d['drowned']:g} s on, when a server that refuses nothing is too late with everything.",
        "- Memory is proportional set size: what several processes share counts by its part.",
        "- Ratios are formed within each round. Above 1× deepfaked is ahead. Figures are medians of the rounds, those of capacity from the least to the greatest; the JSON beside this has all.",
        "- The work is the same: the same ONNX files, JPEG through libjpeg-turbo, tiles, face finder, windows, calibration and fusion. Every peer's verdicts are compared with deepfaked's first.",
        f"- {batches(d['rows'], s['provider'])}",
        "- The pictures show no face, so the face model has nothing to do.",
        "- Peers need no key, keep no accounts, store no results and decode in their own processes. Deepfaked does all that, and decodes in children.",
        f"- Each peer takes the layout that served the mix faster before the first round: {'a process for each core, or the layout of deepfaked' if cpu else 'a process for every fourth core, or for every second'}.",
    ]


def document(d):
    """The text of docs/benchmarks-peers.md, or of benchmarks-peers-gpu.md."""
    title, alone = ("# Beside other servers", "benchmarks.md") if d["service"]["provider"] == "cpu" else ("# Beside other servers, on a GPU", "benchmarks-gpu.md")
    parts = [
        title, "", f"Written by `scripts/benchmark-peers`; do not edit. The figures of deepfaked alone: [{alone}]({alone}).", "",
        machine.table(d["facts"]), "", "## Goals", "", goals(d["results"]), "", *map(wrapped, uneven(d["results"])),
    ]
    for workload, servers in d["results"].items():
        ours = servers.get(OURS, [])
        order = sorted(servers, key=lambda n: (n != OURS, -max(of(servers[n], "capacity", "throughput"), default=0)))
        parts += [f"## {media.WORKLOADS[workload][0]}", "", table(head(ours), [row(n, servers[n], ours) for n in order]), ""]
        parts += [f"{n}: {r['error']}\n" for n, rounds in servers.items() for r in rounds if "error" in r]
    parts += ["## How", "", *map(wrapped, method(d)), "", given(d)]
    parts += ["", "Not measured:", "", *(f"- **{n}** {d['peers'][n]['version']}: {why}" for n, why in d["absent"].items())] if d["absent"] else []
    return "\n".join(parts) + "\n"
