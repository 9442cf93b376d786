#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates the reference of the functions that a program calls, and of all layers, losses, updaters,
# schedules, settings, listeners, metrics and strategies, as Markdown in FOLDER (default: build/docs):
#   bash docs/build.sh [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec python3 "$root/docs/reference.py" "$root" "${1:-$root/build/docs}"
