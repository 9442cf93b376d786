#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release in build/release-VERSION: the sources, the Debian packages, the notes, and
# SHA256SUMS. docs/releasing.md describes the steps.
#
#   bash cmake/packages/release.sh [DEB...]
#
# The sources are those of HEAD. The archive has the same bytes on each machine. DEB: packages that the preset
# `packages` has built from the same commit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
debs=()
for deb in "$@"; do debs+=("$(realpath "$deb")"); done
cd "$root"
fail() { echo "release: $*" >&2; exit 1; }

version=$(sed -n 's/.*library_version = "\(.*\)";/\1/p' include/cohort/version.hpp)
port=$(sed -n 's/.*"version": "\(.*\)",/\1/p' cmake/packages/vcpkg/cohort/vcpkg.json)
[ "$port" = "$version" ] || fail "cmake/packages/vcpkg/cohort/vcpkg.json: expected the version $version, got $port"
grep -q "_${version}_" docs/without_cpp.md || fail "docs/without_cpp.md: expected the version $version in the package's name"
heading=$(grep -m 1 '^## ' CHANGELOG.md)
[[ $heading =~ ^"## $version ("[0-9]{4}-[0-9]{2}-[0-9]{2}")"$ ]] \
  || fail "CHANGELOG.md: expected the first section '## $version (YYYY-MM-DD)', got '$heading'"
[ -z "$(git status --porcelain)" ] || fail "expected a tree without changes; git status lists them"
for deb in ${debs[@]+"${debs[@]}"}; do
  got=$(dpkg-deb -f "$deb" Version)
  [ "$got" = "$version" ] || fail "$deb: expected the version $version, got $got"
done

folder=build/release-$version
rm -rf "$folder"
mkdir -p "$folder"
git archive --format=tar --prefix="cohort-$version/" HEAD | gzip -n9 >"$folder/cohort-$version.tar.gz"
awk '/^## /{count++} count == 1' CHANGELOG.md >"$folder/NOTES.md"
for deb in ${debs[@]+"${debs[@]}"}; do cp "$deb" "$folder"; done
(cd "$folder" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
echo "release: $folder is complete; next: git tag -s v$version"
