"""The counts of a gathering, as a table."""

from collections import Counter

from gather.collect import REASONS


def table(collector):
    """Lines: one for each medium and label, then what could not be done."""
    lines = ["medium\tlabel\trepositories\tsystems\tfiles\t" + "\t".join(REASONS)]
    kinds = sorted({key[1:3] for key in collector.taken} | set(collector.dropped))
    for medium, label in kinds:
        taken = {key: n for key, n in collector.taken.items() if key[1:3] == (medium, label) and n}
        dropped = collector.dropped[medium, label]
        counts = [len({key[0] for key in taken}), len({key[3] for key in taken}), sum(taken.values())]
        lines.append("\t".join(map(str, [medium, label, *counts, *(dropped[reason] for reason in REASONS)])))
    held = sum((counts for counts in collector.dropped.values()), Counter())["held out"]
    lines.append(f"dropped as held out: {held}")
    return lines + collector.problems


def systems(collector):
    """Lines: files of each repository's systems, most first."""
    order = sorted(collector.taken.items(), key=lambda item: (item[0][1:3], -item[1], item[0]))
    return ["\t".join([*key[1:], key[0], str(count)]) for key, count in order if count]
