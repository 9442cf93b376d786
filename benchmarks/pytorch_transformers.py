# SPDX-License-Identifier: Apache-2.0
"""The transformers of networks.hpp in PyTorch: learned positions, GELU in tanh form, the output layer has the embedding's weights.

A block is x + attention(layer_norm(x)), then x + mlp(layer_norm(x)), with biases.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

# Blocks, heads, units, steps, vocabulary and batch.
EXTENTS = {"gpt_small": (4, 4, 128, 64, 65, 12), "gpt_baby": (6, 6, 384, 256, 65, 8), "gpt2_124m": (12, 12, 768, 64, 50257, 4)}


class block(nn.Module):
    def __init__(self, heads, units):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(units), nn.LayerNorm(units)
        self.qkv, self.out = nn.Linear(units, 3 * units), nn.Linear(units, units)
        self.up, self.down = nn.Linear(units, 4 * units), nn.Linear(4 * units, units)

    def attention(self, x, cache=None):
        """`cache`: a list of the keys and values of earlier steps, to which those of x are appended."""
        examples, steps, units = x.shape
        q, k, v = (one.view(examples, steps, self.heads, units // self.heads).transpose(1, 2)
                   for one in self.qkv(self.norm1(x)).split(units, 2))
        if cache is not None:
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            cache[:] = [k, v]
        read = F.scaled_dot_product_attention(q, k, v, is_causal=steps > 1)
        return self.out(read.transpose(1, 2).reshape(examples, steps, units))

    def forward(self, x, cache=None):
        x = x + self.attention(x, cache)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class transformer(nn.Module):
    def __init__(self, blocks, heads, units, steps, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, units), nn.Embedding(steps, units)
        self.blocks = nn.ModuleList(block(heads, units) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(units), nn.Linear(units, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for one in self.parameters():
            if one.dim() > 1:
                nn.init.normal_(one, std=0.02)

    def forward(self, x, caches=None, first=0):
        """`caches`: one list for each block; `first`: the position of x's first step."""
        h = self.tokens(x) + self.positions(torch.arange(first, first + x.shape[1], device=x.device))
        for number, one in enumerate(self.blocks):
            h = one(h, caches[number] if caches is not None else None)
        return self.head(self.norm(h))


def make(name):
    return transformer(*EXTENTS[name][:5])
