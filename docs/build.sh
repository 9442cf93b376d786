#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the reference of what a program calls, and of all layers, losses, updaters, schedules, settings,
# listeners, metrics and strategies as Markdown:
#   bash docs/build.sh [FOLDER]      the default folder is build/docs
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec python3 "$root/docs/reference.py" "$root" "${1:-$root/build/docs}"
