#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the installs other than the Debian packages: builds and runs a program with FetchContent, with the
# Conan package of the recipe, and with the vcpkg port.
#
#   bash tests/install/other_installs.sh [fetch_content] [conan] [vcpkg]    # without a name: all that this
# machine has
#
# The sources are those of HEAD. Conan is installed from PyPI into a temporary folder, and uses the libraries
# of the system. vcpkg must be installed. Prints one line for each step, and fails at the first wrong result.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-2}

step() {
  local name=$1 begun=$SECONDS
  shift
  "$@" >"$folder/log" 2>&1 || { tail -50 "$folder/log"; echo "FAILED: $name"; exit 1; }
  echo "$name: $((SECONDS - begun)) s"
}
. /etc/os-release
echo "$PRETTY_NAME, $(cmake --version | head -1), cohort $(git -C "$root" describe --always)"

git clone -q "$root" "$folder/sources"
cd "$folder/sources"

fetch_content() {
  step "FetchContent: configure" cmake -S examples/fetch_content -B "$folder/fetched" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCOHORT_REPOSITORY="$root" -DCOHORT_REVISION="$(git rev-parse HEAD)"
  step "FetchContent: build" cmake --build "$folder/fetched"
  step "FetchContent: run" "$folder/fetched/embed"
}

conan() {
  export CONAN_HOME=$folder/conan
  step "Conan: install from PyPI" python3 -m venv "$folder/venv"
  step "Conan: install from PyPI" "$folder/venv/bin/pip" install --quiet "conan>=2.4,<3"
  "$folder/venv/bin/conan" --version
  step "Conan: profile" "$folder/venv/bin/conan" profile detect
  for option in zlib=True onednn=True; do
    step "Conan: create the package with $option, build and run a program" "$folder/venv/bin/conan" create . -o "&:$option" \
      -pr:a default -pr:a cmake/packages/conan/system.profile -s:a compiler.cppstd=gnu20
  done
}

vcpkg() {
  step "vcpkg: install the port" command vcpkg install "cohort[zlib]" --overlay-ports=cmake/packages/vcpkg
}

checks=("$@")
if [ $# = 0 ]; then
  checks=(fetch_content conan)
  if command -v vcpkg >/dev/null; then checks+=(vcpkg); else echo "vcpkg: not checked, this machine lacks it"; fi
fi
for check in "${checks[@]}"; do
  case $check in
    fetch_content | conan | vcpkg) "$check" ;;
    *) echo "expected fetch_content, conan or vcpkg, got '$check'" >&2; exit 2 ;;
  esac
done
