"""Train, measure, export: the way from pictures and their statistics to a model folder.

A Study says what is special to the model; its data is a module with SHAPE (of a row),
score, score_rows, check_row and seen.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from vision import card, content, crossval, export, external, figures, matched, quantise, reduced, report, shortcuts, sizes
from vision.folds import folds

UNSEEN = "repositories and {} left out, five folds"
KNOWN = "repositories left out, their {} known from others, five folds"
CONDITIONS = ("clean", "JPEG q60 at no more than 768 pixels")


def whole(items):
    """What is measured together, with the words before the name of the set, and the conditions: all items."""
    return [("", np.ones(len(items), bool), CONDITIONS)]


def media(items, result, _):
    """Items and their scores, pictures and films apart, from what cross_validate says."""
    films = np.array([bool(i.clip) for i in items])
    return {name: ([i for i, k in zip(items, own) if k], result["scores"][own]) for name, own in (("image", ~films), ("video", films))}


@dataclass
class Study:
    """One model: what is trained, how, and what the card says about it."""

    name: str
    version: str
    task: str
    description: str
    recipe: str
    data: ModuleType
    preprocessing: dict
    training: dict  # the options of train
    seed: int  # of the final model; the folds count on from it
    groups: Callable  # of items, to what the folds keep whole
    train: Callable  # items, their statistics, options and a seed to a head
    judged: Callable  # a head and rows of statistics to log-odds
    model: Callable  # the untouched network and a head to what is served
    narrow: tuple = ()  # dimensions of the weights that the file keeps in 8 bits
    precise: tuple = quantise.ENDS  # blocks whose sums the variant in 8 bits does not round
    made_by: str = "generators"  # what fakes are made by
    apart: str = "any generator or source of that name"  # what the models of the folds have not seen either
    parts: Callable = whole  # of scored items, to what is measured by itself
    small: Callable = lambda *_: ()  # of what judges rows and the statistics of an item, to sides and scores of reduced views, by which sizes are calibrated
    sides: Callable = lambda _: None  # of items, to their shorter sides under each condition, where there are such
    media: Callable = media  # as measured: of scored items, what cross_validate says and work folder, to what lines are drawn for
    further: Callable = lambda *_: []  # of scored items, what cross_validate says, calibration and work folder, to more measurements
    tables: Callable = lambda *_: ""  # of options, scored items, scores and what measure says, to more of RESULTS.md
    folds: tuple = tuple(range(crossval.FOLDS))
    encoder: external.Encoder | None = None  # whose published weights the model refers to; then it has no variant, as it is in 8 bits itself
    started: str = card.START  # the weights that training started from
    calibration_rows: Callable = lambda _: None  # of the work folder, to the rows by which those 8 bits were scaled

    def kept(self, work, suffix):
        """The file of an intermediate result."""
        return Path(work, f"{self.name}-{suffix}")


def cross_validate(study, plain, items, features, work, unseen=True):
    """Out-of-fold scores of the items that are judged, and of reduced views of them; returns those items too."""
    fold_of, total, rows, scores, small = folds(items, crossval.FOLDS, study.groups), 0.0, [], [], []
    for fold in study.folds:
        path = study.kept(work, f"fold{fold}{'' if unseen else '-known'}.npz")
        result = card.keep(path, lambda: crossval.score_fold(study, plain, items, features, fold, unseen, work))
        place = {row: len(rows) + n for n, row in enumerate(result["rows"])}
        small += [(place[int(row)], side, score) for row, side, score in result.get("small", ())]  # none in a folder of before
        rows, scores = [*rows, *result["rows"]], [*scores, *result["scores"]]
        total += float(result["minutes"])
    return [items[i] for i in rows], {"scores": np.array(scores), "folds": fold_of[rows], "small": np.array(small).reshape(-1, 3), "minutes": total}


def shortcut_rows(study, items):
    """What format, size, JPEG table and sharpness alone give away, on the folds that are run."""
    own = np.array([i.judged for i in items])
    fold_of, items = folds(items, crossval.FOLDS, study.groups)[own], [i for i, k in zip(items, own) if k]
    note = "a classifier of {} alone, no look at the content: what the files give away; the model sees pixels only"
    notes = [note.format("file size, picture size, JPEG table and sharpness"), note.format("size and sharpness")]
    rows = []
    for name, own, conditions in study.parts(items):
        part, where = [i for i, k in zip(items, own) if k], fold_of[own]
        run = np.flatnonzero(np.isin(where, study.folds))
        labels, names = [part[i].fake for i in run], [part[i].repository for i in run]
        for k, (condition, note) in enumerate(zip(conditions, notes)):
            scores = shortcuts.scores(part, [study.data.seen(i)[k] for i in part], where, k == 0)[run]
            rows.append(figures.measure(labels, scores, names, name + "shortcuts only, the same folds", condition, note))
    return rows


def calibrations(study, scored, result, known):
    """That of the models of the folds, and that of the final model, which knows what those of known do (figures.carried_over).

    Where sizes have calibrations of their own, the scores of result and known become levelled ones, for which size makes no difference.
    """
    labels, repositories = np.array([i.fake for i in scored]), np.array([i.repository for i in scored])
    kinds = figures.counted(labels, ["film" if i.clip else i.kind for i in scored])
    own = figures.calibrate(np.tile(labels, 2), result["scores"].T.ravel(), np.tile(repositories, 2), np.tile(kinds, 2))
    if len(result["small"]):
        item, side, score = result["small"].T
        own["sizes"] = sizes.fit(own, labels[item.astype(int)], side, score, repositories[item.astype(int)])
    served = figures.carried_over(own, genuine(scored, result), genuine(scored, known))
    for calibration, of in ((own, result), (served, known)):
        of["scores"] = sizes.levelled(calibration, study.sides(scored), of["scores"])
    own["limits"] = served["limits"] = figures.limits(labels, result["scores"], repositories, own)
    return own, served


def measure(study, items, features, scored, result, known, work):
    """Calibrations, operating points by medium and measurements from the out-of-fold scores of unseen generators."""
    calibration, served = calibrations(study, scored, result, known)
    lines = lines_of(study, scored, result, calibration, work)
    rows = rows_of_parts(study, scored, result["scores"], calibration, UNSEEN)
    rows += rows_of_parts(study, scored, known["scores"], served, KNOWN)
    rows += sizes.measured(scored, result["small"], calibration) + matched.measured(scored, result["scores"], calibration)
    rows += study.further(scored, result, calibration, work)
    rows += content.measured(items, features, folds(items, crossval.FOLDS, study.groups)) + shortcut_rows(study, items)
    return (calibration, lines, rows), served


def lines_of(study, scored, result, calibration, work):
    """The operating points of all media together and of each."""
    media = {figures.ANY: (scored, result["scores"]), **study.media(scored, result, work)}
    return {medium: line(*of, calibration) for medium, of in media.items()}


def line(items, scores, calibration):
    """The operating points of all conditions together; frames of one clip are one item."""
    labels, repositories, files = ([i.fake for i in items], [i.repository for i in items], [str(i.path) for i in items])
    return figures.lines_of_views(labels, repositories, files, scores, calibration, [i.kind for i in items])


def rows_of_parts(study, scored, scores, calibration, set_name):
    """Measurements of the card, of each part by itself."""
    rows = []
    for name, own, conditions in study.parts(scored):
        part = [i for i, k in zip(scored, own) if k]
        rows += figures.by_condition(part, scores[own], calibration, name + set_name.format(study.made_by), conditions)
    return rows


def genuine(scored, result):
    """What genuine pictures and genuine films score, under all conditions."""
    return [scores[[not i.fake for i in items]].ravel() for items, scores in media(scored, result, None).values()]


def sources_of(scored, result, measured):
    """What becomes of the files of each generator and source."""
    calibration, lines, _ = measured
    return report.by_source(scored, figures.probability(calibration, result["scores"]), lines)


def write_report(study, options, scored, result, known, measured, bytewise):
    """RESULTS.md; bytewise holds what was measured of the variant in 8 bits, and its scores."""
    calibration, lines, rows = measured
    sources = sources_of(scored, result, measured)
    conditions = f"Two figures in a cell: {'; '.join(name + ' / '.join(both) for name, _, both in study.parts(scored))}."
    text = report.HEADER.format(title=f"{study.name} {study.version}: what was measured", apart=study.apart, conditions=conditions)
    text += report.measurements(rows) + "\n" + report.points(lines) + "\n" + report.claims(calibration)
    text += "\n## Fake\n\n" + report.per_source(sources, "fake")
    text += "\n## Genuine\n\n" + report.per_source(sources, "real")
    text += sizes.table(scored, result["small"], calibration, known[0]["small"], known[1], lines)
    text += "\n## Folds\n\n" + report.per_fold(scored, result["folds"], result["scores"])
    if bytewise:
        own = study.parts(scored)[0][1]
        both = {"32 bits": (rows[: len(CONDITIONS)], result["scores"][own]), "8 bits": bytewise}
        text += reduced.table(reduced.first_part(study, scored), calibration, lines["image"]["balanced"]["threshold"], both)
    text += matched.tables(scored, result["scores"], calibration, lines) + study.tables(options, scored, result["scores"], measured)
    text += table_of_known(study, scored, known, measured)
    (options.report or Path(study.data.__file__).with_name("RESULTS.md")).write_text(text)


def write_model(study, options, model, items, measured, bytewise, facts):
    """model.onnx, checked on twenty real inputs, its variant, and card.json, which has the further facts."""
    folder = options.out
    folder.mkdir(parents=True, exist_ok=True)
    export.export(export.rounded(model, study.narrow), folder / "model.onnx", study.data.SHAPE)
    judged = reduced.first_part(study, [i for i in items if i.judged])
    rows = np.stack([study.data.check_row(judged[k]) for k in np.linspace(0, len(judged) - 1, 20).astype(int)])
    export.verify(model, folder / "model.onnx", rows)
    _, lines, rows = measured
    files = reduced_files(study, folder, items, bytewise) if study.encoder is None else external_files(study, folder, options)
    card.write(folder, study.data.SHAPE, {
        "name": study.name, "version": study.version, "task": study.task, "description": study.description,
        **files, "preprocessing": study.preprocessing, **figures.on_card(lines), "measured": rows, **facts,
    })


def reduced_files(study, folder, items, bytewise):
    """What the card says of the variant, which is written, and of the model, which is made smaller."""
    variant = reduced.write(study, folder, items, bytewise[0])
    export.compact(folder / "model.onnx", study.narrow)
    return {"variants": [variant]}


def external_files(study, folder, options):
    """What the card says of the published weights and of the self-test of the model, which is brought to 8 bits and refers to them."""
    path = folder / "model.onnx"
    study.encoder.reduce(path, study.calibration_rows(options.work))
    export.compact(path, study.narrow)
    golden = export.golden(path, study.data.SHAPE) | {"tolerance": quantise.GOLDEN_TOLERANCE}
    external.refer(path, study.encoder.file(options.weights))
    return {"weights": study.encoder.facts, "golden": golden}


def keep_scores(study, work, scored, result, calibration):
    """The out-of-fold log-odds of every file, for the fusion with other models."""
    odds = calibration["scale"] * result["scores"][:, 0] + calibration["bias"]
    study.kept(work, "scores.json").write_text(json.dumps([
        {"path": str(i.path), "repository": i.repository, "generator": i.generator, "fake": int(i.fake), "kind": i.kind, "log_odds": round(float(o), 4)}
        for i, o in zip(scored, odds)
    ]))


def run(study, options, plain, pictures):
    """Everything after gathering; goes on where an earlier run in the same work folder stopped."""
    items, features, dropped = pictures
    begun = time.process_time()
    head = study.train(items, features, study.training, study.seed)
    minutes = (time.process_time() - begun) / 60
    scored, result = cross_validate(study, plain, items, features, options.work)
    _, known = cross_validate(study, plain, items, features, options.work, unseen=False)
    measured, card_calibration = measure(study, items, features, scored, result, known, options.work)
    keep_scores(study, options.work, scored, result, measured[0])
    bytewise = None if study.encoder else reduced_too(study, items, scored, measured[0], options.work)
    training = {
        "recipe": study.recipe, "seed": study.seed,
        "cpu_minutes": round(minutes + float(result["minutes"]), 1), "started_from": study.started,
        "sources": study.data.gather.sources(items), "held_out_dropped": dropped,
    }
    facts = {"calibration": card_calibration, "by_source": sources_of(scored, result, measured), "training": training}
    if study.encoder:
        shorten(facts, options.report or Path(study.data.__file__).with_name("RESULTS.md"))
    write_model(study, options, study.model(plain, head), items, measured, bytewise, facts)
    write_report(study, options, scored, result, (known, card_calibration), measured, bytewise)
    print(report.measurements(measured[2]), report.points(measured[1]), sep="\n")


def shorten(facts, results):
    """Takes what makes a card long out of it: what becomes of single sources stands in results, and what was trained on in a table beside that."""
    del facts["by_source"]
    sources, table = facts["training"]["sources"], results.with_name(results.name.replace("RESULTS", "SOURCES")).with_suffix(".tsv")
    fields = ("repository", "commit", "licence", "real", "fake", "name")
    table.write_text("\n".join("\t".join(str(row[f]) for f in fields) for row in ({f: f for f in fields}, *sources)) + "\n")
    facts["training"]["sources"] = [{
        "name": f"{len(sources)} repositories, of which {table.name} beside the recipe says what was used", "repository": "", "commit": "",
        "licence": "stated one by one in the table", "real": sum(s["real"] for s in sources), "fake": sum(s["fake"] for s in sources),
    }]


def reduced_too(study, items, scored, calibration, work):
    """What is measured of the variant, and its out-of-fold scores."""
    own, part = reduced.scores(study, items, work), reduced.first_part(study, scored)
    own = sizes.levelled(calibration, study.sides(part), own)
    return figures.by_condition(part, own, calibration, UNSEEN.format(study.made_by), CONDITIONS), own


KNOWN_TABLE = """
## {} known from other repositories

The final model knows them all, and its logits are higher for that, of genuine files too: so the calibration on its card is not the one
that these figures were made by, but {:.3f} × logit {:+.3f} in place of {:.3f} × logit {:+.3f}, by which genuine files of repositories that
a model has not seen score as they do above. With it, shares called fake at the thresholds above:

| medium | level | genuine | fake |
|---|---|---|---|
"""


def table_of_known(study, scored, known, measured):
    """What is found when the generators or methods are known from other repositories, as the final model has it."""
    (calibration, lines, _), (known, carried) = measured, known
    chances = figures.probability(carried, known["scores"])
    both = (c[name] for c in (carried, calibration) for name in ("scale", "bias"))
    text = KNOWN_TABLE.format(study.made_by.capitalize(), *both)
    for medium in ("image", "video"):
        own = np.array([report.medium(i) == medium for i in scored])
        fake = np.array([i.fake == 1 for i in scored])
        for level, point in lines[medium].items():
            cells = [" / ".join(f"{share:.2f}" for share in (chances[rows] >= point["threshold"]).mean(0)) for rows in (own & ~fake, own & fake)]
            text += f"| {medium} | {level} | {cells[0]} | {cells[1]} |\n"
    return text
