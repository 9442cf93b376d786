#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs everything that is needed to build Cohort and is missing on this machine.
#
#   bash cmake/setup.sh [--examples] [--clang] [--cuda] [--data] [--packages]
#     --examples   only the dependencies of the library and its examples, not those of tests and benchmarks
#     --clang      also clang++ and its sanitizers, for the presets fuzz and tsan
#     --cuda       also the headers and libraries of CUDA 13, cuDNN 9 and NCCL 2, if they are missing: 1.1 GB
#                  to download, 1.5 GB in the cache. Does not install the GPU's driver; without a driver,
#                  programs run on the CPU.
#     --data       also MNIST, unless it is in $COHORT_DATA, data/ or the cache: downloads it from public
#                  mirrors into the cache
#     --packages   also the tools that build the Debian packages
#
# Supports Debian 12 and 13. Ubuntu 22.04 and 24.04 are untested: they have the same package names, but 22.04
# needs g++-12 (set CXX=g++-12) and a newer CMake, which pip installs. Packages are installed by apt. If apt
# has no oneDNN >= 3.2 (Debian 12), this script installs oneDNN from Python wheels into the cache,
# ${XDG_CACHE_HOME:-~/.cache}/cohort, where CMake finds it. CUDA's libraries and the Python packages of the
# tests are also installed into the cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/steps.sh"
step_shows_lines=3

with_tests=yes with_clang=no with_cuda=no with_data=no with_packages=no
for flag in "$@"; do
  case $flag in
    --examples) with_tests=no ;;
    --clang) with_clang=yes ;;
    --cuda) with_cuda=yes ;;
    --data) with_data=yes ;;
    --packages) with_packages=yes ;;
    *) fail "cmake/setup.sh: unknown flag $flag: expected --examples, --clang, --cuda, --data or --packages" ;;
  esac
done

[ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || fail "cmake/setup.sh needs HOME or XDG_CACHE_HOME for its cache."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cohort
onednn=$cache/onednn-3.2
cuda=$cache/cuda-13.0
python_packages=$cache/python
did=nothing

has_command() { command -v "$1" >/dev/null; }

has_header() {
  local folder
  for folder in /usr /usr/local ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }}; do
    [ ! -e "$folder/include/$1" ] || return 0
  done
  return 1
}

has_compiler() {
  local compiler=${CXX:-}
  if [ -n "$compiler" ]; then has_command "${compiler%% *}"; else has_command c++ || has_command g++; fi
}

# has_sanitizers, has_openmp: whether clang++ has the libraries of the sanitizers, and OpenMP.
has_sanitizers() {
  compgen -G "$(clang++ -print-resource-dir)/lib/*/libclang_rt.fuzzer*" >/dev/null
}
has_openmp() { echo '#include <omp.h>' | clang++ -x c++ -fsyntax-only - 2>/dev/null; }

has_cmake() {
  has_command cmake || return 1
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  [ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

# dnnl_version.h of 3.x defines DNNL_VERSION_MAJOR 3 and DNNL_VERSION_MINOR n.
has_onednn() {
  local folder header major minor
  for folder in /usr /usr/local ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }} "$onednn"; do
    for header in "$folder"/include/oneapi/dnnl/dnnl_version.h "$folder"/include/*/oneapi/dnnl/dnnl_version.h; do
      [ -e "$header" ] || continue
      [ "$folder" != "$onednn" ] || [ -e "$onednn/share/doc/onednn/THIRD-PARTY-PROGRAMS" ] || continue
      major=$(sed -n 's/^#define DNNL_VERSION_MAJOR *//p' "$header")
      minor=$(sed -n 's/^#define DNNL_VERSION_MINOR *//p' "$header")
      if [ "${major:-0}" -eq 3 ] && [ "${minor:-0}" -ge 2 ]; then return 0; fi
    done
  done
  return 1
}

# has_cuda_headers NAME...: whether each header is in a folder where CMake searches for CUDA.
has_cuda_headers() {
  local name folder found
  for name in "$@"; do
    found=no
    for folder in ${CUDA_PATH:+"$CUDA_PATH"} /usr /usr/local /usr/local/cuda ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }} "$cuda"; do
      [ ! -e "$folder/include/$name" ] || found=yes
    done
    [ $found = yes ] || return 1
  done
}
# has_cuda_libraries PATTERN...: whether each library is in a folder that programs search: the system's
# folders, the toolkit's folder, or the cache (cuda_library_folders in
# cohort/cudnn/detail/shared_library.hpp).
has_cuda_libraries() {
  local pattern folder found known
  known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null || true)
  for pattern in "$@"; do
    found=no
    for folder in ${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH//:/ }} ${CUDA_PATH:+"$CUDA_PATH/lib64"} /usr/local/cuda/lib64 "$cuda/lib"; do
      ! compgen -G "$folder/$pattern" >/dev/null || found=yes
    done
    ! grep -q "[[:space:]]$pattern " <<<"$known" || found=yes
    [ $found = yes ] || return 1
  done
}
has_cuda() {
  has_cuda_headers cuda.h nvrtc.h cublasLt.h nv/target cudnn_graph.h \
    && has_cuda_libraries 'libnvrtc.so.1[23]' 'libcublasLt.so.1[23]' 'libcudnn.so.9'
}
has_nccl() { has_cuda_headers nccl.h && has_cuda_libraries 'libnccl.so.2'; }

has_mpi() { has_header mpi.h || compgen -G '/usr/include/*/mpi/mpi.h' >/dev/null; }
has_boost_mpi() {
  local folder
  for folder in /usr /usr/local ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }}; do
    ! compgen -G "$folder/lib/cmake/boost_mpi-*" >/dev/null || return 0
    ! compgen -G "$folder/lib/*/cmake/boost_mpi-*" >/dev/null || return 0
  done
  return 1
}

has_tiff() { has_header tiffio.h || compgen -G '/usr/include/*/tiffio.h' >/dev/null; }
has_certificates() { [ -n "${SSL_CERT_FILE:-}${PIP_CERT:-}" ] || [ -e /etc/ssl/certs/ca-certificates.crt ]; }
has_python_headers() {
  python3 -c 'import os, sysconfig; os.stat(sysconfig.get_paths()["include"] + "/Python.h")' >/dev/null 2>&1
}
has_pip() { python3 -m pip --version >/dev/null 2>&1; }
has_java() {  # PySpark needs Java 17
  local version
  version=$(java -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 17 ]
}
has_tool_packages() {
  PYTHONPATH=$python_packages${PYTHONPATH:+:$PYTHONPATH} \
    python3 -c 'import PIL, jsonschema, kubernetes_validate, pyspark, tensorboard.plugins.hparams.metadata, yaml' >/dev/null 2>&1
}
has_onnx_packages() {
  PYTHONPATH=$python_packages${PYTHONPATH:+:$PYTHONPATH} python3 -c 'import onnx.checker, onnxruntime' >/dev/null 2>&1
}
has_python_packages() {
  PYTHONPATH=$python_packages${PYTHONPATH:+:$PYTHONPATH} python3 -c 'import clang_format, lmdb, nanobind, numpy, safetensors.numpy' >/dev/null 2>&1
}

# ---- packages ----------------------------------------------------------------------------------------------
distribution() {
  local ID='' VERSION_ID=''
  [ ! -r /etc/os-release ] || . /etc/os-release
  echo "${ID:-unknown}${VERSION_ID:+-$VERSION_ID}"
}

# as_root COMMAND...: runs the command directly if the user is root, otherwise by sudo. Without a terminal,
# sudo must not ask for a password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; elif [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
}

# demand_apt WHAT: prints an error and exits if apt cannot install WHAT.
demand_apt() {
  case $(distribution) in
    debian-12 | debian-13) ;;
    ubuntu-22.04 | ubuntu-24.04) [ -n "${said_untested:-}" ] || echo "$(distribution): uses the package names of Debian, which is untested." ;;
    *) fail "cmake/setup.sh does not support this system: expected Debian 12 or 13, or Ubuntu 22.04 or 24.04, got $(distribution). Please install $1." ;;
  esac
  said_untested=yes
  if [ "$(id -u)" -ne 0 ] && ! { has_command sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }; then
    fail "cmake/setup.sh cannot install packages: it is not run by root and cannot use sudo. Please ask an administrator to run 'apt-get install $1'."
  fi
}

update_packages() {
  [ -z "${updated:-}" ] || return 0
  step "Reading the list of packages (apt-get update)" as_root apt-get -o Acquire::Retries=2 update \
    || fail "apt-get update failed: please check the network. Missing packages: $1."
  updated=yes
}

install_packages() {
  demand_apt "$*"
  update_packages "$*"
  step "Installing $* (apt-get)" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "$@" || fail "apt-get could not install $*: please check the network."
  did=something
}

missing=()
want() { if ! "${@:2}"; then missing+=("$1"); fi; }
if [ "$(distribution)" = ubuntu-22.04 ]; then  # has g++ 11 and CMake 3.22
  [ -n "${CXX:-}" ] || want g++-12 has_command g++-12
else
  want g++ has_compiler
  want cmake has_cmake
fi
want ninja-build has_command ninja
want zlib1g-dev has_header zlib.h
want libturbojpeg0-dev has_header turbojpeg.h
want libpng-dev has_header png.h
want libtiff-dev has_tiff
want libwebp-dev has_header webp/decode.h
want libyaml-cpp-dev has_header yaml-cpp/yaml.h
want libssl-dev has_header openssl/ssl.h
want libxtensor-dev has_header xtensor
want libboost-mpi-dev has_boost_mpi
want libopenmpi-dev has_mpi
want openmpi-bin has_command mpirun
want python3 has_command python3
if [ $with_tests = yes ]; then
  want libgtest-dev has_header gtest/gtest.h
  want libbenchmark-dev has_header benchmark/benchmark.h
  want nlohmann-json3-dev has_header nlohmann/json.hpp
  want xz-utils has_command xz
  want nodejs has_command node  # runs the script of a report
  want libonnx-testdata test -d /usr/share/libonnx-testdata
  want python3-dev has_python_headers
  want default-jre-headless has_java  # Spark
  if [ "$(id -u)" -eq 0 ]; then  # a test starts a Slurm cluster on this host, which only root can do
    want slurmctld test -x /usr/sbin/slurmctld
    want slurmd test -x /usr/sbin/slurmd
    want slurm-client has_command sbatch
  fi
fi
if [ $with_clang = yes ]; then want clang has_command clang++; fi
if [ $with_packages = yes ]; then want dpkg-dev has_command dpkg-shlibdeps; fi
[ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
if [ $with_clang = yes ]; then
  version=$(clang++ -dumpversion | sed 's/[.].*//')
  missing=()
  want "libclang-rt-$version-dev" has_sanitizers
  want "libomp-$version-dev" has_openmp
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
fi
# ---- Python wheels -----------------------------------------------------------------------------------------
pip_quietly() { python3 -m pip --disable-pip-version-check --no-input --retries 2 "$@"; }

demand_pip() {
  local needed=()
  has_pip || needed+=(python3-pip)
  has_certificates || needed+=(ca-certificates)
  [ ${#needed[@]} -eq 0 ] || install_packages "${needed[@]}"
}

if ! has_cmake && [ "$(distribution)" = ubuntu-22.04 ]; then
  demand_pip
  step "Installing CMake for all users (pip)" as_root python3 -m pip --disable-pip-version-check --no-input install 'cmake>=3.25,<4' \
    || fail "CMake could not be installed with pip: please check the network."
fi
has_cmake || fail "CMake is missing or too old: expected >= 3.25, got $(cmake --version 2>/dev/null | head -n 1)."
if [ "$(distribution)" = ubuntu-22.04 ] && [ -z "${CXX:-}" ]; then
  echo "g++ of Ubuntu 22.04 is too old: set CXX=g++-12 before configuring."
fi

# unpack_wheels FOLDER: downloads the wheels that standard input lists with their hashes, and unpacks them
# into FOLDER/unpacked.
unpack_wheels() {
  local folder=$1 wheel
  cat >"$folder/wheels.txt" || return 1
  pip_quietly download --no-deps --only-binary=:all: --require-hashes -r "$folder/wheels.txt" -d "$folder/wheels" || return 1
  for wheel in "$folder"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$folder/unpacked" && rm "$wheel" || return 1
  done
}

# get_wheels UNPACK WHAT WHEELS: calls UNPACK FOLDER, which must unpack the contents of wheels into the cache.
# Prints "Getting WHAT" and, if UNPACK fails, "WHEELS could not be downloaded".
get_wheels() {
  demand_pip
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/wheels.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  step "Getting $2" "$1" "$work" || fail "$3 could not be downloaded with pip: please check the network."
  rm -rf "$work"
  did=something
}

# ---- oneDNN ------------------------------------------------------------------------------------------------
# Prints the version of oneDNN in apt's lists; prints nothing if the lists do not contain oneDNN.
packaged_onednn() {
  has_command apt-cache || return 0
  apt-cache policy libdnnl-dev 2>/dev/null | sed -n 's/^ *Candidate: \([0-9]*\.[0-9]*\).*/\1/p'
}

unpack_onednn() {
  local folder=$1
  unpack_wheels "$folder" <<'WHEELS' || return 1
onednn-cpu-gomp==2023.2.0 --hash=sha256:2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb
onednn-devel-cpu-gomp==2023.2.0 --hash=sha256:9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284
WHEELS
  mkdir "$folder/onednn" || return 1
  cp -R "$folder"/unpacked/*.data/data/{include,lib,share} "$folder/onednn/" || return 1
  # A wheel cannot contain links, so this wheel contains the library three times.
  ln -sf libdnnl.so.3.2 "$folder/onednn/lib/libdnnl.so.3" || return 1
  ln -sf libdnnl.so.3 "$folder/onednn/lib/libdnnl.so" || return 1
  rm -rf "$onednn" && mv -T "$folder/onednn" "$onednn"
}

if ! has_onednn; then
  if [ -z "$(packaged_onednn)" ] && has_command apt-cache && [ "$(id -u)" -eq 0 ]; then update_packages "oneDNN >= 3.2"; fi
  packaged=$(packaged_onednn)
  if [ -n "$packaged" ] && [ "$(printf '%s\n3.2\n' "$packaged" | sort -V | head -n 1)" = 3.2 ]; then
    install_packages libdnnl-dev
  else
    [ "$(uname -m)" = x86_64 ] || fail "oneDNN >= 3.2 is not available as a package (libdnnl-dev ${packaged:-missing}) or as a wheel for $(uname -m): please build it and add its install prefix to CMAKE_PREFIX_PATH."
    get_wheels unpack_onednn "oneDNN 3.2 into $onednn (pip download; the packaged one is ${packaged:-missing})" \
      "oneDNN >= 3.2 is missing: its wheels onednn-cpu-gomp and onednn-devel-cpu-gomp 2023.2.0"
    echo "Cohort finds oneDNN in this folder; for other projects, set CMAKE_PREFIX_PATH=$onednn."
  fi
fi

# ---- CUDA --------------------------------------------------------------------------------------------------
unpack_cuda() {
  local folder=$1 part
  unpack_wheels "$folder" <<'WHEELS' || return 1
nvidia-cublas==13.1.0.3 --hash=sha256:ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171
nvidia-cuda-cccl==13.0.85 --hash=sha256:e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649
nvidia-cuda-crt==13.0.88 --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
nvidia-cuda-nvrtc==13.0.88 --hash=sha256:ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cudnn-cu13==9.19.0.56 --hash=sha256:d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf
WHEELS
  mkdir -p "$folder/cuda/include" "$folder/cuda/lib" || return 1
  for part in cu13 cudnn; do
    cp -Rl "$folder/unpacked/nvidia/$part/include/." "$folder/cuda/include/" || return 1
    cp -Rl "$folder/unpacked/nvidia/$part/lib/." "$folder/cuda/lib/" || return 1
  done
  rm -rf "$cuda" && mv -T "$folder/cuda" "$cuda"
}

unpack_nccl() {
  local folder=$1
  unpack_wheels "$folder" <<'WHEELS' || return 1
nvidia-nccl-cu13==2.28.9 --hash=sha256:e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42
WHEELS
  mkdir -p "$cuda/include" "$cuda/lib" || return 1
  mv -f "$folder"/unpacked/nvidia/nccl/lib/libnccl.so.2 "$cuda/lib/" && mv -f "$folder"/unpacked/nvidia/nccl/include/nccl.h "$cuda/include/"
}

if [ $with_cuda = yes ] && ! has_cuda; then
  [ "$(uname -m)" = x86_64 ] || fail "cmake/setup.sh installs CUDA's wheels only on x86_64: please install CUDA 13 and cuDNN 9 for $(uname -m)."
  get_wheels unpack_cuda "CUDA 13.0 and cuDNN 9.19 into $cuda (pip download, 0.9 GB)" \
    "CUDA's wheels (nvidia-cublas, nvidia-cuda-nvrtc, nvidia-cudnn-cu13 and their headers)"
  has_cuda || fail "CUDA's files in $cuda are incomplete: please remove this folder and run cmake/setup.sh --cuda again."
fi

if [ $with_cuda = yes ] && ! has_nccl; then
  [ "$(uname -m)" = x86_64 ] || fail "cmake/setup.sh installs NCCL's wheel only on x86_64: please install NCCL 2 for $(uname -m)."
  get_wheels unpack_nccl "NCCL 2.28 into $cuda (pip download, 0.2 GB)" "NCCL's wheel (nvidia-nccl-cu13)"
  has_nccl || fail "NCCL's files in $cuda are incomplete: please remove this folder and run cmake/setup.sh --cuda again."
fi

# has_nvdisasm: whether the tests of the GPU kernels can disassemble them.
has_nvdisasm() { has_command nvdisasm || [ -x /usr/local/cuda/bin/nvdisasm ] || [ -x "$cuda/bin/nvdisasm" ]; }
unpack_nvdisasm() {
  local folder=$1
  unpack_wheels "$folder" <<'WHEELS' || return 1
nvidia-cuda-nvdisasm==13.2.86 --hash=sha256:53606e719ecae07a2335f95902d5a1393a0cc1c317499ee7ffcf628a44385f2c
WHEELS
  mkdir -p "$cuda/bin" || return 1
  mv -f "$folder/unpacked/nvidia/cu13/bin/nvdisasm" "$cuda/bin/" && chmod +x "$cuda/bin/nvdisasm"
}

if [ $with_cuda = yes ] && [ $with_tests = yes ] && [ "$(uname -m)" = x86_64 ] && ! has_nvdisasm; then
  get_wheels unpack_nvdisasm "CUDA's disassembler, which tests use, into $cuda (pip download, 4 MB)" \
    "the wheel of CUDA's disassembler (nvidia-cuda-nvdisasm)"
fi

# PySpark binds a socket to localhost, a name that minimal systems cannot resolve.
if [ $with_tests = yes ] && ! getent hosts localhost >/dev/null; then
  step "Adding localhost to /etc/hosts" as_root sh -c 'echo "127.0.0.1 localhost" >> /etc/hosts' \
    || fail "/etc/hosts has no line for localhost, which the tests need: please add '127.0.0.1 localhost'."
  did=something
fi

# ---- Python packages of the tests --------------------------------------------------------------------------
if [ $with_tests = yes ] && ! has_python_packages; then
  demand_pip
  mkdir -p "$cache"
  step "Getting clang-format, lmdb, nanobind, numpy and safetensors for the tests into $python_packages (pip install --target)" \
    pip_quietly install --upgrade --no-deps --only-binary=:all: --target "$python_packages" clang-format==14.0.6 lmdb==3.0.0 nanobind==3.1.0 numpy==2.2.4 safetensors==0.5.3 \
    || fail "Python's clang-format, lmdb, nanobind, numpy and safetensors, which the tests need, could not be installed with pip: please check the network."
  has_python_packages || fail "Python cannot import clang_format, lmdb, nanobind, numpy and safetensors from $python_packages: please remove this folder and run cmake/setup.sh again."
  did=something
fi

if [ $with_tests = yes ] && ! has_onnx_packages; then
  demand_pip
  step "Getting onnx and onnxruntime for the tests into $python_packages (pip install --target)" \
    pip_quietly install --upgrade --no-deps --only-binary=:all: --target "$python_packages" onnx==1.23.2 \
    onnxruntime==1.32.0 protobuf==7.36.2 ml_dtypes==0.6.0 typing_extensions==4.16.0 flatbuffers==25.12.19 packaging==26.4 \
    || fail "Python's onnx and onnxruntime, which the tests need, could not be installed with pip: please check the network."
  has_onnx_packages || fail "Python cannot import onnx and onnxruntime from $python_packages: please remove this folder and run cmake/setup.sh again."
  did=something
fi

if [ $with_tests = yes ] && ! has_tool_packages; then
  demand_pip
  step "Getting TensorBoard, PySpark (0.4 GB) and validators of Kubernetes' files for the tests into $python_packages (pip install --target)" \
    pip_quietly install --upgrade --no-deps --only-binary=:all: --no-binary=pyspark --target "$python_packages" \
    tensorboard==2.21.0 absl-py==2.5.1 pillow==13.0.0 werkzeug==3.1.9 pyspark==4.0.1 py4j==0.10.9.9 kubernetes-validate==1.29.1 pyyaml==6.0.4 \
    jsonschema==4.26.0 jsonschema-specifications==2025.9.1 referencing==0.37.0 rpds-py==2026.9.1 attrs==26.1.0 importlib-resources==7.1.0 \
    || fail "Python's tensorboard, pyspark, kubernetes-validate and jsonschema, which the tests need, could not be installed with pip: please check the network."
  has_tool_packages || fail "Python cannot import tensorboard, pyspark, kubernetes_validate and jsonschema from $python_packages: please remove this folder and run cmake/setup.sh again."
  did=something
fi

# ---- MNIST -------------------------------------------------------------------------------------------------
has_mnist() {
  local name
  for name in train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte; do
    [ -e "$1/$name" ] || [ -e "$1/$name.gz" ] || return 1
  done
}

finds_mnist() {
  local folder
  for folder in ${COHORT_DATA:+"$COHORT_DATA" "$COHORT_DATA/mnist"} data data/mnist "$cache/mnist"; do
    ! has_mnist "$folder" || return 0
  done
  return 1
}

if [ $with_data = yes ] && ! finds_mnist; then
  if ! has_certificates && [ "$(id -u)" -eq 0 ]; then install_packages ca-certificates; fi
  step "Getting MNIST into $cache/mnist" python3 "$here/get_data.py" mnist "$cache/mnist" 2>/dev/null \
    || echo "MNIST could not be downloaded: the examples use synthetic digits instead."
  did=something
fi

if [ $did = nothing ]; then echo "Set-up: all requirements are installed."; fi
