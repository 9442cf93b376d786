#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation site as static files in FOLDER/html (default of FOLDER: build/docs):
#   bash docs/build.sh [FOLDER]
# Installs the generator into FOLDER/venv. Fails on a warning of the generator and on a broken link.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/docs}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
requirements=$root/docs/requirements.txt
if ! cmp -s "$requirements" "$folder/venv/requirements.txt"; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
  cp "$requirements" "$folder/venv/requirements.txt"
fi
rm -rf "$folder/pages" "$folder/html"
python3 "$root/docs/site/pages.py" "$root" "$folder/pages"
"$folder/venv/bin/python" -m sphinx -b html -c "$root/docs/site" -d "$folder/doctrees" -W --keep-going --quiet "$folder/pages" "$folder/html"
python3 "$root/docs/site/check_html.py" "$folder/html"
echo "$folder/html/index.html"
