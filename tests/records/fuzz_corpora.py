# SPDX-License-Identifier: Apache-2.0
"""Writes the corpora of the fuzzers in this folder, python3 tests/records/fuzz_corpora.py: valid files of each format, with names
that are hashes of their contents. Inputs that the fuzzers found are added by hand."""
import hashlib
import io
import pathlib
import struct
import tarfile

from webdataset_python_test import crc32c

HERE = pathlib.Path(__file__).parent


def put(fuzzer, *inputs):
    folder = HERE / f"{fuzzer}_fuzz"
    folder.mkdir(exist_ok=True)
    for one in inputs:
        (folder / hashlib.sha1(one).hexdigest()).write_bytes(one)


def tar(form, names, **headers):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form, pax_headers=headers or None) as archive:
        for number, name in enumerate(names):
            entry = tarfile.TarInfo(name)
            entry.size = 7 * number
            if name.endswith("/"):
                entry.type, entry.size = tarfile.DIRTYPE, 0
            archive.addfile(entry, io.BytesIO(bytes([number]) * entry.size))
    content = made.getvalue()
    while content.endswith(bytes(512)):
        content = content[:-512]
    return content + bytes(1024)


def tars():
    names = ["a/", "a/1.jpg", "a/1.cls", "./2.jpg", "2.seg.png", ".z", "3"]
    long = ["n" * 70 + "/" + "m" * 60 + ".jpg"]
    yield tar(tarfile.USTAR_FORMAT, names)
    yield tar(tarfile.USTAR_FORMAT, long)
    yield tar(tarfile.GNU_FORMAT, ["n" * 130 + ".jpg", "1.x"])
    yield tar(tarfile.PAX_FORMAT, ["ä" * 60 + ".jpg", "1.x"], comment="text")
    large = bytearray(tar(tarfile.GNU_FORMAT, ["1.x"]))
    large[124:136] = b"\x80" + bytes(10) + b"\x07"  # the size as a binary number
    large[148:156] = b"        "
    large[148:156] = b"%06o\0 " % sum(large[:512])
    yield bytes(large[:512]) + b"content".ljust(512, b"\0") + bytes(1024)


def masked(content):
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(*messages):
    return b"".join(struct.pack("<Q", len(one)) + masked(struct.pack("<Q", len(one))) + one + masked(one) for one in messages)


def field(number, content):
    """A field of Protocol Buffers: bytes, or an integer."""
    if isinstance(content, bytes):
        return bytes([number << 3 | 2]) + varint(len(content)) + content
    return bytes([number << 3]) + varint(content)


def varint(value):
    made = b""
    while value >= 0x80:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


def example():
    lists = {b"bytes": field(1, field(1, b"one") + field(1, b"")), b"floats": field(2, field(1, struct.pack("<3f", 1, 2, 3))),
             b"floats2": field(2, b"\x0d" + struct.pack("<f", 4)), b"integers": field(3, field(1, varint(300) + varint(1))),
             b"integers2": field(3, field(1, 7)), b"none": b""}
    return field(1, b"".join(field(1, field(1, name) + field(2, one)) for name, one in lists.items()))


def lmdb(levels, values, page=512):
    """A database with pages of 512 bytes, which liblmdb has on no machine. A value of 300 bytes is on an overflow page."""
    pages = []

    def add(flags, nodes):
        number = 2 + len(pages)
        content = bytearray(page)
        end = page
        for k, node in enumerate(nodes):
            end -= len(node) + len(node) % 2
            content[end:end + len(node)] = node
            struct.pack_into("<H", content, 16 + 2 * k, end)
        struct.pack_into("<QHHHH", content, 0, number, 0, flags, 16 + 2 * len(nodes), end)
        pages.append(bytes(content))
        return number

    leaves = []
    for first in range(0, len(values), 3):
        nodes = []
        for key, value in values[first:first + 3]:
            if len(value) < 300:
                nodes.append(struct.pack("<IHH", len(value), 0, len(key)) + key + value)
            else:
                number = 2 + len(pages)
                pages.append(struct.pack("<QHHI", number, 0, 4, 1) + value + bytes(page - 16 - len(value)))
                nodes.append(struct.pack("<IHH", len(value), 1, len(key)) + key + struct.pack("<Q", number))
        leaves.append((values[first][0], add(2, nodes)))
    root = leaves[0][1] if leaves else 2**64 - 1
    if levels == 2:
        root = add(1, [struct.pack("<IHH", number, 0, len(key)) + key for key, number in leaves])
    metas = b""
    for number in range(2):
        meta = bytearray(page)
        struct.pack_into("<QHH", meta, 0, number, 0, 8)
        struct.pack_into("<II", meta, 16, 0xBEEFC0DE, 1)
        struct.pack_into("<I", meta, 40, page)
        struct.pack_into("<IHHQQQQQ", meta, 88, 0, 0, levels, 0, 0, 0, len(values), root)
        struct.pack_into("<QQ", meta, 136, 1 + len(pages), number)
        metas += bytes(meta)
    return metas + b"".join(pages)


def text(content):
    return bytes([len(content)]) + content


def sequence(key, value, compressed, blocks, content, metadata=struct.pack(">i", 0)):
    name = text(b"org.apache.hadoop.io.compress.DefaultCodec") if compressed else b""
    writable = b"org.apache.hadoop.io."
    head = b"SEQ\6" + text(writable + key) + text(writable + value) + bytes([compressed, blocks]) + name
    return head + metadata + b"0123456789abcdef" + content


SYNC = struct.pack(">i", -1) + b"0123456789abcdef"
PAIR = bytes.fromhex("aced00057372000c7363616c612e5475706c653201fbddcd22e7347a0200024c00025f317400124c6a6176612f6c616e672f4f626a6563"
                     "743b4c00025f3271007e000178707400076361742e6a706774000133")
SIX = bytes.fromhex("aced00057372000c7363616c612e5475706c653689e6cd0b84e7f0300200064c00025f317400124c6a6176612f6c616e672f4f626a656374"
                    "3b4c00025f3271007e00014c00025f3371007e00014c00025f3471007e00014c00025f3571007e00014c00025f3671007e0001787074"
                    "0008303030303030313274000135737200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565"
                    "787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870000000037371007e00050000002071007e00087372"
                    "00116a6176612e6c616e672e426f6f6c65616ecd207280d59cfaee0200015a000576616c7565787000")


def counted(content):
    return struct.pack(">i", len(content)) + content


def sequences():
    def record(key, value):
        return struct.pack(">ii", len(key) + len(value), len(key)) + key + value

    def buffer(content):  # see the fuzzer: its decompressor repeats bytes
        return text(b"\1" + content)

    yield sequence(b"Text", b"BytesWritable", 0, 0, record(text(b"one"), counted(b"value")) + SYNC + record(text(b""), counted(b"")))
    yield sequence(b"BytesWritable", b"BytesWritable", 0, 0, record(counted(PAIR), counted(b"image")) + record(counted(SIX), counted(b"abcdef")))
    yield sequence(b"IntWritable", b"Text", 0, 0, record(b"1234", b"\x8f\xff" + b"t" * 255), struct.pack(">i", 1) + text(b"a") + text(b"b"))
    yield sequence(b"Text", b"BytesWritable", 1, 0, SYNC + record(text(b"one"), b"\1" + counted(b"value")) + record(text(b"two"), b"\2" + b"\0\0\0\4"))
    block = b"\2" + buffer(b"\4\4") + buffer(text(b"one") + text(b"two")) + buffer(b"\5\4") + buffer(counted(b"v") + counted(b""))
    yield sequence(b"Text", b"BytesWritable", 1, 1, SYNC + block + SYNC + block)


def datums():
    pixels = b"".join((field(1, 3), field(2, 2), field(3, 1), field(4, b"abcdef"), field(5, 7)))
    yield b"\0" + pixels
    yield b"\0" + field(4, b"\x89PNG") + field(5, 1) + field(7, 1)
    yield b"\0" + field(1, 1) + field(2, 1) + field(3, 2) + field(6, struct.pack("<2f", 1, 2))
    yield b"\0" + field(1, 1) + field(2, 1) + field(3, 1) + b"\x35" + struct.pack("<f", 1)
    yield b"\1" + PAIR
    yield b"\1" + SIX
    yield b"\1" + PAIR.replace(b"\0\x0cscala.Tuple2", b"\0\x1acom.yahoo.ml.dl.caffe.Pair").replace(b"\0\2_1", b"\0\5first").replace(b"\0\2_2", b"\0\6second")


def main():
    put("webdataset", *tars())
    put("tfrecord", tfrecord(example()), tfrecord(example(), b"", example()))
    entries = [(b"%08d" % number, b"value %d" % number) for number in range(7)]
    put("lmdb", lmdb(0, []), lmdb(1, entries[:3]), lmdb(2, entries), lmdb(2, [*entries[:4], (b"00000005", b"v" * 300)]))
    put("sequence_file", *sequences())
    put("caffe_datum", *datums())


if __name__ == "__main__":
    main()
