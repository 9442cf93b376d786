# SPDX-License-Identifier: Apache-2.0
"""Fields of protocol buffers, as bytes."""


def varint(value):
    text = b""
    while value >= 128:
        text, value = text + bytes([value % 128 + 128]), value // 128
    return text + bytes([value])


def integer(field, value):
    return varint(field << 3) + varint(value)


def content(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value
