"""Train, measure and export the built-in synthetic-speech model.

python run.py --data FOLDER_OF_TARS --more FOLDER --work DIR --out MODEL_FOLDER

Steps: gather, features, train, measure, calibrate, export. The work folder
keeps the features, so that a second run skips them; empty it after a change of
the data, the degradations or the features.
"""
import argparse
import functools
import json
import os
import pickle
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # last: `gather` stays this folder's

import needs

with needs.packages():
    import numpy as np
    import torch

    import audio
    import calibrate
    import export
    import features
    import folds
    import gather
    import results
    import train
    from model import Detector, Features

    import reliability

VERSION = "0.7.1"
SEED = 7


def arguments():
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder with speech.tar, speech2.tar and held-out.sha256")
    p.add_argument("--more", help="folder that gather/ has filled: more clips to learn from and judge")
    p.add_argument("--weights", required=True, help="folder of pretrained weights, with yamnet/ in it")
    p.add_argument("--work", required=True, help="folder for intermediate data, which is never committed")
    p.add_argument("--out", required=True, help="folder for model.onnx and card.json")
    p.add_argument("--results", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "RESULTS.md"))
    return p.parse_args()


def gathered(data, more, work):
    """The clips, kept in the work folder; -> clips, held-out files dropped, CPU seconds."""
    path = os.path.join(work, "clips.pickle")
    if not os.path.exists(path):
        clips, held = gather.gather(data, more)
        with open(path, "wb") as f:
            pickle.dump((clips, held, features.cpu_seconds()), f)
    with open(path, "rb") as f:
        return pickle.load(f)


def keep_folds(work, weights, clips, fold, models, factor):
    """The graph of each fold's model, on the scale of the one that is exported, and which repositories it does not know:
    for stretch.py."""
    folder = os.path.join(work, "folds")
    os.makedirs(folder, exist_ok=True)
    example = audio.windows(clips[0]["sound"], 1).repeat(2, 0)
    for f, model in models.items():
        export.to_onnx(Detector(Features(weights), model.divided(1 / factor)), example, os.path.join(folder, f"fold{f}.onnx"))
    with open(os.path.join(folder, "folds.tsv"), "w") as out:
        out.writelines(f"{name}\t{f}\n" for name, f in sorted({(c["repository"], int(f)) for c, f in zip(clips, fold)}))


def measure(clips, tables, facts, keep):
    """Out-of-fold scores, calibration, operating points; fills `facts`. `keep` is keep_folds for the rest of its arguments.
    -> measurements, P(fake) of each clip per condition."""
    fold, models = folds.repository_folds(clips), {}
    values = train.out_of_fold(clips, tables, fold, kept=models)
    facts["drift"] = train.scale_drift(clips, tables, fold, values["clean"])
    facts["stretch"] = calibrate.platt(*calibrate.pooled(clips, values)[:3])["scale"]
    keep(clips, fold, models, facts["stretch"])
    scores = {name: value * facts["stretch"] for name, value in values.items()}
    shortcut = train.out_of_fold(clips, tables, fold, "nuisance")
    archived = np.array([c["archived"] for c in clips])
    fewer = {} if archived.all() else train.out_of_fold(clips, tables, fold, within=archived)
    measured = results.measurements(clips, scores, shortcut, train.strict(clips, tables, fold), fewer)
    label, score, weight, group = calibrate.pooled(clips, scores)
    facts["calibration"] = calibrate.platt(label, score, weight)
    item = np.tile(np.arange(len(clips)), len(calibrate.POOLED))
    facts["operating_points"] = calibrate.operating_points(label, score, weight, group, facts["calibration"], item)
    facts["calibration"]["limits"] = reliability.limits(label, calibrate.odds(facts["calibration"], score), weight, item)
    for (m, _), s in zip(measured, scores.values()):  # the conditions come first
        m["ece"] = calibrate.condition_error(clips, facts["calibration"], s)
    facts["measured"] = [m for m, _ in measured]
    caught = calibrate.probability(facts["calibration"], scores["clean"]) >= facts["operating_points"]["balanced"]["threshold"]
    facts["by_source"] = results.by_source(clips, caught)
    print("\n".join(results.measurement_table(measured)), flush=True)
    return measured, {name: calibrate.probability(facts["calibration"], scores[name]) for name in calibrate.POOLED}


def keep_scores(work, clips, chances):
    """The out-of-fold log-odds of every clip as it is, for the fusion with what is seen of videos."""
    rows = [{"id": c["id"], "repository": c["repository"], "fake": c["label"], "log_odds": round(float(np.log(p / (1 - p))), 4)} for c, p in zip(clips, chances)]
    with open(os.path.join(work, "deepfaked-speech-scores.json"), "w") as f:
        json.dump(rows, f)


def final(clips, tables, weights, out, facts):
    """Train on everything, bring to the scale of the out-of-fold scores, which are log-odds, export,
    compare; -> path of the graph, its session."""
    classifier = train.fit(clips, tables, np.ones(len(clips), bool)).divided(facts["drift"]["final"] / facts["stretch"])
    detector = Detector(Features(weights), classifier).eval()
    pick = np.random.RandomState(SEED).choice(len(clips), 20, replace=False)
    real_windows = np.concatenate([audio.windows(clips[i]["sound"], 1) for i in pick])
    with torch.no_grad():
        reference = detector(torch.from_numpy(real_windows)).numpy()
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "model.onnx")
    export.to_onnx(detector, real_windows, path)
    runtime = export.session(path)
    facts["difference"] = export.compare(runtime, reference, real_windows)
    facts["robust"] = export.robust(runtime)
    facts["cost"] = export.cost(runtime, real_windows)
    return path, runtime


def main():
    """Gathers, trains, measures, exports."""
    args = arguments()
    torch.set_num_threads(1)
    os.makedirs(args.work, exist_ok=True)
    clips, held, spent = gathered(args.data, args.more, args.work)
    tables = features.tables(clips, args.work, SEED, args.weights)
    begin = features.cpu_seconds()
    print(f"{len(clips)} clips, {held} held-out files dropped", flush=True)
    facts = dict(version=VERSION, seed=SEED, held_out=held, sources=export.sources(clips))
    measured, probability = measure(clips, tables, facts, functools.partial(keep_folds, args.work, args.weights))
    keep_scores(args.work, clips, probability["clean"])
    path, runtime = final(clips, tables, args.weights, args.out, facts)
    spent += sum(float(t["cpu_seconds"]) for t in tables.values()) + features.cpu_seconds() - begin
    facts["cpu_minutes"] = round(float(spent) / 60, 1)
    export.write_json(export.card(path, runtime, facts), os.path.join(args.out, "card.json"))
    results.write(args.results, clips, probability, facts, measured)
    print({k: facts[k] for k in ("calibration", "operating_points", "drift", "robust", "cost", "cpu_minutes")})
    print(f"model {os.path.getsize(path) / 2**20:.1f} MiB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
