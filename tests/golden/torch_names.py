# SPDX-License-Identifier: Apache-2.0
"""Writes torch_names.txt beside it: names, shapes and outputs of PyTorch's modules, for interchange/name_map_test.cpp.

python3 tests/golden/torch_names.py    (made with PyTorch 2.15 and torchvision's resnet.py, in double precision)

`resnet`: torchvision's ResNet of bottleneck blocks (2, 1, 1, 1 in the four stages, 5 classes) on images of 3x32x32, in evaluation
mode; the output is the softmax. `lstm` and `gru`: one layer, 3 features, 4 units, 5 steps, batch 2. Each tensor of the state is a line of
its name and shape. Element i of tensor k (in the order of the sorted names) is sin(1.1 i + k) times 1.5 / sqrt(elements / first extent), or
times 0.3 if it has one extent. Scales and variances, which end with .weight and .running_var and have one extent in `resnet`, are 1 plus this value.
Element i of the input is sin(0.7 i).
"""
import math
import pathlib

import torch
from torchvision.models.resnet import Bottleneck, ResNet

torch.set_default_dtype(torch.float64)
BATCH = 2


def fill(module):
    state = module.state_dict()
    lines = []
    for number, name in enumerate(sorted(state)):
        tensor = state[name]
        lines.append(f"{name} " + "".join(f"{extent} " for extent in tensor.shape) + ":")
        if not tensor.is_floating_point():
            continue
        factor = 0.3 if tensor.dim() == 1 else 1.5 / math.sqrt(tensor.numel() / tensor.shape[0])
        values = torch.sin(1.1 * torch.arange(tensor.numel()) + number) * factor
        tensor.copy_(values.reshape(tensor.shape) + (tensor.dim() == 1 and name.endswith((".weight", ".running_var"))))
    return lines


def case(name, module, extents, output_of):
    lines = fill(module)
    inputs = torch.sin(0.7 * torch.arange(BATCH * math.prod(extents))).reshape(BATCH, *extents)
    with torch.no_grad():
        output = output_of(module.eval()(inputs))
    return [f"case {name} batch {BATCH}", *lines, "output " + " ".join(f"{v:.13g}" for v in output.flatten().tolist())]


def main():
    lines = case("resnet", ResNet(Bottleneck, [2, 1, 1, 1], num_classes=5), (3, 32, 32), lambda y: torch.softmax(y, 1))
    lines += case("lstm", torch.nn.LSTM(3, 4, batch_first=True), (5, 3), lambda y: y[0])
    lines += case("gru", torch.nn.GRU(3, 4, batch_first=True), (5, 3), lambda y: y[0])
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
