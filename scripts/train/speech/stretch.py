"""What the worst stretch of a long sound is worth: fits `calibration.stretch` of a card.

python stretch.py --card CARD --folds FOLDS --data DATA [--more COLLECTION ...] --voice FOLDER --work WORK [--write]

Genuine clips of one source are joined to recordings of up to ten minutes, into which synthetic clips are cut. Each is
judged by a model that knows neither: by one of the graphs in FOLDS, or, without these, by the card's own where none of
its training is from the clips' repositories. FOLDS holds foldN.onnx and folds.tsv (repository, N), whose outputs are
on the scale of the card's. WORK keeps what was scored; empty it after a change of the data or of a model.
"""
import argparse
import collections
import csv
import hashlib
import io
import json
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # last: `gather` stays this folder's

import needs

with needs.packages():
    import av
    import numpy as np
    import onnxruntime
    from sklearn.linear_model import LogisticRegression

    import audio
    import export
    import folds
    import gather
    from calibrate import LEVELS, POOLED
    from frontend import RATE, WINDOW

MOST = 900  # windows that the service takes from a sound
LONGEST, SHORTEST = 600, 60  # seconds of a recording
LENGTHS = (60, 180, 600)
SPLICES = (3, 5, 10)  # seconds
FADE = RATE // 100
CONDITIONS = ("clean", "mp3-64", "telephone", "degraded-0")
SPLICED = CONDITIONS[:3]  # a random degradation of a part would not be that of the whole
EACH = 4  # recordings of a length of one source, and splices of one length in it
RUNS = (1, 2, 3)  # windows of a stretch, of which the best is taken
GROUPS = 5  # of sources, to judge each by a rule that is fitted without it
MARGIN = 1e-4  # of thresholds above what they must not reach: the rule is rounded
SEED = 7


def arguments():
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--card", required=True, help="card.json of the model")
    p.add_argument("--folds", help="graphs that know some repositories each")
    p.add_argument("--data", required=True, help="folder with speech.tar, speech2.tar and held-out.sha256")
    p.add_argument("--more", action="append", default=[], help="folder that gather/ has filled; may be given again")
    p.add_argument("--voice", required=True, help="folder of the model that finds speech")
    p.add_argument("--work", required=True, help="folder for intermediate data, which is never committed")
    p.add_argument("--write", action="store_true", help="put the result into the card")
    return p.parse_args()


# What is judged by whom.


class Judge:
    """Logits of windows by a model that does not know a repository."""

    def __init__(self, card_path, folder):
        with open(card_path) as f:
            self.card = json.load(f)
        self.known, self.fold, self.sessions = {s["repository"] for s in self.card["training"].get("sources", ())}, {}, {}
        self.paths = {0: os.path.join(os.path.dirname(card_path), self.card["file"])}
        if folder:
            with open(os.path.join(folder, "folds.tsv")) as f:
                self.fold = {name: int(n) for name, n in csv.reader(f, delimiter="\t")}
            self.known = set()  # a fold's graph knows none of its own, and nobody those that are in none
            self.paths = {n: os.path.join(folder, f"fold{n}.onnx") for n in set(self.fold.values())}

    def of(self, repository):
        """Number of the model that does not know the repository; None where all do."""
        if repository in self.fold or repository in self.known:
            return self.fold.get(repository)
        return sorted(self.paths)[int(hashlib.sha256(repository.encode()).hexdigest(), 16) % len(self.paths)]  # nobody knows it

    def log_odds(self, n, windows, spoken):
        """Of float32 windows by model n, NaN where nobody speaks."""
        if n not in self.sessions:
            self.sessions[n] = session(self.paths[n])
        value, c = np.full(len(windows), np.nan), self.card["calibration"]
        if spoken.any():
            value[spoken] = c["scale"] * run(self.sessions[n], windows[spoken]) + c["bias"]
        return value


def session(path):
    """ONNX Runtime on one CPU thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(model, windows, batch=16):
    """First output of all rows."""
    name = model.get_inputs()[0].name
    parts = [model.run(None, {name: windows[i:i + batch]})[0] for i in range(0, len(windows), batch)]
    return np.concatenate(parts)


class Voice:
    """Finds the windows in which somebody speaks."""

    def __init__(self, folder):
        with open(os.path.join(folder, "card.json")) as f:
            card = json.load(f)
        p, self.steps = card["activity"]["threshold"], card["activity"]["steps"]
        self.line, self.model = np.log(p / (1 - p)), session(os.path.join(folder, card["file"]))

    def spoken(self, windows):
        """Mask of the windows."""
        return (run(self.model, windows) >= self.line).sum(1) >= self.steps


# Recordings.


def decode(data):
    """All of a media file as int16 samples, at most LONGEST seconds."""
    with av.open(io.BytesIO(data)) as file:
        resample, parts, n = av.AudioResampler("s16", "mono", RATE), [], 0
        for frame in file.decode(audio=0):
            for part in resample.resample(frame):
                parts.append(part.to_ndarray()[0])
                n += len(parts[-1])
            if n > LONGEST * RATE:
                break
        parts += [part.to_ndarray()[0] for part in resample.resample(None)]
    return np.concatenate([np.zeros(0, np.int16), *parts])[:LONGEST * RATE].astype(np.int16)


def clips(data, more):
    """Whole clips that are not held out, each once."""
    held, seen = gather.held_out_sums(data), set()
    sets = [gather.from_folders(os.path.join(data, "speech.tar")), gather.from_manifest(os.path.join(data, "speech2.tar"))]
    for clip in (c for s in [*sets, *map(gather.from_collection, more)] for c in s):
        body = clip.pop("data")
        sums = {hashlib.sha256(body).hexdigest(), *clip.pop("sums")}
        if sums & held or sums & seen:
            continue
        try:
            clip["sound"] = decode(body)
        except (av.FFmpegError, ValueError):
            continue
        if len(clip["sound"]) >= gather.SHORTEST and np.any(clip["sound"]):
            seen |= sums
            yield clip


def joined(sounds, longest):
    """Clips one after the other, faded into each other, at most so many samples."""
    ramp, out = np.linspace(0, 1, FADE), np.zeros(0)
    for sound in sounds:
        x = sound.astype(np.float64)
        if len(out):
            out[-FADE:] = out[-FADE:] * ramp[::-1] + x[:FADE] * ramp
            x = x[FADE:]
        out = np.concatenate([out, x])
        if len(out) >= longest:
            break
    return np.round(out[:longest]).astype(np.int16)


def recordings(all_clips, judge):
    """One recording of each source of genuine speech that has a minute of it: dict of name, model, sound."""
    sources = collections.defaultdict(list)
    for c in all_clips:
        if not c["label"] and judge.of(c["repository"]) is not None:
            sources[c["repository"], c["system"]].append(c["sound"])
    r = np.random.RandomState(SEED)
    for (repository, system), sounds in sorted(sources.items()):
        order = r.permutation(len(sounds))
        sound = joined([sounds[i] for i in order], LONGEST * RATE)
        if len(sound) >= SHORTEST * RATE:
            yield dict(name=f"{repository} {system}", model=judge.of(repository), sound=sound)


def spliced(host, fake, r):
    """A part of a recording with synthetic speech in the midst of it, as loud as what it replaces: samples of the part,
    the first of which is the recording's sample number 0 of the pair."""
    at = r.randint(WINDOW, len(host) - len(fake) - WINDOW)
    begin, end = max(0, at - 2 * WINDOW), min(len(host), at + len(fake) + 2 * WINDOW)
    part, loud = host[begin:end].astype(np.float64), host[at:at + len(fake)].astype(np.float64).std()
    x = fake * (max(loud, 100) / max(fake.astype(np.float64).std(), 1))
    mask = np.ones(len(fake))
    mask[:FADE], mask[-FADE:] = np.linspace(0, 1, FADE), np.linspace(1, 0, FADE)
    own = slice(at - begin, at - begin + len(fake))
    part[own] = part[own] * (1 - mask) + x * mask
    return begin, at, np.round(part.clip(-32768, 32767)).astype(np.int16)


def heard(sounds, condition, r):
    """int16 clips in one condition."""
    if condition == "telephone":
        return [audio.telephone(x) for x in sounds]
    if condition in audio.CODECS:
        return audio.through_codec(sounds, condition)
    if condition == "clean":
        return sounds
    coded = [audio.degrade(x, r) for x in sounds]
    pick = r.choice(2 * len(audio.USUAL))
    return audio.through_codec(coded, audio.USUAL[pick]) if pick < len(audio.USUAL) else coded


# Scores.


def windows_of(sound, at):
    """[k, WINDOW] float32."""
    return np.stack([sound[a:a + WINDOW] for a in at]).astype(np.float32) / 32768


def of_all(at, judged):
    """What is made of the windows at some samples, a few of them at a time."""
    return np.concatenate([judged(at[i:i + 32]) for i in range(0, len(at), 32)])


def cuts(sound, fakes, at, seed):
    """What is spliced into a recording with windows at some samples: dicts of seconds, system, first window, samples of a
    part, and where in it the windows that have some of it begin."""
    for seconds in SPLICES:
        fit = [f for f in fakes if len(f["sound"]) >= seconds * RATE]
        if not fit or len(sound) < 4 * WINDOW + seconds * RATE:
            continue
        r = np.random.RandomState(seed + seconds)
        for f in (fit[i] for i in r.choice(len(fit), EACH)):
            from_ = r.randint(len(f["sound"]) - seconds * RATE + 1)
            begin, cut, part = spliced(sound, f["sound"][from_:from_ + seconds * RATE], r)
            index = [i for i, s in enumerate(at) if s + WINDOW > cut and s < cut + seconds * RATE]
            yield dict(seconds=seconds, system=f["system"], first=index[0], part=part, own=[at[i] - begin for i in index])


def score_source(rec, fakes, judge, voice):
    """Scores of one recording in each condition, and of the windows that splices change."""
    seed = int(hashlib.sha256(rec["name"].encode()).hexdigest()[:7], 16)
    out = dict(name=rec["name"], seconds=len(rec["sound"]) / RATE, genuine={})
    at = audio.window_starts(len(rec["sound"]), MOST)[:-1]
    spoken = dict(zip(at, of_all(at, lambda some: voice.spoken(windows_of(rec["sound"], some)))))
    for condition in CONDITIONS:
        x, = heard([rec["sound"]], condition, np.random.RandomState(seed))
        out["genuine"][condition] = of_all(at, lambda some: judge.log_odds(rec["model"], windows_of(x, some), np.array([spoken[a] for a in some])))
    splices = list(cuts(rec["sound"], [f for f in fakes if f["model"] == rec["model"]], at, seed))
    for s in splices:
        s.update(values={}, talks=voice.spoken(windows_of(s["part"], s["own"])))
    for condition in SPLICED:
        for s, x in zip(splices, heard([s["part"] for s in splices], condition, None) if splices else ()):
            s["values"][condition] = judge.log_odds(rec["model"], windows_of(x, s["own"]), s["talks"])
    out["splices"] = [{k: s[k] for k in ("seconds", "system", "first", "values")} for s in splices]
    return out


def scores(args, judge):
    """Scores of all sources, kept in the work folder."""
    os.makedirs(args.work, exist_ok=True)
    voice = Voice(args.voice)
    everything = list(clips(args.data, args.more))
    fakes = [dict(sound=c["sound"], system=folds.system_key(c["system"]), model=judge.of(c["repository"]))
             for c in everything if c["label"] and judge.of(c["repository"]) is not None]
    out = []
    for rec in recordings(everything, judge):
        key = hashlib.sha256(rec["name"].encode() + rec["sound"].tobytes()).hexdigest()[:24]
        path = os.path.join(args.work, f"stretch-{key}.npy")
        if not os.path.exists(path):
            np.save(path, np.array(score_source(rec, fakes, judge, voice), dtype=object), allow_pickle=True)
        out.append(np.load(path, allow_pickle=True).item())
        print(f"{rec['name']}: {out[-1]['seconds']:.0f} s, mean {np.nanmean(out[-1]['genuine']['clean']):.2f}", flush=True)
    return out


# The rule.


def highest(values, run_length):
    """Highest mean of so many windows in a row, all spoken; NaN where there is no such run."""
    sums = np.convolve(values, np.ones(run_length) / run_length, "valid")
    return np.nan if np.isnan(sums).all() else np.nanmax(sums)


def row(values, run_length):
    """What the rule goes by: worst stretch, whole, logarithm of the number of windows."""
    spoken = values[~np.isnan(values)]
    if not len(spoken):
        return np.nan, np.nan, 0.0
    return highest(values, run_length), spoken.mean(), np.log(len(spoken))


def longer(own, host, times, slope):
    """The row of a recording of so many times the length of one whose row is `own`, or `host` before something was spliced
    into it: what more there is of it is like the host, and its highest mean grows by the slope."""
    more = np.log(times)
    return max(own[0], host[0] + slope * more), host[1] + (own[1] - host[1]) / times, own[2] + more


def log_odds(rule, worst, whole, logarithm):
    """Those of stretches, by the rule."""
    return rule["scale"] * worst + rule["whole"] * whole - rule["growth"] * logarithm + rule["bias"]


def of_sound(card, values):
    """Log-odds of a sound from those of its windows, as the service has them."""
    rule = card["calibration"].get("stretch")
    if not rule or len(values) <= audio.SIDE_BY_SIDE:
        return float(np.mean(values))
    return float(max(np.mean(values), log_odds(rule, *row(values, rule["windows"]))))


def parts(source, seconds):
    """Ranges of windows of recordings of a length, spread over the source; the same for what is spliced in."""
    n, have = int((seconds * RATE - WINDOW) // audio.HOP) + 1, len(source["genuine"]["clean"])
    if have < n:
        return n, [0]
    return n, sorted({int(round(i)) for i in np.linspace(0, have - n, min(EACH, max(1, have // n)))})


def items(sources, run_length):
    """Rows of all recordings: dict of x, fake, weight, seconds, spliced, condition, group. Each source counts alike in each
    length; one that is shorter stands for a longer one by what growth() measures."""
    out, slope = collections.defaultdict(list), growth(sources, run_length)

    def add(x, *rest):
        if not np.isnan(x).any():
            for key, v in zip(("x", "fake", "weight", "seconds", "spliced", "condition", "group"), (x, *rest)):
                out[key].append(v)

    for number, s in enumerate(sources):
        for seconds in LENGTHS:
            n, firsts = parts(s, seconds)
            have = min(n, len(s["genuine"]["clean"]))
            for condition, values in s["genuine"].items():
                for first in firsts:
                    host = row(values[first:first + have], run_length)
                    add(longer(host, host, n / have, slope), 0, POOLED[condition] / len(firsts), seconds, 0, condition, number % GROUPS)
            for cut in s["splices"]:
                for condition, changed in cut["values"].items():
                    values = s["genuine"][condition].copy()
                    values[cut["first"]:cut["first"] + len(changed)] = changed
                    first = min(max(0, cut["first"] - have // 2), len(values) - have)
                    own, host = row(values[first:first + have], run_length), row(s["genuine"][condition][first:first + have], run_length)
                    add(longer(own, host, n / have, slope), 1, POOLED[condition], seconds, cut["seconds"], condition, number % GROUPS)
    return {k: np.array(v) for k, v in out.items()}


def lines(card):
    """Log-odds of the three lines."""
    p = np.array([card["operating_points"][name]["threshold"] for name, _ in LEVELS])
    return np.log(p / (1 - p))


def share(mask, of, weight):
    """Weighted share of the rows of a mask that are in another."""
    return float((weight * (mask & of)).sum() / weight[of].sum()) if of.any() else 0.0


def room(statistic, table, line, target):
    """The lowest threshold on the statistic by which, together with the line on the whole, no more genuine recordings of
    any length are called fake than the target, or than the line alone does."""
    lowest, whole = -np.inf, table["x"][:, 1] >= line
    for seconds in np.unique(table["seconds"]):
        own = (table["fake"] == 0) & (table["seconds"] == seconds)
        rest = np.flatnonzero(own & ~whole)
        order = rest[np.argsort(-statistic[rest])]
        alone = share(whole, own, table["weight"])
        called = alone + np.cumsum(table["weight"][order]) / table["weight"][own].sum()
        beyond = np.flatnonzero(called > max(target, alone) + 1e-9)
        if len(beyond):
            lowest = max(lowest, statistic[order[beyond[0]]] + MARGIN)
    return lowest


def growth(sources, run_length):
    """How much the highest mean of genuine speech grows with the logarithm of the number of windows, within a source."""
    above, wider = [], []
    for s in sources:
        for condition, values in s["genuine"].items():
            points = []
            for n in (8, 16, 32, 64, 128, 256):
                whole = [highest(values[i:i + n], run_length) for i in range(0, len(values) - n + 1, n)]
                if len(values) >= 2 * n and np.isfinite(whole).any():
                    points.append((np.log(n), np.nanmean(whole)))
            if len(points) > 1:
                x, y = np.array(points).T
                above.append(POOLED[condition] * (y - y.mean()) @ (x - x.mean()))
                wider.append(POOLED[condition] * (x - x.mean()) @ (x - x.mean()))
    return max(0.0, float(np.sum(above) / np.sum(wider)))


def fit(table, at, slope):
    """The rule: dict of scale, whole, growth, bias. The highest mean, less what it grows by with the number of windows, and
    that of all windows are weighed by a logistic regression of what is spliced against what is not, each length and each
    label of as much weight, but so that no recording says less for saying more everywhere; scale and bias then keep the
    rates at all lines."""
    weight = table["weight"].copy()
    for seconds in LENGTHS:
        for fake in (0, 1):
            own = (table["seconds"] == seconds) & (table["fake"] == fake)
            weight[own] /= max(weight[own].sum(), 1e-9)
    x = np.column_stack([table["x"] @ (1, 0, -slope), table["x"][:, 1]])
    a, b = LogisticRegression(C=1e3, max_iter=1000).fit(x, table["fake"], weight * len(weight) / weight.sum()).coef_[0]
    b = float(np.clip(b / a, -1, 1))
    statistic = x @ (1, b)
    floor = np.array([room(statistic, table, line, target) for line, (_, target) in zip(at, LEVELS)])
    best = None
    for scale in np.geomspace(0.1, 3, 60):
        bias = float((at - scale * floor).min())
        called = [table["x"][:, 1] >= line for line in at], [scale * statistic + bias >= line for line in at]
        found = np.mean([share(w | s, table["fake"] == 1, weight) for w, s in zip(*called)])
        if best is None or found > best[0]:
            best = found, dict(scale=float(scale), whole=float(scale * b), growth=float(scale * slope), bias=bias)
    return best


def measurements(table, rule, at):
    """What becomes of recordings of each length and condition, by the whole alone and by the rule."""
    x = table["x"]
    worst = log_odds(rule, *x.T)
    out = []
    for cut in (0, *SPLICES):
        for condition in (CONDITIONS if cut == 0 else SPLICED):
            for seconds in LENGTHS:
                own = (table["spliced"] == cut) & (table["seconds"] == seconds) & (table["condition"] == condition)
                if own.any():
                    out.append(dict(condition=condition, seconds=float(seconds), spliced=float(cut), items=int(own.sum()),
                                    whole=[round(share(x[:, 1] >= t, own, table["weight"]), 4) for t in at],
                                    called=[round(share((x[:, 1] >= t) | (worst >= t), own, table["weight"]), 4) for t in at]))
    return out


def print_table(measured):
    """The measurements in Markdown."""
    print("| condition | recording | spliced | items | whole alone 1 / 5 / 15 % | with the rule 1 / 5 / 15 % |\n|---|---|---|---|---|---|")
    for m in measured:
        whole, called = (" / ".join(f"{100 * v:.1f}" for v in m[k]) for k in ("whole", "called"))
        print(f"| {m['condition']} | {m['seconds'] / 60:.0f} min | {m['spliced']:.0f} s | {m['items']} | {whole} | {called} |")


def held_out(sources, at, run_length):
    """Rows of all recordings with the decisions of rules that were fitted without their sources, group by group."""
    table, slope = items(sources, run_length), growth(sources, run_length)
    out = np.zeros((len(at), len(table["fake"])), bool)
    for k in range(GROUPS):
        own = table["group"] == k
        _, rule = fit({key: v[~own] for key, v in table.items()}, at, slope)
        worst = log_odds(rule, *table["x"].T)
        for i, line in enumerate(at):
            out[i, own] = ((table["x"][:, 1] >= line) | (worst >= line))[own]
    for cut in (0, *SPLICES):
        for seconds in LENGTHS:
            own = (table["spliced"] == cut) & (table["seconds"] == seconds)
            if not own.any():
                continue
            rates = " / ".join(f"{100 * share(o, own, table['weight']):.1f}" for o in out)
            print(f"rules that do not know the source, all conditions, {seconds} s, {cut} s spliced, {int(own.sum())} items: {rates}")


def main():
    """Scores, fits, measures, writes."""
    args = arguments()
    judge = Judge(args.card, args.folds)
    if not judge.fold and not judge.known:
        sys.exit("the card does not name what the model knows: --folds is needed")
    sources, at = scores(args, judge), lines(judge.card)
    if len(sources) < 5:
        sys.exit(f"{len(sources)} sources of a minute of genuine speech that the models do not know are too few")
    tried = {n: fit(items(sources, n), at, growth(sources, n)) for n in RUNS}
    for n, (found, rule) in tried.items():
        print(f"stretches of {n} windows: {found:.3f} found in the mean, {rule}")
    n = max(tried, key=lambda k: tried[k][0])
    rule = tried[n][1]
    measured = measurements(items(sources, n), rule, at)
    print_table(measured)
    held_out(sources, at, n)
    if args.write:
        block = dict(windows=n, **{k: round(v, 6) for k, v in rule.items()}, measured=measured)
        judge.card["calibration"]["stretch"] = block
        export.write_json(judge.card, args.card)


if __name__ == "__main__":
    sys.exit(main())
