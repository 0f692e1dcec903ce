"""Words and tables of the documents."""

import textwrap

WIDTH = 120  # characters of a line, but for rows of tables


def milliseconds(seconds):
    """Three digits of a duration in seconds, or a dash."""
    if seconds is None:
        return "–"
    ms = seconds * 1000
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms" if ms < 10000 else f"{seconds:.0f} s"


def share(part):
    """Of the capacity, in per cent."""
    return f"{part * 100:.0f} %"


def table(head, rows):
    """A table in Markdown."""
    lines = [" | ".join(str(cell) for cell in cells) for cells in (head, *rows)]
    return "\n".join([f"| {lines[0]} |", "|" + "---|" * len(head), *(f"| {line} |" for line in lines[1:])])


def wrapped(words):
    """A paragraph, or an item of a list, in lines of at most WIDTH characters."""
    return textwrap.fill(words, WIDTH, subsequent_indent="  " if words.startswith("- ") else "", break_long_words=False, break_on_hyphens=False)
