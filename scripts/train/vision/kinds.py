"""Kinds of media, by which false alarms are counted."""

# Parts of the names of sources of genuine pictures, each with its kind: the first that fits.
WORDS = (
    ("film scan", "film"), ("film photo", "film"), ("old photo", "film"), ("paint", "art"), ("art by", "art"), ("drawing", "drawings"), ("anime", "drawings"),
    ("illustration", "drawings"), ("comic", "drawings"), ("render", "renderings"), ("game", "renderings"), ("screenshot", "screenshots"),
    ("document", "scans"), ("scan", "scans"), ("stock", "stock"), ("template", "stock"), ("wallpaper", "stock"), ("night", "night"), ("astro", "night"),
    ("phone", "phone"), ("snapshot", "phone"), ("product", "products"), ("grocer", "products"), ("photographer", "photographs"),
    ("professional", "photographs"), ("press", "photographs"), ("event", "photographs"), ("portrait", "portraits"), ("face", "portraits"),
    ("camera", "camera"), ("web phot", "web"),
)


def kind(item):
    """What sources.tsv says of the item; else, of genuine media, what the name of the source does; else nothing."""
    if item.kind or item.fake:
        return item.kind
    name = item.generator.lower()
    return next((kind for part, kind in WORDS if part in name), "")
