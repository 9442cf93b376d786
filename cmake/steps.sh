# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts: a step says one line, and shows what its command printed only if that fails (the last lines
# of it, as many as step_shows_lines says).
#   step SENTENCE COMMAND...
step_shows_lines=200
step() {
  local sentence=$1 log
  shift
  log=$(mktemp)
  echo "$sentence"
  if ! "$@" >"$log" 2>&1; then
    tail -n "$step_shows_lines" "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# fail SENTENCE: says it and ends the script.
fail() {
  echo "$1" >&2
  exit 1
}
