"""Command line: python -m gather --media DATA --mirror DIR --work WORK, from scripts/train."""

import argparse
import itertools
import shutil
from pathlib import Path

from gather import report, table
from gather.collect import Collector


def main():
    """Gathers into WORK/more, which is emptied before."""
    parser = argparse.ArgumentParser(prog="gather", description="gathers training media out of git repositories")
    parser.add_argument("--media", required=True, help="folder with more.tsv, held-out.sha256 and the archives")
    parser.add_argument("--mirror", required=True, help="git repositories, OWNER/NAME each; others are cloned")
    parser.add_argument("--work", required=True, help="folder outside the repository; the result is below it in more/")
    parser.add_argument("--sources", default=Path(__file__).with_name("sources.tsv"), help="table of sources")
    options = parser.parse_args()
    sources = list(itertools.chain(table.named(options.media), table.listed(options.sources)))
    folder = Path(options.work, "more")
    shutil.rmtree(folder, ignore_errors=True)
    collector = Collector(options.media, folder)
    collector.all(options.mirror, sources)
    collector.close()
    (folder / "systems.tsv").write_text("\n".join(report.systems(collector)) + "\n", encoding="utf-8")
    (folder / "counts.tsv").write_text("\n".join(report.table(collector)) + "\n", encoding="utf-8")
    print("\n".join(report.table(collector)))


if __name__ == "__main__":
    main()
