#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Cohort by the Debian packages, Conan and FetchContent, runs a program with each installation, and
# prints a table of the results.
#
#   bash cmake/packages/check_installs.sh PACKAGES [PART...]
#
# PACKAGES: the folder of the Debian packages. Run as root in the source tree, on a Debian that may be
# changed. The exit status is 0 if all parts pass. Only the installations are checked, so the programs are
# compiled without optimisation.
#
#   program        cohort-tools trains without a compiler, and passes lintian, by
#                  tests/install/packaged_program.sh; needs a machine without compilers and MPI
#   development    the packages libcohort-*-dev: lintian, and a program that CMake finds them for
#   conan          conan create with the libraries of the system, and its test package
#   fetch_content  examples/fetch_content from a repository of this tree
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$(realpath "$1")
shift
parts=("$@")
[ $# -gt 0 ] || parts=(program development conan fetch_content)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root"
. /etc/os-release

install() { apt-get install -y --no-install-recommends "$@"; }
build_tools() {
  apt-get update
  install ca-certificates cmake g++ git ninja-build python3-venv zlib1g-dev
}

check_program() { bash tests/install/packaged_program.sh "$packages"/cohort-tools_*.deb --lintian; }

check_development() {
  build_tools
  install lintian
  local debs=("$packages"/libcohort*.deb)
  lintian --fail-on error,warning --tag-display-limit 0 "${debs[@]}"
  install "$packages"/libcohort-dev_*.deb "$packages"/libcohort-zlib-dev_*.deb
  cmake -G Ninja -S cmake/packages/conan -B "$scratch/development" "-DWANTED=core;zlib"
  grep -q 'cohort_DIR:PATH=/usr/share' "$scratch/development/CMakeCache.txt"
  cmake --build "$scratch/development"
  "$scratch/development/consumer"
}

check_conan() {
  build_tools
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" install conan
  export CONAN_HOME=$scratch/conan
  local conan=$scratch/venv/bin/conan
  "$conan" profile detect
  sed -i 's/^compiler.cppstd=.*/compiler.cppstd=gnu20/' "$CONAN_HOME/profiles/default"
  "$conan" create . -o "&:zlib=True" -pr:a default -pr:a cmake/packages/conan/system.profile --no-remote \
    -s build_type=Debug -c "tools.build:cxxflags=['-g0']"
}

check_fetch_content() {
  build_tools
  bash cmake/setup.sh --examples
  local repository=$scratch/repository
  mkdir "$repository"
  if git rev-parse >/dev/null 2>&1; then git archive HEAD | tar -x -C "$repository"; else cp -a . "$repository"; fi
  git -C "$repository" init -q -b main
  git -C "$repository" add -A
  git -C "$repository" -c user.name=check -c user.email=check@cohort.invalid commit -q -m check
  cmake -G Ninja -S examples/fetch_content -B "$scratch/fetched" -DCOHORT_REPOSITORY="file://$repository"
  cmake --build "$scratch/fetched" --target embed
  "$scratch/fetched/embed"
}

status=0
table="| part | system | result | time |\n|---|---|---|---|\n"
for part in "${parts[@]}"; do
  begin=$SECONDS
  echo "== $part"
  result=passed
  # A new shell, because `set -e` has no effect in a function whose status is tested.
  export -f "check_$part" build_tools install
  packages=$packages scratch=$scratch bash -euo pipefail -c "check_$part" >"$scratch/log" 2>&1 || result=FAILED
  if [ "$result" = passed ] && [ "$part" != program ]; then tail -n 3 "$scratch/log"; else tail -n 100 "$scratch/log"; fi
  [ "$result" = passed ] || status=1
  table+="| $part | $PRETTY_NAME, $(uname -m) | $result | $((SECONDS - begin)) s |\n"
done
echo
printf '%b' "$table"
exit $status
