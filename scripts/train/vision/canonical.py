"""The canonical picture and its tiles, as the service makes them.

Whoever changes this changes the service too: the models are trained, judged
and calibrated on exactly these pixels.
"""

import io

import cv2
import numpy as np
from PIL import Image, ImageOps

LONGEST = 1280  # pixels; a longer side is shrunk to it by area averaging
TILE = 224  # pixels
QUALITY = 90  # of the JPEG compression of what is not lossy at its final size

cv2.setNumThreads(1)


def rgb(image):
    """The upright picture without transparency (white shines through), as an array."""
    image = ImageOps.exif_transpose(image)
    if image.mode in ("I", "I;16"):  # 16 bits, which Pillow clips to 8
        grey = np.rint(np.asarray(image, np.float64) * (255 / 65535)).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.mode in ("RGBA", "LA", "PA", "P") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGB", image.size, (255, 255, 255))
        paper.paste(image, mask=image.split()[3])
        image = paper
    return np.asarray(image.convert("RGB"))


def coded_lossily(image, data):
    """Whether a picture has been through a lossy encoder, by its format, or by the chunks of a WebP file."""
    if image.format != "WEBP":
        return image.format in ("JPEG", "MPO", "AVIF")
    at, kinds = 12, set()
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        kinds.add(data[at : at + 4])
        at += 8 + size + size % 2
    return b"VP8L" not in kinds


def shrink(pixels, longest):
    """Scales by area averaging to at most longest pixels; returns it and whether it did."""
    height, width = pixels.shape[:2]
    side = max(height, width)
    if side <= longest:
        return pixels, False
    # Halves round up: integer arithmetic, the same in every language.
    size = [max(1, (2 * v * longest + side) // (2 * side)) for v in (width, height)]
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), True


def compress(pixels, quality, subsampling=2, kind="JPEG"):
    """One round of lossy compression; subsampling 0 is 4:4:4 and 2 is 4:2:0."""
    buffer = io.BytesIO()
    options = {"method": 1} if kind == "WEBP" else {"subsampling": subsampling}
    Image.fromarray(pixels).save(buffer, kind, quality=int(quality), **options)
    return np.asarray(Image.open(io.BytesIO(buffer.getvalue())).convert("RGB"))


def canonical(pixels, lossy):
    """The canonical picture of a decoded one; lossy says whether its file was."""
    pixels, smaller = shrink(pixels, LONGEST)
    return pixels if lossy and not smaller else compress(pixels, QUALITY)


def pad(pixels, side=TILE):
    """Reflects the right and lower edge outwards, without repeating it, until both sides reach side."""
    height, width = pixels.shape[:2]
    if min(height, width) >= side:
        return pixels
    down, right = max(0, side - height), max(0, side - width)
    return cv2.copyMakeBorder(np.ascontiguousarray(pixels), 0, down, 0, right, cv2.BORDER_REFLECT_101)


def tile_grid(width, height, tiles):
    """How many columns and rows of tiles are cut; at most tiles in all.

    It starts with one tile and adds a column or a row at a time: a column
    where width*rows >= height*columns, otherwise a row; if that one may not be
    added, the other one. A column may be added while there are fewer than
    ceil(width/224) and the product stays within tiles; a row likewise.
    """
    most_columns, most_rows = -(-width // TILE), -(-height // TILE)
    columns = rows = 1
    while True:
        wider = columns < most_columns and (columns + 1) * rows <= tiles
        taller = rows < most_rows and columns * (rows + 1) <= tiles
        if wider and (width * rows >= height * columns or not taller):
            columns += 1
        elif taller:
            rows += 1
        else:
            return columns, rows


def tile_origins(width, height, tiles):
    """The (x, y) of the upper left corner of each tile, row by row.

    width and height are those of the canonical picture after padding, both at
    least 224. tile_grid says how many columns and rows there are. Column i of
    n begins at x = (width-224)*i // (n-1), and at (width-224) // 2 where n is
    1; rows likewise with the height. All of it is integer arithmetic, // being
    the quotient rounded down.
    """
    columns, rows = tile_grid(width, height, tiles)

    def starts(length, n):
        return [(length - TILE) // 2] if n == 1 else [(length - TILE) * i // (n - 1) for i in range(n)]

    return [(x, y) for y in starts(height, rows) for x in starts(width, columns)]


def tiles_of(pixels, tiles):
    """The tiles of a canonical picture, N×224×224×3 uint8."""
    pixels = pad(pixels)
    origins = tile_origins(pixels.shape[1], pixels.shape[0], tiles)
    return np.stack([pixels[y : y + TILE, x : x + TILE] for x, y in origins])


def overview_factor(pixels, side=TILE):
    """The whole factor that brings the shorter side nearest to side; at 1 or less there is no overview."""
    return (2 * min(pixels.shape[:2]) + side) // (2 * side)


def reduced(pixels, by):
    """Each pixel the mean of a block of by×by, rounded; what is left over at the right and lower edge is dropped."""
    height, width = (v // by for v in pixels.shape[:2])
    blocks = pixels[: height * by, : width * by].reshape(height, by, width, by, 3).astype(np.uint32)
    return ((blocks.sum((1, 3)) + by * by // 2) // (by * by)).astype(np.uint8)


def overview(pixels, side=TILE):
    """The middle of a canonical picture, reduced as a whole."""
    small = pad(reduced(pixels, max(1, overview_factor(pixels, side))), side)
    y, x = ((v - side) // 2 for v in small.shape[:2])
    return np.ascontiguousarray(small[y : y + side, x : x + side])
