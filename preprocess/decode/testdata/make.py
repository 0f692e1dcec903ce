"""Draw the pictures that the tests cannot draw by themselves.

Run it in this folder with FFmpeg, Pillow and pillow-heif installed:

    pip install pillow==13.0.0 pillow-heif==1.8.1 && python3 make.py

Every picture is 96 by 64 pixels, HEIC ones twice that: red, green over blue, yellow. The files named
after an orientation hold the picture turned so that the orientation undoes it.
"""

import os
import subprocess

from PIL import Image, ImageDraw
import pillow_heif

W, H = 96, 64
RED, GREEN, BLUE, YELLOW = (220, 40, 30), (30, 180, 60), (40, 60, 210), (230, 210, 40)


def twice(img):
    """The HEIC decoder cannot do pictures as narrow as the others are."""
    return img.resize((2 * img.width, 2 * img.height), Image.NEAREST)


def drawn():
    img = Image.new("RGB", (W, H), RED)
    pen = ImageDraw.Draw(img)
    pen.rectangle((W // 2, 0, W, H // 2 - 1), fill=GREEN)
    pen.rectangle((0, H // 2, W // 2 - 1, H), fill=BLUE)
    pen.rectangle((W // 2, H // 2, W, H), fill=YELLOW)
    return img


def inks(img):
    """Black is taken out of the colours, so that all four inks matter."""
    out = Image.new("CMYK", img.size)
    for y in range(H):
        for x in range(W):
            r, g, b = img.getpixel((x, y))
            k = 255 - max(r, g, b)
            rest = 255 - k
            out.putpixel((x, y), tuple(round(255 * (rest - v) / rest) for v in (r, g, b)) + (k,))
    return out


def without_adobe(data):
    """Cut the Adobe segment out: without it, inks are taken to be plain."""
    at = data.index(b"\xff\xee")
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4], "big") :]


def cmyk():
    img = inks(drawn())
    img.save("cmyk-adobe.jpg", quality=92, subsampling=0)
    img.save("cmyk-halved.jpg", quality=92, subsampling=2)
    plain = Image.eval(img, lambda v: 255 - v)  # Pillow inverts what it writes
    plain.save("cmyk-plain.jpg", quality=92, subsampling=0)
    data = without_adobe(open("cmyk-plain.jpg", "rb").read())
    open("cmyk-plain.jpg", "wb").write(data)


def progressive():
    drawn().save("progressive.jpg", quality=92, progressive=True)


def orientations():
    turned = {
        1: None, 2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM,
        5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270,
    }
    for orientation, undo in turned.items():
        img = drawn() if undo is None else drawn().transpose(undo)
        exif = Image.Exif()
        exif[0x0112] = orientation
        name = f"orientation{orientation}"
        pillow_heif.from_pillow(twice(img)).save(name + ".heic", quality=90, exif=exif.tobytes())
        img.save(name + ".avif", quality=90, exif=exif.tobytes())
        img.save(name + ".tiff", compression="tiff_lzw", tiffinfo={0x0112: orientation})
        img.save(name + ".webp", quality=90, exif=exif.tobytes())
        img.save(name + ".png", exif=exif.tobytes())
        img.save(name + ".jpg", quality=92, subsampling=0, exif=exif.tobytes())


def heic():
    pillow_heif.from_pillow(twice(drawn())).save(
        "bt709-limited.heic", quality=90, color_primaries=1, matrix_coefficients=1, full_range_flag=0,
        save_nclx_profile=True)
    pillow_heif.from_pillow(drawn()).save("narrow.heic", quality=90)
    pillow_heif.from_pillow(twice(drawn()).convert("L")).save("grey.heic", quality=90)
    pillow_heif.from_pillow(twice(drawn())).save("chroma444.heic", quality=90, chroma=444)
    half = twice(drawn()).convert("RGBA")
    half.putalpha(128)
    pillow_heif.from_pillow(half).save("alpha.heic", quality=90)
    deep = twice(drawn())
    raw = b"".join((v * 257 >> 4 << 4).to_bytes(2, "little") for p in deep.get_flattened_data() for v in p)
    f = pillow_heif.from_bytes("RGB;16", deep.size, raw)
    f.save("deep.heic", quality=90)


def avif():
    drawn().save("drawn.tmp.png")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", "drawn.tmp.png", "-vf", "scale=out_range=full:out_color_matrix=bt709", "-pix_fmt", "yuv420p10le",
                    "-color_range", "pc", "-colorspace", "bt709",
                    "-still-picture", "1", "-crf", "10", "deep.avif"], check=True)
    os.remove("drawn.tmp.png")
    half = drawn().convert("RGBA")
    half.putalpha(128)
    half.save("alpha.avif", quality=90)
    clear = drawn().convert("RGBA")
    clear.putalpha(0)
    clear.save("transparent.avif", quality=90)
    half.save("half.tmp.png")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", "half.tmp.png", "-filter_complex",
                    "[0:v]split[a][b];[a]format=rgb24,scale=out_range=full:out_color_matrix=bt709,format=yuv420p10le[c];"
                    "[b]alphaextract,format=gray10le[d]", "-map", "[c]", "-map", "[d]", "-c:v", "libaom-av1",
                    "-cpu-used", "8", "-still-picture", "1", "-crf", "10", "-color_range", "pc", "-colorspace", "bt709",
                    "deep-alpha.avif"], check=True)
    os.remove("half.tmp.png")


def webp():
    """Three whole frames, red, green and blue; and two that are half transparent."""
    frames = [Image.new("RGBA", (W, H), c + (255,)) for c in (RED, GREEN, BLUE)]
    for lossless, name in ((True, "animated-lossless.webp"), (False, "animated-lossy.webp")):
        frames[0].save(name, save_all=True, append_images=frames[1:], duration=[100, 200, 300], lossless=lossless)
    half = Image.new("RGBA", (W, H), RED + (128,))
    half.save("animated-alpha.webp", save_all=True, append_images=[Image.new("RGBA", (W, H), BLUE + (128,))],
              duration=100, lossless=False, quality=90)


def tiff():
    for name in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "raw"):
        drawn().save(f"{name.removeprefix('tiff_')}.tiff", compression=name)
    inks(drawn()).save("cmyk.tiff", compression="tiff_lzw")
    drawn().convert("P").save("palette.tiff", compression="tiff_lzw")
    half = drawn().convert("RGBA")
    half.putalpha(128)
    half.save("alpha.tiff", compression="tiff_lzw")
    drawn().convert("1", dither=Image.NONE).save("fax.tiff", compression="group4")
    drawn().save("pages.tiff", compression="tiff_lzw", save_all=True, append_images=[Image.new("RGB", (8, 8))])


if __name__ == "__main__":
    cmyk()
    progressive()
    orientations()
    heic()
    avif()
    webp()
    tiff()
