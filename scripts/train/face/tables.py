"""RESULTS.md."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from vision import crossval, export, figures
from vision.folds import equal_weights, folds

import data
import measure

BESIDE = """## Beside other detectors

The same faces for all. The published detectors were trained on FaceForensics++ and other face swaps, version 0.2.1 on genuine
faces and blended copies of them. Fusions are logistic regressions, out of fold by repository. How much of a figure is the
style of a source, the table before this one helps to see.

"""


def more(options, items, scores, measured):
    """What RESULTS.md says of faces beside what it says of pictures."""
    calibration, lines, _ = measured
    text = "\n## Faces in generated pictures\n\n" + drawn(options, calibration, lines["image"])
    text += "\n## Within a repository\n\n" + within(items, scores)
    others = options.work / "others.npz"
    return text + ("\n" + BESIDE + beside(items, scores, others) if others.exists() else "")


def of_encoder(_, items, scores, __):
    """The same of a model on an encoder."""
    return "\n## Methods\n\n" + families(items, scores) + "\n## Within a repository\n\n" + within(items, scores)


def families(items, scores):
    """AUC of each family of methods against all genuine faces, pictures and frames of clips apart, the least first."""
    lines = ["| family | medium | fake | repositories | AUC, clean / as shared |", "|---|---|---|---|---|"]
    found = []
    for name, medium in sorted({(i.family, i.medium) for i in items if i.fake}):
        fake = [k for k, i in enumerate(items) if i.fake and (i.family, i.medium) == (name, medium)]
        real = [k for k, i in enumerate(items) if not i.fake and i.medium == medium]
        areas = [roc_auc_score([0] * len(real) + [1] * len(fake), column) for column in scores[real + fake].T]
        found.append((areas, f"| {name} | {medium} | {len(fake)} | {len({items[k].repository for k in fake})} | {' / '.join(f'{a:.2f}' for a in areas)} |"))
    return "\n".join(lines + [line for _, line in sorted(found)]) + "\n"


def drawn(options, calibration, points):
    """What the model that is served says of faces in pictures that are generated as a whole; it was trained on none."""
    run = export.runner(options.out / "model.onnx")
    logits = np.array([run(data.rows(item)) for item in data.drawn(options.work)])
    chances = figures.probability(calibration, logits)
    shares = " and ".join(" / ".join(f"{v:.2f}" for v in (chances >= points[k]["threshold"]).mean(0)) for k in ("balanced", "sensitive"))
    return f"Of {len(chances)} faces in pictures that are generated as a whole, which is another model's task, {shares} are called fake.\n"


def within(items, scores):
    """AUC of each method against the genuine faces of its own repository: what is left without the style of the source."""
    lines = ["| method | repository | fake | genuine of the same | AUC, clean / as shared |", "|---|---|---|---|---|"]
    for generator, repository in sorted({(i.generator, i.repository) for i in items if i.label == "face_fake"}):
        fake = [k for k, i in enumerate(items) if (i.generator, i.repository, i.label) == (generator, repository, "face_fake")]
        real = [k for k, i in enumerate(items) if i.repository == repository and not i.fake]
        if real:
            labels = [0] * len(real) + [1] * len(fake)
            areas = " / ".join(f"{roc_auc_score(labels, column):.2f}" for column in scores[real + fake].T)
            lines.append(f"| {generator} | {repository} | {len(fake)} | {len(real)} | {areas} |")
    return "\n".join(lines) + "\n"


def beside(items, scores, path):
    """AUC of this model, of others, and of their fusions, on the same faces, clean / shared."""
    with np.load(path) as archive:
        kept = dict(archive)
    place = {base: k for k, base in enumerate(kept.pop("base"))}
    own = measure.manipulated(items)
    rows = [k for k, i in enumerate(items) if i.base in place and own[k]]
    chosen, values = [items[k] for k in rows], {"this model": scores[rows]}
    values |= {name: own[[place[i.base] for i in chosen]] for name, own in kept.items()}
    fakes, repositories = measure.arrays(chosen)
    published = {name: own for name, own in values.items() if name in kept and not name.startswith("deepfaked")}
    values["the published ones, fused"] = fused(chosen, published)
    values["this model and the published ones, fused"] = fused(chosen, published | {"this model": values["this model"]})
    lines = ["| detector | AUC [95 %], clean | as shared |", "|---|---|---|"]
    for name, own in values.items():
        cells = [figures.measure(fakes, own[:, k], repositories, "", "") for k in range(2)]
        lines.append(f"| {name} | " + " | ".join(f"{c['auc']:.3f} [{c['auc_interval'][0]:.2f}, {c['auc_interval'][1]:.2f}]" for c in cells) + " |")
    return "\n".join(lines) + "\n"


def fused(items, values):
    """Log-odds of a logistic regression on the scores, fitted on the other four of five folds by repository."""
    labels, repositories = measure.arrays(items)
    fold_of, result = folds(items, crossval.FOLDS), np.zeros((len(items), 2))
    for k in range(2):
        x = np.column_stack([v[:, k] / v[:, k].std() for v in values.values()])
        for fold in sorted(set(fold_of)):
            known = fold_of != fold
            weights = equal_weights(labels[known], repositories[known]) * known.sum()
            model = LogisticRegression(C=0.01).fit(x[known], labels[known], sample_weight=weights)
            result[~known, k] = model.decision_function(x[~known])
    return result
