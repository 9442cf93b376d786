// SPDX-License-Identifier: Apache-2.0
// needs: zlib
// Malformed models of Deeplearning4j. The first byte selects a configuration (0: to train, 1: to predict),
// the archive (2), an array of Nd4j (3), or the entries of an archive with a valid configuration (4):
// coefficients, updater state and normalizer, after the 16-bit lengths of the first two. A configuration and
// an archive are refused by data_error, or become a network. An array is refused, or has at most one element
// for two bytes.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/interchange_import_deeplearning4j_fuzz F tests/interchange/import_deeplearning4j_fuzz
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/interchange/detail/nd4j_reader.hpp>
#include <cohort/interchange/import_deeplearning4j.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/json.hpp>
#include <cohort/zlib.hpp>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cohort;

/// 14 parameters, and 28 numbers of state.
constexpr std::string_view configuration =
    R"({"confs": [{"layer": {"@class": "DenseLayer", "nin": 3, "nout": 2,
  "activationFn": {"@class": "ActivationTanH"}, "iupdater": {"@class": "Adam", "learningRate": 0.1}}},
 {"layer": {"@class": "OutputLayer", "nin": 2, "nout": 2, "lossFn": {"@class": "LossMCXENT"},
  "activationFn": {"@class": "ActivationSoftmax"}, "iupdater": {"@class": "Adam", "learningRate": 0.1}}}],
 "iterationCount": 2, "epochCount": 1})";

/// Returns a zip archive of entries that are not compressed.
std::vector<std::byte> archive_of(
    std::vector<std::pair<std::string_view, std::span<std::byte const>>> const& entries) {
  std::vector<std::byte> data, directory;
  auto const put = [](std::vector<std::byte>& to, std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) to.push_back(static_cast<std::byte>(value >> 8 * i));
  };
  auto const append = [](std::vector<std::byte>& to, std::span<std::byte const> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  };
  for (auto const& [name, bytes] : entries) {
    std::size_t const local = data.size();
    auto const put_fields = [&, &name = name, &bytes = bytes](std::vector<std::byte>& to) {
      put(to, 20, 4);  // version and flags
      put(to, 0, 6);   // stored; time and date
      put(to, io::crc32(bytes), 4);
      put(to, bytes.size(), 4);
      put(to, bytes.size(), 4);
      put(to, name.size(), 4);  // and no extra field
    };
    put(data, 0x04034b50, 4);
    put_fields(data);
    append(data, std::as_bytes(std::span(name)));
    append(data, bytes);
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    put_fields(directory);
    put(directory, 0, 8);  // comment, part and attributes
    put(directory, 0, 2);
    put(directory, local, 4);
    append(directory, std::as_bytes(std::span(name)));
  }
  std::size_t const first = data.size();
  append(data, directory);
  put(data, 0x06054b50, 4);
  put(data, 0, 4);
  put(data, entries.size(), 2);
  put(data, entries.size(), 2);
  put(data, directory.size(), 4);
  put(data, first, 4);
  put(data, 0, 2);
  return data;
}

/// Imports the fixed configuration with the arrays and the normalizer of an input.
void import_entries(std::span<std::byte const> bytes, deeplearning4j_settings const& settings) {
  auto const next = [&](std::size_t size) {
    auto const part = bytes.first(std::min(size, bytes.size()));
    bytes = bytes.subspan(part.size());
    return part;
  };
  std::size_t lengths[2]{};
  for (std::size_t& length : lengths)
    for (std::byte const digit : next(2)) length = length << 8 | std::to_integer<std::size_t>(digit);
  std::vector<std::pair<std::string_view, std::span<std::byte const>>> entries{
      {"configuration.json", std::as_bytes(std::span(configuration))}};
  entries.emplace_back("coefficients.bin", next(lengths[0]));
  if (lengths[1] > 0) entries.emplace_back("updaterState.bin", next(lengths[1]));
  if (!bytes.empty()) entries.emplace_back("normalizer.bin", bytes);
  imported_model const model = import_deeplearning4j(archive_of(entries), "file", gzip::inflate, settings);
  if (model.inputs.size() != 1 || model.network().view().size() == 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::span const bytes(reinterpret_cast<std::byte const*>(data) + 1, size - 1);
  deeplearning4j_settings const settings{
      .steps = 3, .training = data[0] % 5 != 1, .batch = 2, .max_bytes = std::size_t{1} << 24};
  try {
    if (data[0] % 5 < 2) {
      auto const document =
          io::parse_json(std::string_view(reinterpret_cast<char const*>(data) + 1, size - 1));
      detail::deeplearning4j_translation translation("file", settings);
      translation.translate(document.root());
      if (translation.parameters() > std::size_t{1} << 20) return 0;
      std::size_t const numbers = translation.state_numbers();
      imported_model const model = translation.finish(std::vector<float>(translation.parameters(), 0.5F),
                                                      [&] { return std::vector<float>(numbers); });
      if (model.inputs.empty() || model.network().view().size() == 0) std::abort();
    } else if (data[0] % 5 == 2) {
      imported_model const model = import_deeplearning4j(bytes, "file", gzip::inflate, settings);
      if (model.inputs.empty()) std::abort();
    } else if (data[0] % 5 == 3) {
      detail::nd4j_reader reader(bytes, "file");
      if (2 * reader.array().size() > size) std::abort();
    } else {
      import_entries(bytes, settings);
    }
  } catch (data_error const&) {
  }
  return 0;
}
