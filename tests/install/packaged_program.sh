#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the package cohort-tools on a new Debian, and trains a table, images and a text from documents.
# Nothing is compiled.
#
#   bash tests/install/packaged_program.sh DEB [--lintian]
#
# Run as root on a machine, or in a chroot, that may be changed. DEB is cohort-tools_*.deb. --lintian also
# checks the package. Prints one line for each step, and fails at the first wrong result.
set -euo pipefail
deb=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

step() {
  local name=$1 begun=$SECONDS
  shift
  "$@" >log 2>&1 || { cat log; echo "FAILED: $name"; exit 1; }
  echo "$name: $((SECONDS - begun)) s"
}
install() { apt-get install -y --no-install-recommends "$@"; }
# number REPORT FIELD MIN: fails if the field of the report is below MIN.
number() {
  python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))[sys.argv[2]]
print(f"  {sys.argv[1]}: {sys.argv[2]} {value:.4g}")
sys.exit(value < float(sys.argv[3]))' "$@" || { echo "FAILED: expected at least $3"; exit 1; }
}

. /etc/os-release
echo "$PRETTY_NAME, $(dpkg-deb -f "$deb" Package Version Architecture | tr '\n' ' ')$(($(stat -c %s "$deb") / 1000000)) MB"
step "apt-get update" apt-get update
step "install the package alone" install "$deb"
for command in cc c++ cmake mpirun; do
  if command -v $command >/dev/null; then echo "FAILED: expected a machine without $command"; exit 1; fi
done
if ldconfig -p | grep -q 'libmpi[.]so'; then echo "FAILED: expected a machine without MPI"; exit 1; fi
cohort --version
step "python3, to write the data" install python3

python3 - <<'PYTHON'
import math, os, random, struct, zlib
random.seed(1)

with open("points.csv", "w") as table:
    table.write("id,x,y,colour,kind\n")
    for row in range(600):
        x, y, colour = random.uniform(-1, 1), random.uniform(-1, 1), random.choice(["red", "green"])
        kind = "in" if math.hypot(x, y) < (0.6 if colour == "red" else 0.9) else "out"
        table.write(f"p{row},{x:.4f},{y:.4f},{colour},{kind}\n")

def png(rows):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)) + chunk(b"IDAT", pixels)
            + chunk(b"IEND", b""))

for kind in ("horizontal", "vertical"):
    os.makedirs(f"stripes/{kind}")
    for number in range(80):
        phase = random.randrange(4)
        rows = [[255 * (((row if kind == "horizontal" else column) + phase) // 2 % 2) * 3 // 4 + random.randrange(60)
                 for column in range(16)] for row in range(16)]
        with open(f"stripes/{kind}/{number:03}.png", "wb") as image:
            image.write(png(rows))

with open("words.txt", "w") as text:
    for _ in range(1500):
        text.write(random.choice(["the king ", "a sailor ", "no man "]) + random.choice(["sees ", "hears "])
                   + random.choice(["the sea.\n", "a letter.\n"]))
PYTHON

cat >table.yaml <<'YAML'
version: 1
network:
  layers: [{input: [4]}, {dense: 24}, relu, {dense: 24}, relu, {dense: 2}, softmax_cross_entropy]
data: {table: {file: points.csv, target: kind, inputs: [x, y, colour]}}
optimizer: {rule: {adam: {learning_rate: 0.01}}}
training: {epochs: 40, batch: 16}
output: {model: table.safetensors, report: table.json}
YAML
cat >images.yaml <<'YAML'
version: 1
network:
  layers:
    - input: [1, 16, 16]
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - max_pool: {window: 2}
    - flatten
    - dense: 2
    - softmax_cross_entropy
data: {images: {folder: stripes, channels: 1}}
optimizer: {rule: {adam: {learning_rate: 0.005}}}
training: {epochs: 10, batch: 16}
output: {model: images.safetensors, report: images.json}
YAML
cat >text.yaml <<'YAML'
version: 1
network:
  layers: [{input: [32]}, {embedding: {vocabulary: 256, width: 16}}, {lstm: 32}, {dense: 256}, softmax_cross_entropy]
data: {text: {file: words.txt, tokens: bytes, length: 32}}
optimizer: {rule: {adam: {learning_rate: 0.01}}}
training: {epochs: 10, batch: 16}
output: {model: text.safetensors, report: text.json}
YAML

step "train a table" cohort train table.yaml
number table.json accuracy 0.9
step "train images" cohort train images.yaml
number images.json accuracy 0.9
step "train a text" cohort train text.yaml
number text.json accuracy 0.8
grep -q '"backend": "onednn"' table.json || { echo "FAILED: expected the backend onednn"; exit 1; }
step "predict, by key" cohort predict table.yaml --model table.safetensors --key id --output out.csv
[ "$(wc -l <out.csv)" = 601 ] || { echo "FAILED: expected 600 predictions"; exit 1; }
step "export" cohort export --model images.safetensors --to images.onnx
step "train on 2 ranks over TCP" cohort run -n 2 cohort train table.yaml --set output.report=tcp.json
number tcp.json accuracy 0.9
number tcp.json ranks 2

recommended=$(dpkg-deb -f "$deb" Recommends | sed 's/([^)]*)//g; s/,/ /g; s/ |[^,]*//g')
if apt-get install -s $recommended >/dev/null 2>&1; then
  step "install MPI" install $recommended
  step "train on 2 ranks over MPI" mpirun --allow-run-as-root --oversubscribe -n 2 cohort train table.yaml --set output.report=mpi.json
  number mpi.json accuracy 0.9
  number mpi.json ranks 2
else
  echo "MPI: not checked, this Debian lacks one of: $recommended"
fi

if [ "${2:-}" = --lintian ]; then
  step "install lintian" install lintian
  lintian --fail-on error,warning --tag-display-limit 0 "$deb" && echo "lintian: no error, no warning"
fi
