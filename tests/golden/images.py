# SPDX-License-Identifier: Apache-2.0
"""images.py FOLDER: writes small BMP, GIF, TIFF and WebP files, and NAME.png beside each: the pixels that Pillow decodes.

Needs Pillow 13, numpy, tifffile and imagecodecs. Files that Pillow cannot write are composed from bytes here."""
import pathlib
import struct
import sys

import numpy
import tifffile
from PIL import Image, ImageOps

HEIGHT, WIDTH = 21, 19
to = pathlib.Path(sys.argv[1])
y, x = numpy.mgrid[:HEIGHT, :WIDTH]
colour = numpy.stack([7 * x + 5 * y, 240 - 9 * y, 3 * x * y], axis=-1).astype(numpy.uint8)
grey = (11 * x + 3 * y).astype(numpy.uint8)
alpha = (255 - 12 * x).astype(numpy.uint8)
deep = colour.astype(numpy.uint16) * 256 + 77
inks = numpy.concatenate([colour, grey[..., None] // 2], axis=-1)
indices = ((x + 2 * y) % 16).astype(numpy.uint8)
rainbow = [(37 * i + c * 90) % 256 for i in range(256) for c in range(3)]


def expect(name, shown=None):
    """Writes NAME.png: the pixels `shown`, or those that Pillow decodes."""
    if shown is None:
        shown = Image.open(to / name).convert("RGB")
    shown.save(to / (name + ".png"))


def put(name, data, shown=None):
    (to / name).write_bytes(data)
    expect(name, shown)


def save(name, image, **how):
    image.save(to / name, **how)
    expect(name)


def paletted(values, entries=256):
    image = Image.fromarray(values).convert("L")
    image = Image.frombytes("P", image.size, values.tobytes())
    image.putpalette(rainbow[:3 * entries])
    return image


# ---- BMP ---------------------------------------------------------------------------------------------------
def bmp(bits, rows, compression=0, palette=b"", masks=b"", height=HEIGHT, header=40):
    head = struct.pack("<IiiHHIIiiII", header, WIDTH, height, 1, bits, compression, len(rows), 0, 0, len(palette) // 4, 0)
    head += masks + bytes(max(0, header - 40 - len(masks)))
    return struct.pack("<2sIHHI", b"BM", 14 + len(head) + len(palette) + len(rows), 0, 0, 14 + len(head) + len(palette)) + head + palette + rows


def rows_of(values, width, upside_down=True):
    """Rows of bytes, each padded to a multiple of four bytes."""
    return b"".join(row.tobytes() + bytes(-len(row.tobytes()) % 4) for row in (values[::-1] if upside_down else values))


blue_first = b"".join(bytes([rainbow[3 * i + 2], rainbow[3 * i + 1], rainbow[3 * i], 0]) for i in range(256))
save("24.bmp", Image.fromarray(colour))
save("grey.bmp", Image.fromarray(grey))
save("8.bmp", paletted(indices))
save("1.bmp", Image.fromarray(grey > 128))
save("32.bmp", Image.fromarray(numpy.dstack([colour, alpha]), "RGBA"))
nibbles = numpy.pad(indices, ((0, 0), (0, WIDTH % 2)))
put("4.bmp", bmp(4, rows_of(nibbles[:, ::2] * 16 + nibbles[:, 1::2], WIDTH), palette=blue_first[:64]))
put("top_down.bmp", bmp(24, rows_of(colour[..., ::-1], WIDTH, upside_down=False), height=-HEIGHT))
five = (colour.astype(numpy.uint16) >> 3) @ numpy.array([1 << 10, 1 << 5, 1], numpy.uint16)
put("16.bmp", bmp(16, rows_of(five, WIDTH)))
six = ((colour[..., 0].astype(numpy.uint16) >> 3) << 11) | ((colour[..., 1].astype(numpy.uint16) >> 2) << 5) | (colour[..., 2].astype(numpy.uint16) >> 3)
put("565.bmp", bmp(16, rows_of(six, WIDTH), 3, masks=struct.pack("<III", 0xf800, 0x7e0, 0x1f)))
swapped = colour.astype(numpy.uint32) @ numpy.array([1, 1 << 8, 1 << 16], numpy.uint32)
put("masks.bmp", bmp(32, rows_of(swapped, WIDTH), 3, masks=struct.pack("<IIII", 0xff, 0xff00, 0xff0000, 0xff000000), header=56))
core = struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, 24)
core_rows = rows_of(colour[..., ::-1], WIDTH)
put("core.bmp", struct.pack("<2sIHHI", b"BM", 26 + len(core_rows), 0, 0, 26) + core + core_rows)
# Runs, literals of odd and even length, ends of rows that are not full, and a step to the right and up.
run8, shown8 = b"", numpy.zeros((HEIGHT, WIDTH), numpy.uint8)
for row in range(HEIGHT):  # from the bottom
    if row == 4:
        run8 += bytes([0, 2, 3, 2])  # 3 to the right, 2 up
        row = 6
        run8 += bytes([5, 9]) + bytes([0, 0])
        shown8[6, 3:8] = 9
    elif row in (5, 6):
        continue
    elif row % 3 == 0:
        run8 += bytes([7, row]) + bytes([12, row + 1]) + bytes([0, 0])
        shown8[row, :7], shown8[row, 7:] = row, row + 1
    elif row % 3 == 1:
        run8 += bytes([0, 5, 1, 2, 3, 4, 5, 0]) + bytes([0, 4, 6, 7, 8, 9]) + bytes([0, 0])
        shown8[row, :9] = range(1, 10)
    else:
        run8 += bytes([WIDTH, 200]) + bytes([0, 0])
        shown8[row] = 200
put("rle8.bmp", bmp(8, run8 + bytes([0, 1]), 1, palette=blue_first), paletted(shown8[::-1].copy()).convert("RGB"))
run4, shown4 = b"", numpy.zeros((HEIGHT, WIDTH), numpy.uint8)
for row in range(HEIGHT):
    run4 += bytes([9, 0x3c]) + bytes([0, 6, 0x12, 0x34, 0x56, 0]) + bytes([3, 0x70 + row % 16]) + bytes([0, 0])
    shown4[row] = [3, 12] * 4 + [3] + [1, 2, 3, 4, 5, 6] + [7, row % 16, 7] + [0]
put("rle4.bmp", bmp(4, run4 + bytes([0, 1]), 2, palette=blue_first[:64]), paletted(shown4[::-1].copy()).convert("RGB"))

# ---- GIF ---------------------------------------------------------------------------------------------------
many = ((13 * x * y + 5 * x) % 256).astype(numpy.uint8)
save("plain.gif", paletted(many), interlace=0)
save("interlaced.gif", paletted(many), interlace=1)
save("frames.gif", paletted(indices), save_all=True, append_images=[paletted(many)], duration=50)
save("transparent.gif", paletted(indices, 16), transparency=3)
save("grey.gif", Image.fromarray(grey), interlace=0)
big = (numpy.arange(150 * 160) * 7919 % 251).astype(numpy.uint8).reshape(150, 160)  # more strings than LZW's table has places
save("full_table.gif", paletted(big), interlace=0)
whole = (to / "transparent.gif").read_bytes()
screen = whole[:6] + struct.pack("<HH", WIDTH + 5, HEIGHT + 3) + whole[10:]  # the frame is a part of the screen
place = screen.index(b"\x2c", 13 + 48)
screen = screen[:place + 1] + struct.pack("<HH", 2, 1) + screen[place + 5:]
put("part.gif", screen)
put("outside.gif", whole[:place + 1] + struct.pack("<HH", 4, 6) + whole[place + 5:])  # the frame enlarges the screen

# ---- TIFF --------------------------------------------------------------------------------------------------
for codec in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
    save(codec + ".tif", Image.fromarray(colour), compression=None if codec == "raw" else codec)
save("grey.tif", Image.fromarray(grey), compression="tiff_lzw")
save("fax.tif", Image.fromarray(grey > 100), compression="group4")
save("palette.tif", paletted(many), compression="tiff_lzw")
save("cmyk.tif", Image.fromarray(inks, "CMYK"), compression="tiff_adobe_deflate")
save("alpha.tif", Image.fromarray(numpy.dstack([colour, alpha]), "RGBA"))
save("grey_alpha.tif", Image.fromarray(numpy.dstack([grey, alpha]), "LA"))


def tiled(name, values, shown=None, **how):
    tifffile.imwrite(to / name, values, metadata=None, **how)
    expect(name, shown)


def high(values):
    return Image.fromarray((values >> 8).astype(numpy.uint8)).convert("RGB")


tiled("tiles.tif", colour, tile=(16, 16), photometric="rgb", compression="lzw", predictor=True)
tiled("planar.tif", colour.transpose(2, 0, 1).copy(), photometric="rgb", planarconfig="separate", compression="deflate", rowsperstrip=8)
tiled("planar_tiles.tif", colour.transpose(2, 0, 1).copy(), photometric="rgb", planarconfig="separate", tile=(16, 16))
tiled("big_endian.tif", deep, high(deep), byteorder=">", photometric="rgb", compression="lzw", predictor=True, rowsperstrip=5)
tiled("deep_grey.tif", deep[..., 0].copy(), high(deep[..., 0]), photometric="minisblack", compression="packbits")
tiled("big.tif", colour, bigtiff=True, photometric="rgb")
tiled("white_is_0.tif", grey, photometric="miniswhite")
premultiplied = numpy.dstack([colour.astype(numpy.uint16) * alpha[..., None] // 255, alpha]).astype(numpy.uint8)
tiled("premultiplied.tif", premultiplied, photometric="rgb", extrasamples=["assocalpha"])
smooth = numpy.stack([100 + 3 * x, 50 + 4 * y, 200 - 2 * x - 2 * y], axis=-1).astype(numpy.uint8)
save("jpeg.tif", Image.fromarray(smooth), compression="jpeg")
for orientation in (3, 6):
    tiled(f"orientation_{orientation}.tif", colour, photometric="rgb", extratags=[(274, 3, 1, orientation, True)],
          shown=Image.fromarray(colour))
tiled("big_orientation_8.tif", colour, photometric="rgb", bigtiff=True, extratags=[(274, 3, 1, 8, True)], shown=Image.fromarray(colour))

# ---- WebP --------------------------------------------------------------------------------------------------
save("lossless.webp", Image.fromarray(colour), lossless=True)
save("lossy.webp", Image.fromarray(smooth), quality=80)
save("alpha.webp", Image.fromarray(numpy.dstack([colour, alpha]), "RGBA"), lossless=True, exact=True)
exif = Image.Exif()
exif[274] = 6
save("orientation_6.webp", Image.fromarray(colour), lossless=True, exif=exif)
for name in ("orientation_6.webp", "orientation_3.tif", "orientation_6.tif", "big_orientation_8.tif"):
    shown = ImageOps.exif_transpose(Image.open(to / name)).convert("RGB")
    shown.save(to / (name + ".shown.png"))
