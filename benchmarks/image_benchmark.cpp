// SPDX-License-Identifier: Apache-2.0
// needs: image
// decode/KIND/HxW            decodes a file in memory to RGB planes: jpeg (quality 90, 4:2:0), jpeg_to_grey,
//                            png
// resize/HxW/to:HxW          bilinear with antialiasing
// augment/HxW                copies a random crop of the padded image, randomly flipped, into the batch
// jitter/HxW, rotate/HxW     changes the colours of the image, rotates it
// file_batches/jpeg/HxW/batch:B/readers:R   the loader's batches from zip archives: read,
//                            decoded and scaled by R threads
// items_per_second: images per second, on one thread or, if given, on `readers` threads.
#include "context.hpp"

#include <benchmark/benchmark.h>
#include <png.h>
#include <turbojpeg.h>
#include <unistd.h>

#include <cohort/data/loader.hpp>
#include <cohort/image.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

using file_bytes = std::vector<std::byte>;

/// Makes an image of gradients, edges and some noise. As a JPEG it has about as many bytes per pixel as a
/// photograph.
cohort::image picture(int height, int width) {
  cohort::image made(3, height, width);
  cohort::random_stream const chance(1, "picture");
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        int const object = x * x + y * y < width * height / 2 ? 90 : 0;
        auto const grain =
            static_cast<int>(chance.bits(static_cast<std::uint64_t>(y / 2 * width + x / 2)) % 24);
        made.plane(c)[y * width + x] = static_cast<std::uint8_t>(20 + 80 * x / width + 30 * c * y / height
                                                                 + object * (c + 1) / 3 + grain);
      }
  return made;
}

std::vector<std::uint8_t> interleaved(cohort::image const& from) {
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < from.plane_bytes(); ++i)
    for (int c = 0; c < 3; ++c) pixels.push_back(from.plane(c)[i]);
  return pixels;
}

file_bytes jpeg(int height, int width) {
  tjhandle const codec = tjInitCompress();
  unsigned char* made = nullptr;
  unsigned long size = 0;
  std::vector<std::uint8_t> const pixels = interleaved(picture(height, width));
  tjCompress2(codec, pixels.data(), width, 0, height, TJPF_RGB, &made, &size, TJSAMP_420, 90, 0);
  auto const* const first = reinterpret_cast<std::byte const*>(made);
  file_bytes bytes(first, first + size);
  tjFree(made);
  tjDestroy(codec);
  return bytes;
}

file_bytes png(int height, int width) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(width);
  header.height = static_cast<png_uint_32>(height);
  header.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> const pixels = interleaved(picture(height, width));
  file_bytes bytes(pixels.size() * 2 + 4096);
  png_alloc_size_t size = bytes.size();
  png_image_write_to_memory(&header, bytes.data(), &size, 0, pixels.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

std::string extents(int height, int width) { return std::to_string(height) + "x" + std::to_string(width); }

void decode(benchmark::State& state, file_bytes const& file, int channels) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(cohort::decoded(file, "x", {.channels = channels}).pixels.data());
  cohort::shape const size = cohort::image_size(file, "x");
  state.SetItemsProcessed(state.iterations());
  state.counters["megapixels_per_second"] =
      benchmark::Counter(1e-6 * size[1] * size[2], benchmark::Counter::kIsIterationInvariantRate);
  state.counters["file_bytes"] = static_cast<double>(file.size());
}

void resize(benchmark::State& state, int height, int width, int new_height, int new_width) {
  cohort::image const from = picture(height, width);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(cohort::resized(from, new_height, new_width).pixels.data());
  state.SetItemsProcessed(state.iterations());
}

void augment(benchmark::State& state, int extent) {
  cohort::image const from = picture(extent, extent);
  std::vector<std::uint8_t> const label = {0};
  cohort::augmented const data(cohort::arrays(from.pixels, from.dims, label, 1),
                               {.padding = 4, .place = cohort::placing::anywhere, .flip = true, .seed = 1});
  cohort::example_view out;
  out.allocate(data.describe());
  for ([[maybe_unused]] auto _ : state) {
    ++out.epoch;
    data.get(0, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void jitter(benchmark::State& state, int extent) {
  cohort::image const from = picture(extent, extent);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(
        cohort::recoloured(from, {.brightness = 1.2, .contrast = 0.9, .saturation = 1.1, .hue = 0.03})
            .pixels.data());
  state.SetItemsProcessed(state.iterations());
}

void rotate(benchmark::State& state, int extent) {
  cohort::image const from = picture(extent, extent);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(cohort::rotated(from, 11).pixels.data());
  state.SetItemsProcessed(state.iterations());
}

void load(benchmark::State& state, int extent, int batch, int readers) {
  constexpr int files = 1024;
  std::string const folder = "/tmp/cohort-image-benchmark-" + std::to_string(::getpid());
  file_bytes const file = jpeg(extent, extent);
  cohort::io::make_folder(folder + "/in/class");
  for (int i = 0; i < files; ++i)
    std::ofstream(folder + "/in/class/" + std::to_string(i) + ".jpg", std::ios::binary)
        .write(reinterpret_cast<char const*>(file.data()), static_cast<std::streamsize>(file.size()));
  cohort::file_batches const data(cohort::pack_files(folder + "/in", folder + "/out", 256, 1));
  cohort::loader loader(std::cref(data), {.batch = batch, .seed = 1, .readers = readers});
  std::int64_t epoch = 0;
  loader.start(epoch);
  std::int64_t loaded = 0;
  for ([[maybe_unused]] auto _ : state) {
    cohort::batch const* next = loader.next();
    if (next == nullptr) {
      loader.start(++epoch);
      next = loader.next();
    }
    benchmark::DoNotOptimize(next->input().data);
    loaded += next->count;
  }
  state.SetItemsProcessed(loaded);
  if (std::system(("rm -r '" + folder + "'").c_str()) != 0) std::perror(folder.c_str());
}

template <class Run>
void declare(std::string const& name, Run run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMicrosecond)->UseRealTime();
}

void declare_all() {
  for (int extent : {32, 224}) {
    std::string const size = extents(extent, extent);
    declare("decode/jpeg/" + size, [=](benchmark::State& s) { decode(s, jpeg(extent, extent), 3); });
    declare("decode/jpeg_to_grey/" + size, [=](benchmark::State& s) { decode(s, jpeg(extent, extent), 1); });
    declare("decode/png/" + size, [=](benchmark::State& s) { decode(s, png(extent, extent), 3); });
    declare("augment/" + size, [=](benchmark::State& s) { augment(s, extent); });
    declare("jitter/" + size, [=](benchmark::State& s) { jitter(s, extent); });
    declare("rotate/" + size, [=](benchmark::State& s) { rotate(s, extent); });
    for (int readers : {1, 2})
      declare("file_batches/jpeg/" + size + "/batch:32/readers:" + std::to_string(readers),
              [=](benchmark::State& s) { load(s, extent, 32, readers); });
  }
  for (cohort::shape const from : {cohort::shape(375, 500), cohort::shape(256, 256), cohort::shape(32, 32)})
    declare("resize/" + extents(from[0], from[1]) + "/to:224x224",
            [=](benchmark::State& s) { resize(s, from[0], from[1], 224, 224); });
}

}  // namespace

int main(int argc, char** argv) {
  declare_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
