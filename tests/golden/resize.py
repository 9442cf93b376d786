# SPDX-License-Identifier: Apache-2.0
"""resize.py > resize.txt: PyTorch's bilinear resizing with antialiasing, in double, unrounded.

Each case is a line with the old and new height and width, then one with the new pixels. Old pixel i is 73·i mod 256."""
import torch

for height, width, new_height, new_width in ((4, 4, 2, 2), (7, 5, 3, 4), (3, 4, 7, 9), (12, 9, 5, 2), (6, 10, 11, 3)):
    pixels = torch.arange(height * width, dtype=torch.float64).mul(73).remainder(256).view(1, 1, height, width)
    resized = torch.nn.functional.interpolate(pixels, (new_height, new_width), mode="bilinear", antialias=True)
    print(height, width, new_height, new_width)
    print(*(f"{value:.12g}" for value in resized.flatten().tolist()))
