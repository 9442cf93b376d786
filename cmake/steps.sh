# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts. A step prints one line with the seconds that its command took. If the command fails,
# the step also prints at most step_shows_lines lines, the last ones of the command's output.
#   step SENTENCE COMMAND...
step_shows_lines=200
step() {
  local sentence=$1 log start=$SECONDS
  shift
  log=$(mktemp)
  echo -n "$sentence"
  if ! "$@" >"$log" 2>&1; then
    echo
    tail -n "$step_shows_lines" "$log" >&2
    rm -f "$log"
    return 1
  fi
  echo " ($((SECONDS - start)) s)"
  rm -f "$log"
}

# fail SENTENCE: prints the sentence and exits with status 1.
fail() {
  echo "$1" >&2
  exit 1
}
