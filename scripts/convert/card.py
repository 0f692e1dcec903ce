"""The card beside a converted model."""

import json

from convert import weights

VERSION = "1"
GOLDEN_TOLERANCE = 1e-3


def skill(facts):
    """What was measured of clean media in a sentence, and a warning where that is little."""
    clean = [m for m in facts["measured"] if m["condition"] == "clean"]
    text = f"Measured by us on other sources: {'; '.join(map(found, clean))}; at its authors' threshold {facts['genuine_called_fake']:.0%} of the genuine come out fake."
    if all(m["auc_interval"][0] <= 0.5 for m in clean):
        return text + " No skill was shown there: don't rely on it."
    return text + " A second opinion, not to be used alone."


def found(measured):
    """One row of figures in words."""
    (low, high), kind = measured["auc_interval"], measured["set"].split(" of ")[0]
    return f"AUC {measured['auc']:.2f} [{low:.2f}, {high:.2f}] on {measured['real']} genuine and {measured['fake']} fake {kind}"


def write(published, facts, folder, golden):
    """Writes card.json beside model.onnx."""
    model = folder / "model.onnx"
    card = {
        "schema": 1,
        "name": published.name,
        "version": VERSION,
        "task": published.task,
        "description": f"{published.description} {skill(facts)}",
        "file": model.name,
        "sha256": weights.digest(model),
        "input": published.input,
        "output": {"name": "logit", "type": "float32", "shape": [-1]},
        "preprocessing": published.preprocessing,
        "calibration": facts["calibration"],
        "operating_points": facts["operating_points"],
        **{name: facts[name] for name in ("operating_points_by_medium",) if name in facts},
        "measured": facts["measured"],
        "training": {
            "recipe": "scripts/convert", "seed": 0, "cpu_minutes": 0,
            "started_from": f"published weights, unchanged: {', '.join(published.files)} of {published.origin} ({published.licence})",
            "sources": list(published.sources), "held_out_dropped": facts["held_out_dropped"],
        },
        "licences": {"code": "Apache-2.0", "weights": published.licence, "data": published.data},
        "golden": {"pattern": "lcg", "output": round(golden, 6), "tolerance": GOLDEN_TOLERANCE},
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")
