"""The card beside a converted model."""

import json

from convert import weights

VERSION = "1"
GOLDEN_TOLERANCE = 1e-3
LEVELS = ("strict", "balanced", "sensitive")


def skill(facts):
    """One sentence on what was measured, and a warning where that is little."""
    first = facts["measured"][0]
    low, high = first["auc_interval"]
    text = (
        f"Measured by us on {first['real']} genuine and {first['fake']} fake items of other sources: AUC {first['auc']:.2f} "
        f"[{low:.2f}, {high:.2f}]; at its authors' threshold {facts['genuine_called_fake']:.0%} of the genuine come out fake."
    )
    if low <= 0.5:
        return text + " No skill was shown there: don't rely on it."
    return text + " A second opinion, not to be used alone."


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
        "operating_points": {level: facts["operating_points"][level] for level in LEVELS},
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
