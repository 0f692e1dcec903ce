"""Who speaks, where the path tells."""

import re

# repository or corpus: what the path of its files says about the speaker; no group where there is only one.
PATTERNS = (
    ("speechocean762", re.compile(r"SPEAKER(\d+)")),
    ("EmoDB", re.compile(r"(?:Angry|Neutral|Happy|Sad)/(\d\d)[ab]\d\d[A-Z]")),
    ("VCTK", re.compile(r"(?<![A-Za-z\d])(p[23]\d\d)(?!\d)")),
    ("LJSpeech", re.compile(r"LJ0\d\d|lj_?speech|/lj[_/]|\[lj-", re.I)),
    ("MLS", re.compile(r"mls_[a-z]+_(\d+)_\d+_\d+")),
    ("LibriSpeech", re.compile(r"(?<!\d)(?<!\d[-_])(\d{2,4})[-_]\d{3,6}[-_]\d{4,6}")),
    ("ARCTIC", re.compile(r"cmu_us_([a-z]{3})(?![a-z])|cmu_([a-z]{3})-")),
    ("Tortoise", re.compile(r"tortoise/voices/([^/]+)/")),
)


def speaker(path):
    """CORPUS:NAME of each voice that a file's path names, with | between them: a conversion has two, maybe of two corpora."""
    found = [(corpus, voice) for corpus, pattern in PATTERNS for voice in pattern.finditer(path)]
    return "|".join(dict.fromkeys(f"{corpus}:{next(filter(None, voice.groups()), 'only')}" for corpus, voice in found))


def voices(speaker):
    """What `speaker` has joined."""
    return set(speaker.split("|")) - {""}
