// SPDX-License-Identifier: Apache-2.0
// uses: cudnn
// Encodes a gradient as a message, compared with `r += g` on the same arrays, interleaved.
// codec/encode/n:N/density:D        `ratio`: elements per second of encoding, coding included, relative to r
//                                   += g; target 0.75 up to density 1e-2. `decode`: speed of decoding
//                                   relative to encoding; target at least 1. `payload`: bytes relative to the
//                                   entropy; target at most 1.03. `dl4j`: Deeplearning4j's bytes (16 + 4 per
//                                   sent element, or n/4) relative to Cohort's
// codec/quantile/…                  encoding with a sampled threshold, including the check that the gradient
//                                   can be sent
// codec/ranks:P/…                   the work of the busiest rank when P ranks' messages are merged pairwise
//                                   and the sum is decoded into an array of zeros: `merge_ms`, `decode_ms`,
//                                   `zero_ms`, and `of_two`: relative to two ranks
// codec/cudnn/quantile/…            codec/quantile on a GPU, relative to `r += g` on it: `ratio`, `decode`,
//                                   `decode_ms`; `of_copy`: encoding's bandwidth, counting the bytes of
//                                   `r += g`, relative to that of a copy
#include "context.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/execution/flat_simd.hpp>
#include <cohort/random/stream.hpp>
#if __has_include(<cohort/cudnn/detail/threshold_on_gpu.hpp>)
#include <cohort/cudnn/detail/threshold_on_gpu.hpp>
#endif
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using benchmarks::median;
using benchmarks::quantile;
using benchmarks::seconds;
using namespace cohort;

/// Normally distributed numbers, generated once.
std::vector<float> const& gradient(std::size_t n) {
  static std::vector<float> x;
  if (x.size() < n) {
    random_stream const stream(1, "gradient");
    x.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t const bits = (i + 1) * 0x9e3779b97f4a7c15;
      x[i] = i < 1 << 20 ? stream.normal<float>(i) : x[(bits ^ bits >> 29) * 0xbf58476d1ce4e5b9 >> 44];
    }
  }
  return x;
}

/// Returns the threshold that a fraction `density` of the elements reaches.
double threshold_for(std::vector<float> const& x, std::size_t n, double density) {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < std::min<std::size_t>(n, 1 << 20); ++i) sizes.push_back(std::fabs(x[i]));
  return quantile(std::move(sizes), 1 - density);
}

double code_bytes(std::span<std::byte const> message) {
  message_header header;
  std::memcpy(static_cast<void*>(&header), message.data(), sizeof header);
  return static_cast<double>(header.payload_bytes);
}

void encode(benchmark::State& state, std::size_t n, double density, bool samples, int threads) {
  std::vector<float> const& x = gradient(n);
  std::vector<float> r(n), dense(n);
  isa const which = best_isa();
  std::optional<team> workers;
  if (threads > 1) workers.emplace(threads);
  threshold_compression how;
  how.threshold = threshold::fixed{threshold_for(x, n, density)};
  if (samples) how.threshold = threshold::quantile{.density = density};
  threshold_compressor codec({{"all", n}}, how, workers ? &*workers : nullptr);
  std::span<float const> const g(x.data(), n);
  std::vector<double> add_times, encode_times, decode_times, ratios;
  std::span<std::byte const> message;
  bool good = true;
  for (std::uint64_t step = 0; [[maybe_unused]] auto _ : state) {
    std::fill(r.begin(), r.end(), 0.0F);
    add_times.push_back(seconds([&] {
      auto const add = [&](std::size_t from, std::size_t to) {
        float const* const parts[]{r.data() + from, g.data() + from};
        sum_parts(which, r.data() + from, parts, 2, to - from);
      };
      if (workers)
        workers->run([&](int w) {
          add(n * static_cast<std::size_t>(w) / static_cast<std::size_t>(threads),
              n * static_cast<std::size_t>(w + 1) / static_cast<std::size_t>(threads));
        });
      else
        add(0, n);
      benchmark::ClobberMemory();
    }));
    std::fill(r.begin(), r.end(), 0.0F);
    encode_times.push_back(seconds([&] {
      if (samples) good = good && within_range(which, g);
      message = codec.encode({.step = step}, r, g);
      benchmark::ClobberMemory();
    }));
    state.SetIterationTime(encode_times.back());
    ratios.push_back(add_times.back() / encode_times.back());
    std::fill(dense.begin(), dense.end(), 0.0F);
    decode_times.push_back(seconds([&] {
      codec.decode_add(message, {.last_step = step}, 1, dense);
      benchmark::ClobberMemory();
    }));
    ++step;
  }
  if (!good) state.SkipWithError("the gradient cannot be sent");
  auto const sent = static_cast<double>(codec.report().sent);
  state.counters["density"] = codec.report().density();
  state.counters["ratio"] = median(ratios);
  state.counters["ratio_low"] = quantile(ratios, 0.25);
  state.counters["ratio_high"] = quantile(ratios, 0.75);
  state.counters["decode"] = median(encode_times) / median(decode_times);
  state.counters["payload"] = code_bytes(message) / codec.report().entropy_bytes();
  state.counters["bytes"] = static_cast<double>(message.size());
  state.counters["dl4j"] =
      std::min(16 + 4 * sent, static_cast<double>(n) / 4) / static_cast<double>(message.size());
  state.counters["add_GB/s"] = 12e-9 * static_cast<double>(n) / median(add_times);
}

#if __has_include(<cohort/cudnn/detail/threshold_on_gpu.hpp>)
void encode_on_gpu(benchmark::State& state, std::size_t n, double density) {
  std::shared_ptr<detail::compute_stream> stream;
  try {
    stream = std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>());
  } catch (error const& why) {
    state.SkipWithError(why.what());
    return;
  }
  std::vector<float> const& numbers = gradient(n);
  buffer const x(4 * n, stream), r(4 * n, stream), dense(4 * n, stream);
  stream->upload(numbers.data(), x.data(), 4 * n);
  std::span<float> const g(x.as<float>(), n), residual(r.as<float>(), n), sums(dense.as<float>(), n);
  threshold_compressor codec({{"all", n}}, {.threshold = threshold::quantile{.density = density}}, nullptr,
                             best_isa(), std::make_shared<detail::threshold_on_gpu>(stream));
  std::vector<double> copy_times, add_times, encode_times, decode_times;
  std::vector<std::byte> message;
  bool good = true;
  auto const timed = [&](auto work) {
    stream->wait();
    return seconds([&] {
      work();
      stream->wait();
    });
  };
  for (std::uint64_t step = 0; [[maybe_unused]] auto _ : state) {
    copy_times.push_back(timed([&] { stream->copy(x.data(), dense.data(), 4 * n); }));
    stream->clear(r.data(), r.bytes());
    add_times.push_back(timed([&] {
      stream->launch(detail::kernels::add_to{g.data(), residual.data()}, n);
    }));
    stream->clear(r.data(), r.bytes());
    encode_times.push_back(timed([&] {
      good = good && codec.device_passes()->within(g, largest_gradient);
      auto const bytes = codec.encode({.step = step}, residual, g);
      message.assign(bytes.begin(), bytes.end());
    }));
    state.SetIterationTime(encode_times.back());
    decode_times.push_back(timed([&] { codec.decode_add(message, {.last_step = step}, 1, sums); }));
    ++step;
  }
  if (!good) state.SkipWithError("the gradient cannot be sent");
  state.counters["density"] = codec.report().density();
  state.counters["ratio"] = median(add_times) / median(encode_times);
  state.counters["of_copy"] = 12 * median(copy_times) / (8 * median(encode_times));
  state.counters["decode"] = median(encode_times) / median(decode_times);
  state.counters["decode_ms"] = 1e3 * median(decode_times);
  state.counters["bytes"] = static_cast<double>(message.size());
  state.counters["add_GB/s"] = 12e-9 * static_cast<double>(n) / median(add_times);
}
#endif

/// Rank 0's work in a step of `ranks` ranks: it merges messages at every level, then decodes the result.
struct step_of_ranks {
  std::size_t n;
  std::vector<std::vector<std::byte>> messages;  // rank 0's message and the received messages
  std::vector<float> before, r, dense;
  threshold_compressor codec;

  /// `common`: norm of the component that the gradients of all ranks share, divided by the norm of a
  /// gradient.
  step_of_ranks(std::size_t elements, std::uint32_t ranks, double density, double common)
      : n(elements),
        r(n),
        dense(n),
        codec({{"all", n}}, {.threshold = threshold::quantile{.density = density}}) {
    std::vector<float> const& shared = gradient(n);
    expected_messages const any{.ranks = ranks};
    auto const message_of = [&](std::uint32_t rank, std::vector<float>& residual) {
      random_stream const keys(2, "rank", rank);
      std::vector<float> x(n);
      std::size_t const shift = static_cast<std::size_t>(keys.below(0, n));
      for (std::size_t i = 0; i < n; ++i)
        x[i] = static_cast<float>(common) * shared[i]
               + static_cast<float>(std::sqrt(1 - common * common)) * shared[(i + shift) % n];
      std::fill(residual.begin(), residual.end(), 0.0F);
      auto const bytes = codec.encode({.rank = rank}, residual, x);
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    std::vector<std::vector<std::byte>> all(ranks);
    std::vector<float> other(n);
    for (std::uint32_t rank = ranks; rank-- > 1;) all[rank] = message_of(rank, other);
    messages.push_back(message_of(0, r));
    before = r;
    for (std::uint32_t apart = 1; apart < ranks; apart *= 2) {
      messages.push_back(all[apart]);  // the sender has merged it with its partners at the lower levels
      for (std::uint32_t rank = 2 * apart; rank < ranks; rank += 2 * apart) {
        std::fill(other.begin(), other.end(), 0.0F);  // residuals of other ranks (40 MB each) are discarded
        auto const both = codec.merge(all[rank], all[rank + apart], any, other);
        all[rank].assign(both.begin(), both.end());
      }
    }
  }

  struct times {
    double merge = 0, zero = 0, decode = 0, density = 0;
    double sum() const { return merge + zero + decode; }
  };
  times measure(std::uint32_t ranks) {
    times result;
    expected_messages const any{.ranks = ranks};
    std::copy(before.begin(), before.end(), r.begin());
    std::fill(dense.begin(), dense.end(), 1.0F);
    std::vector<std::byte> mine = messages[0];
    for (std::size_t level = 1; level < messages.size(); ++level) {
      std::span<std::byte const> both;
      result.merge += seconds([&] { both = codec.merge(mine, messages[level], any, r); });
      mine.assign(both.begin(), both.end());
      result.density = codec.report().density();
    }
    result.zero = seconds([&] {
      std::fill(dense.begin(), dense.end(), 0.0F);
      benchmark::ClobberMemory();
    });
    result.decode = seconds([&] {
      codec.decode_add(mine, any, 1, dense);
      benchmark::ClobberMemory();
    });
    return result;
  }
};

void ranks(benchmark::State& state, std::uint32_t count, std::size_t n, double density, double common) {
  step_of_ranks two(n, 2, density, common), many(n, count, density, common);
  std::vector<double> merge, zero, decode, ratio, without_zeros;
  double reached = 0;
  for ([[maybe_unused]] auto _ : state) {
    auto const few = two.measure(2);
    auto const all = many.measure(count);
    merge.push_back(all.merge);
    zero.push_back(all.zero);
    decode.push_back(all.decode);
    ratio.push_back(all.sum() / few.sum());
    without_zeros.push_back((all.merge + all.decode) / (few.merge + few.decode));
    reached = all.density;
    state.SetIterationTime(all.sum());
  }
  state.counters["merge_ms"] = 1e3 * median(merge);
  state.counters["zero_ms"] = 1e3 * median(zero);
  state.counters["decode_ms"] = 1e3 * median(decode);
  state.counters["of_two"] = median(ratio);
  state.counters["of_two_without_zeros"] = median(without_zeros);
  state.counters["density"] = reached;
}

}  // namespace

int main(int argc, char** argv) {
  auto const declare = [](std::string const& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
  };
  for (std::size_t const n : {std::size_t{1} << 20, std::size_t{1} << 24, std::size_t{1} << 26})
    for (char const* const density : {"1e-4", "1e-3", "1e-2", "3e-2", "1e-1", "2e-1"})
      for (int const threads : {1, 2})
        for (bool const samples : {false, true})
          declare("codec/" + std::string(samples ? "quantile" : "encode") + "/n:" + std::to_string(n)
                      + "/density:" + density + "/workers:" + std::to_string(threads),
                  [=](benchmark::State& state) { encode(state, n, std::stod(density), samples, threads); });
#if __has_include(<cohort/cudnn/detail/threshold_on_gpu.hpp>)
  for (std::size_t const n : {std::size_t{1} << 20, std::size_t{1} << 24, std::size_t{1} << 26})
    for (char const* const density : {"1e-4", "1e-3", "1e-2", "2e-1"})
      declare("codec/cudnn/quantile/n:" + std::to_string(n) + "/density:" + density,
              [=](benchmark::State& state) { encode_on_gpu(state, n, std::stod(density)); });
#endif
  for (char const* const common : {"0", "0.5", "0.9"})
    for (std::uint32_t const count : {4U, 32U})
      declare("codec/ranks:" + std::to_string(count) + "/n:10000000/density:1e-3/common:" + common,
              [=](benchmark::State& state) { ranks(state, count, 10'000'000, 1e-3, std::stod(common)); });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
