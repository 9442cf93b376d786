# SPDX-License-Identifier: Apache-2.0
"""colour.py > colour.txt: torchvision's changes of colour for bytes, by its formulas in NumPy, in f32.

python3 tests/golden/colour.py > tests/golden/colour.txt    (made with NumPy 2.2)

Each case is a line `change factor channels height width`, then one with the new pixels. Old pixel i is 73·i + i // 7
modulo 256. The formulas are those of torchvision/transforms/_functional_tensor.py (0.17): _blend, rgb_to_grayscale,
_rgb2hsv, _hsv2rgb and convert_image_dtype.
"""
import numpy as np

f32 = np.float32


def blend(image, other, ratio):
    mixed = f32(ratio) * image.astype(f32) + f32(1.0 - ratio) * np.asarray(other, f32)
    return np.clip(mixed, 0, 255).astype(np.uint8)


def grey(image):
    r, g, b = image.astype(f32)
    return (f32(0.2989) * r + f32(0.587) * g + f32(0.114) * b).astype(np.uint8)


def brightness(image, factor):
    return blend(image, np.zeros_like(image), factor)


def contrast(image, factor):
    mean = np.mean((grey(image) if image.shape[0] == 3 else image).astype(f32))
    return blend(image, mean, factor)


def saturation(image, factor):
    return image if image.shape[0] == 1 else blend(image, grey(image)[None], factor)


def to_hsv(image):
    r, g, b = image
    most, least = image.max(axis=0), image.min(axis=0)
    equal = most == least
    span = most - least
    s = span / np.where(equal, f32(1), most)
    divisor = np.where(equal, f32(1), span)
    rc, gc, bc = (most - r) / divisor, (most - g) / divisor, (most - b) / divisor
    hr = (most == r) * (bc - gc)
    hg = ((most == g) & (most != r)) * (f32(2) + rc - bc)
    hb = ((most != g) & (most != r)) * (f32(4) + gc - rc)
    h = np.fmod((hr + hg + hb) / f32(6) + f32(1), f32(1))
    return h.astype(f32), s, most


def to_rgb(h, s, v):
    i = np.floor(h * f32(6))
    f = h * f32(6) - i
    i = i.astype(np.int32) % 6
    p = np.clip(v * (f32(1) - s), 0, 1)
    q = np.clip(v * (f32(1) - s * f), 0, 1)
    t = np.clip(v * (f32(1) - s * (f32(1) - f)), 0, 1)
    rows = [(v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q)]
    return np.stack([np.choose(i, row) for row in rows])


def hue(image, shift):
    if image.shape[0] == 1:
        return image
    h, s, v = to_hsv(image.astype(f32) / f32(255))
    made = to_rgb(((h + f32(shift)) % f32(1)).astype(f32), s, v)
    return (made * f32(255 + 1.0 - 1e-3)).astype(np.uint8)


def pixels(channels, height, width):
    i = np.arange(channels * height * width)
    return ((73 * i + i // 7) % 256).astype(np.uint8).reshape(channels, height, width)


for change, factor, channels in (
    (brightness, 0.4, 3), (brightness, 1.7, 3), (brightness, 0.5, 1), (contrast, 0.3, 3), (contrast, 1.9, 3),
    (contrast, 0.6, 1), (saturation, 0.0, 3), (saturation, 0.45, 3), (saturation, 2.5, 3), (hue, 0.1, 3), (hue, -0.37, 3),
    (hue, 0.5, 3), (saturation, 0.3, 1),
):  # fmt: skip
    print(change.__name__, factor, channels, 5, 6)
    print(*change(pixels(channels, 5, 6), factor).flatten().tolist())
