#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests and measures the GPU backends on a machine with a GPU, and writes one report:
#
#   bash benchmarks/on_gpu.sh --minutes 40 --out DIR [--programs build/release] [--rehearse]
#
# --rehearse replaces the networks, batches and arrays by small ones, to test the programs and this script in
# a few minutes. Its times are not measurements.
#
# Build the programs first, for example on another machine (CXXFLAGS='-static-libstdc++ -static-libgcc'):
#
#   cmake --preset release -DCOHORT_GPU_TESTS=ON
#   cmake --build --preset release --target backends_cudnn_on_a_gpu_test backends_nccl_on_gpus_test \
#       lenet_mnist train_step cache_line_round_trip codec_benchmark
#
# A failed step does not end the run. No step exceeds its time limit or the remaining minutes. DIR/report.md
# is rewritten after each step; it lists failed steps first. DIR/STEP.log contains each step's output.
# Exits with 0 if no step has failed, 1 if a step has failed, 2 if the arguments are wrong.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
minutes= out= programs=$here/../build/release
rehearses= title="GPU run" epochs=(--epochs 5) nets=(resnet50 darknet) batches=(64 256) profiled=(resnet50 bf16 64) codec_sizes=

wrong() {
  echo "on_gpu.sh: $1; usage: on_gpu.sh --minutes N --out DIR [--programs FOLDER] [--rehearse]" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  if [ "$1" = --rehearse ]; then
    rehearses=1
    shift
    continue
  fi
  [ $# -ge 2 ] || wrong "$1: expected a value"
  case $1 in
    --minutes) minutes=$2 ;;
    --out) out=$2 ;;
    --programs) programs=$2 ;;
    *) wrong "unknown flag $1" ;;
  esac
  shift 2
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || wrong "--minutes: expected a whole number of at least 1, got '$minutes'"
[ -n "$out" ] || wrong "--out: expected a folder"
mkdir -p "$out" || wrong "--out: the folder $out cannot be made"

if [ -n "$rehearses" ]; then
  epochs=(--epochs 1 --data "$out/mnist") nets=(lenet) batches=(4) profiled=(lenet bf16 4)
  codec_sizes=/n:1048576/density:1e-3 title="Rehearsal with small networks, no measurements,"
  mkdir -p "$out/mnist"
  for part in train t10k; do  # 64 black digits
    { printf '\0\0\x8\x3\0\0\0\x40\0\0\0\x1c\0\0\0\x1c'; head -c $((64 * 28 * 28)) /dev/zero; } >"$out/mnist/$part-images-idx3-ubyte"
    { printf '\0\0\x8\x1\0\0\0\x40'; head -c 64 /dev/zero; } >"$out/mnist/$part-labels-idx1-ubyte"
  done
fi

deadline=$((SECONDS + 60 * minutes))
names=() results=() seconds=()
left() { echo $((deadline - SECONDS)); }

# record NAME RESULT SECONDS
record() {
  names+=("$1") results+=("$2") seconds+=("$3")
  echo "$1: $2 ($3 s)"
  report >"$out/report.md"
}
# step NAME LIMIT COMMAND...: runs a command for at most LIMIT seconds.
step() {
  local name=$1 limit=$2 begin=$SECONDS status
  shift 2
  if [ "$(left)" -lt 1 ]; then
    record "$name" "not run: no time left" 0
    return
  fi
  [ "$(left)" -ge "$limit" ] || limit=$(left)
  timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null
  status=$?
  case $status in
    0) record "$name" passed $((SECONDS - begin)) ;;
    77) record "$name" "not run: skipped itself" $((SECONDS - begin)) ;;
    124 | 137) record "$name" "failed: stopped after $limit s" $((SECONDS - begin)) ;;
    *) record "$name" "failed: exit status $status" $((SECONDS - begin)) ;;
  esac
}
# tool NAME STEP: whether the command NAME exists; otherwise records STEP as not run.
tool() {
  command -v "$1" >/dev/null && return
  record "$2" "not run: $1 is not installed" 0
  return 1
}
# program PATH STEP: whether a built program exists; otherwise records STEP as failed.
program() {
  [ -x "$programs/$1" ] && return
  echo "$programs/$1 is missing; the first lines of on_gpu.sh build it" >"$out/$2.log"
  record "$2" "failed: $1 is not built" 0
  return 1
}
# tail_of STEP LINES: the last lines of the step's output, as a block of code.
tail_of() {
  echo '```'
  tail -n "$2" "$out/$1.log" | cut -c 1-300
  echo '```'
}
report() {
  local i failed=0
  echo "# $title of $(date -u +%Y-%m-%d), commit $(git -C "$here" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
  echo
  head -n 1 "$out/gpu.log" 2>/dev/null
  echo
  echo "## Fix first"
  for i in "${!names[@]}"; do
    [[ ${results[i]} == failed* ]] || continue
    failed=$((failed + 1))
    echo
    echo "$failed. **${names[i]}** ${results[i]}"
    echo
    grep -hE '^\[  FAILED  \]' "$out/${names[i]}.log" | sort -u | head -n 20
    tail_of "${names[i]}" 12
  done
  [ $failed -gt 0 ] || echo "Nothing failed."
  echo
  echo "## Steps of this run"
  echo
  echo "| step | result | seconds |"
  echo "|---|---|---|"
  for i in "${!names[@]}"; do echo "| ${names[i]} | ${results[i]} | ${seconds[i]} |"; done
  for i in "${!names[@]}"; do
    case ${names[i]} in
      pytorch-* | train-* | ncu | codec)
        [ -s "$out/${names[i]}.log" ] || continue
        echo
        echo "## ${names[i]}"
        echo
        tail_of "${names[i]}" 40
        ;;
    esac
  done
}

tests=tests/backends_cudnn_on_a_gpu_test

# 1. Describe the machine, then run the test cases that find most errors in the shortest time.
if tool nvidia-smi gpu; then
  step gpu 30 nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader
fi
if program $tests first-cases; then
  step first-cases 120 "$programs/$tests" '--gtest_filter=on_a_gpu.probes*:on_a_gpu.*recorded*:on_a_gpu.*agrees*:on_a_gpu.threshold_messages*'
  # 2. Run all cases in several parts, so that a crash ends only one part.
  for part in 0 1 2 3 4 5 6 7; do
    step "cases-$part" 180 env GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=$part "$programs/$tests"
  done
  # 3. Run the sanitizer.
  if tool compute-sanitizer sanitizer; then
    for check in memcheck racecheck initcheck; do
      step "sanitizer-$check" 240 compute-sanitizer --tool $check --error-exitcode 9 "$programs/$tests" \
        '--gtest_filter=on_a_gpu.a_network_agrees*:on_a_gpu.threshold_messages*'
    done
  fi
fi

# 4. Measure accuracy: the mean of three seeds should be 98.7 %.
for type in f32 tf32 bf16; do
  program examples/lenet_mnist "lenet-$type" || continue
  backend=cudnn
  [ $type = f32 ] || backend=cudnn_$type
  for seed in 1 2 3; do
    step "lenet-$type-$seed" 120 "$programs/examples/lenet_mnist" --backend $backend "${epochs[@]}" --seed $seed
  done
done

# 5. Measure steps, compared with PyTorch if it is installed.
if program benchmarks/train_step train; then
  for net in "${nets[@]}"; do
    for batch in "${batches[@]}"; do
      for type in bf16 tf32 f32; do
        step "train-$net-$type-$batch-tuned" 120 bash -c 'for block in 1 2 3; do echo 1.5; done | "$@"' - \
          "$programs/benchmarks/train_step" --device cuda --tune $net $type $batch 1 1
        if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
          step "pytorch-$net-$type-$batch" 240 python3 "$here/compare_pytorch.py" --device cuda --nets $net --dtypes $type \
            --batch $batch --rounds 3 --modes channels_last,graph_channels_last --programs "$programs/benchmarks"
        else
          step "train-$net-$type-$batch" 120 bash -c 'for block in 1 2 3; do echo 1.5; done | "$@"' - \
            "$programs/benchmarks/train_step" --device cuda $net $type $batch 1 1
        fi
      done
    done
  done
  # 6. Measure kernels.
  if tool ncu ncu; then
    step ncu 240 bash -c 'echo 0.1 | "$@"' - ncu --csv --section SpeedOfLight --launch-skip 500 --launch-count 60 \
      --kernel-name 'regex:channel_s|norm_gradient|normalise|finish_channels|softmax_loss|max_pool' \
      "$programs/benchmarks/train_step" --device cuda "${profiled[@]}" 1 1
  fi
fi

# 7. Measure messages.
if program benchmarks/codec_benchmark codec; then
  step codec 180 "$programs/benchmarks/codec_benchmark" "--benchmark_filter=codec/cudnn.*$codec_sizes"
fi
# 8. Run NCCL with one rank.
if program tests/backends_nccl_on_gpus_test nccl; then
  step nccl 120 "$programs/tests/backends_nccl_on_gpus_test"
fi

echo "$out/report.md"
for result in "${results[@]}"; do [[ $result != failed* ]] || exit 1; done
