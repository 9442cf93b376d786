# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files of PyTorch's exporters, and values.txt, into tests/golden/onnx_torch, in the format of onnx_cases.py.

python3 tests/golden/onnx_torch.py    (made with PyTorch 2.15 and torchvision 0.29; needs onnx and onnxscript)

The outputs are PyTorch's. The exporters write `Shape` and operators on its result instead of the extents that they know.
"""
import warnings

import onnx
import torch
from onnx_cases import write_cases
from torch import nn
from torch.nn import functional as f
from torchvision.models import MaxVit, SwinTransformer, VisionTransformer
from torchvision.models.convnext import CNBlockConfig, ConvNeXt

warnings.filterwarnings("ignore")


class function(nn.Module):
    """Layers, and a function of them and the input."""

    def __init__(self, of, **layers):
        super().__init__()
        self.of = of
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x):
        return self.of(self, x)


def last_step(layer):
    width = layer.hidden_size * (2 if layer.bidirectional else 1)
    return function(lambda m, x: m.fc(m.steps(x)[0][:, -1]), steps=layer, fc=nn.Linear(width, 3))


def squeeze_and_excite(m, x):
    return x * f.hardsigmoid(m.up(f.relu(m.down(f.adaptive_avg_pool2d(x, 1)))))


def attended(m, x):
    return m.fc(m.heads(x, x, x, need_weights=False)[0].mean(1))


class encoder_and_decoder(nn.Module):
    """A small U-Net: images are halved, enlarged again and joined with the channels before."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.second = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, padding=1), nn.GroupNorm(3, 6), nn.SiLU())
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.last = nn.Conv2d(10, 2, 3, padding=1)

    def forward(self, x):
        before = self.first(x)
        return self.last(torch.cat([before, self.up(self.second(before))], 1))


def encoder_layer(**how):
    return nn.Sequential(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, **how), nn.Flatten(), nn.Linear(56, 3))


def vision_transformer():
    return VisionTransformer(image_size=8, patch_size=4, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=12, num_classes=3)


def swin_transformer():
    """Images of 4 x 4 patches, padded to windows of 3 x 3; of these, 4 are shifted."""
    return SwinTransformer(patch_size=[2, 2], embed_dim=8, depths=[2, 1], num_heads=[2, 2], window_size=[3, 3], num_classes=3)


def max_vit():
    return MaxVit(input_size=(16, 16), stem_channels=4, partition_size=2, block_channels=[8], block_layers=[1], head_dim=4,
                  stochastic_depth_prob=0, num_classes=3)


def conv_next():
    return ConvNeXt([CNBlockConfig(6, 8, 1), CNBlockConfig(8, None, 1)], layer_scale=0.5, num_classes=3)


def every_second(m, x):
    return m.fc(torch.cat([x[:, :, 0::2, 1::2], x[:, :, 1::2, 0:5:2]], 1).mean((2, 3)))


IMAGE, ROW, STEPS, LARGE_IMAGE = (3, 6, 6), (6,), (7, 4), (3, 16, 16)
# name -> module, extents of an example, operator set
MODELS = {
    "view_size": (function(lambda m, x: m.fc(m.conv(x).view(x.size(0), -1)), conv=nn.Conv2d(3, 2, 3), fc=nn.Linear(32, 4)), IMAGE, 17),
    "reshape_shape": (function(lambda m, x: m.conv(x).reshape(x.shape[0], 2, -1).mean(2), conv=nn.Conv2d(3, 2, 3)), IMAGE, 17),
    "chunk": (function(lambda m, x: (lambda a, b: a * torch.sigmoid(b))(*m.fc(x).chunk(2, 1)), fc=nn.Linear(6, 8)), ROW, 17),
    "interpolate_size": (function(lambda m, x: m.conv(f.interpolate(x, size=(12, 18))), conv=nn.Conv2d(3, 2, 1)), IMAGE, 17),
    "interpolate_factor": (function(lambda m, x: m.conv(f.interpolate(x, scale_factor=2)), conv=nn.Conv2d(3, 2, 1)), IMAGE, 17),
    "hard_swish": (nn.Sequential(nn.Conv2d(3, 2, 3), nn.Hardswish(), nn.Flatten(), nn.Linear(32, 4)), IMAGE, 17),
    "hard_sigmoid": (function(squeeze_and_excite, down=nn.Conv2d(3, 2, 1), up=nn.Conv2d(2, 3, 1)), IMAGE, 17),
    "layer_norm": (nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.Linear(5, 2)), ROW, 13),
    "layer_norm_of_steps": (nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.ReLU()), STEPS, 13),
    "lstm": (last_step(nn.LSTM(4, 5, batch_first=True)), STEPS, 17),
    "lstm_of_two_layers_and_directions": (last_step(nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)), STEPS, 17),
    "gru": (last_step(nn.GRU(4, 5, batch_first=True)), STEPS, 17),
    "gru_of_two_directions": (last_step(nn.GRU(4, 3, bidirectional=True, batch_first=True)), STEPS, 17),
    "rnn": (last_step(nn.RNN(4, 5, batch_first=True)), STEPS, 17),
    "lstm_by_the_new_exporter": (last_step(nn.LSTM(4, 5, batch_first=True)), STEPS, 20),
    "gru_by_the_new_exporter": (last_step(nn.GRU(4, 3, num_layers=2, batch_first=True)), STEPS, 20),
    "channel_shuffle_by_the_new_exporter": (nn.Sequential(nn.Conv2d(3, 6, 1), nn.ChannelShuffle(3), nn.Conv2d(6, 2, 3)), IMAGE, 20),
    "channel_shuffle": (function(lambda m, x: m.last(m.first(x).view(x.size(0), 2, 3, 6, 6).transpose(1, 2).contiguous().view(x.size(0), -1, 6, 6)),
                                          first=nn.Conv2d(3, 6, 1), last=nn.Conv2d(6, 2, 3)), IMAGE, 17),
    "pixel_shuffle": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.PixelShuffle(2), nn.Conv2d(2, 2, 3)), IMAGE, 17),
    "pixel_shuffle_by_the_new_exporter": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.PixelShuffle(2), nn.Conv2d(2, 2, 3)), IMAGE, 20),
    "pixel_unshuffle": (nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(12, 2, 2)), IMAGE, 17),
    "group_norm": (nn.Sequential(nn.Conv2d(3, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(), nn.Conv2d(6, 2, 2)), IMAGE, 17),
    "group_norm_by_the_new_exporter": (nn.Sequential(nn.Conv2d(3, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(), nn.Conv2d(6, 2, 2)), IMAGE, 20),
    "instance_norm": (nn.Sequential(nn.Conv2d(3, 6, 3), nn.InstanceNorm2d(6, affine=True), nn.Conv2d(6, 2, 2)), IMAGE, 17),
    "bilinear": (function(lambda m, x: m.conv(f.interpolate(x, scale_factor=2, mode="bilinear")), conv=nn.Conv2d(3, 2, 1)), IMAGE, 17),
    "u_net": (encoder_and_decoder(), IMAGE, 17),
    "u_net_by_the_new_exporter": (encoder_and_decoder(), IMAGE, 20),
    "log_softmax": (nn.Sequential(nn.Linear(6, 5), nn.LogSoftmax(1)), ROW, 17),
    "softmax_of_rows": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Softmax(2), nn.Conv2d(4, 2, 2)), IMAGE, 17),
    "mean_of_rows": (function(lambda m, x: m.fc(m.conv(x).mean(2).flatten(1)), conv=nn.Conv2d(3, 2, 3), fc=nn.Linear(8, 3)), IMAGE, 17),
    "joined_rows": (function(lambda m, x: m.conv(torch.cat([x, -x], 2)), conv=nn.Conv2d(3, 2, 3)), IMAGE, 17),
    "channels_last": (function(lambda m, x: m.fc(m.conv(x).permute(0, 2, 3, 1)).flatten(1), conv=nn.Conv2d(3, 5, 3), fc=nn.Linear(5, 2)), IMAGE, 17),
    "transposed_steps": (function(lambda m, x: m.mixed(x.transpose(1, 2)).transpose(1, 2).flatten(1), mixed=nn.Linear(7, 5)), STEPS, 17),
    "multi_head_attention": (function(attended, heads=nn.MultiheadAttention(8, 2, batch_first=True), fc=nn.Linear(8, 3)), (7, 8), 17),
    "multi_head_attention_by_the_new_exporter": (function(attended, heads=nn.MultiheadAttention(8, 2, batch_first=True), fc=nn.Linear(8, 3)), (7, 8), 20),
    "transformer_encoder": (encoder_layer(), (7, 8), 17),
    "transformer_encoder_with_gelu": (encoder_layer(activation="gelu", norm_first=True), (7, 8), 17),
    "transformer_encoder_by_the_new_exporter": (encoder_layer(), (7, 8), 20),
    "vision_transformer": (vision_transformer(), (3, 8, 8), 17),
    "vision_transformer_by_the_new_exporter": (vision_transformer(), (3, 8, 8), 20),
    "swin_transformer": (swin_transformer(), (3, 8, 8), 17),
    "swin_transformer_by_the_new_exporter": (swin_transformer(), (3, 8, 8), 20),
    "max_vit": (max_vit(), LARGE_IMAGE, 17),
    "max_vit_by_the_new_exporter": (max_vit(), LARGE_IMAGE, 20),
    "conv_next": (conv_next(), LARGE_IMAGE, 17),
    "conv_next_by_the_new_exporter": (conv_next(), LARGE_IMAGE, 20),
    "every_second": (function(every_second, fc=nn.Linear(6, 3)), IMAGE, 17),
}


def reset(part):
    if hasattr(part, "reset_parameters"):
        part.reset_parameters()
    else:
        for parameter in part.parameters(recurse=False):
            nn.init.normal_(parameter, std=0.5)


def export(file, seed, module, example, operators):
    torch.manual_seed(seed)
    module.apply(reset)
    module.eval()
    x = torch.randn(3, *example)
    if operators > 18:
        torch.onnx.export(module, (x,), file, dynamo=True, verbose=False, external_data=False,
                          dynamic_shapes=({0: torch.export.Dim("N", min=1, max=1024)},))
    else:
        torch.onnx.export(module, (x,), file, dynamo=False, opset_version=operators, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})
    model = onnx.load(file)  # without paths of the machine that exports it
    for part in (model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    onnx.save(model, file)
    with torch.no_grad():
        return x, module(x)


if __name__ == "__main__":
    write_cases("onnx_torch", MODELS, export)
