// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/deeplearning4j_archive.hpp>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/interchange/detail/nd4j_reader.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/detail/gzip_frame.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/json.hpp>
#include <optional>
#include <utility>

namespace cohort {

namespace detail {

std::vector<std::byte> deeplearning4j_archive::read(std::string_view name, std::size_t most) const {
  zip_entry const* const entry = directory_.find(name);
  if (!entry)
    throw data_error(
        {.what = {"cannot import the Deeplearning4j model: the archive has no entry ", quote_for_error(name)},
         .where = name_,
         .expected = "a file that ModelSerializer.writeModel has written"});
  if (entry->size > most)
    directory_.refuse(*entry, "is too large", "at most " + std::to_string(most) + " bytes",
                      std::to_string(entry->size));
  std::span<std::byte const> const packed = directory_.packed(*entry);
  if (entry->method == 0) {
    directory_.expect_crc(*entry, io::crc32(packed));
    return {packed.begin(), packed.end()};
  }
  if (entry->method != 8)
    directory_.refuse(*entry, "has an unknown compression", "stored (0) or deflate (8)",
                      "method " + std::to_string(entry->method));
  std::vector<std::byte> contents(static_cast<std::size_t>(entry->size));
  std::uint64_t const size = inflate_(with_gzip_frame(packed, entry->crc, entry->size), contents, entry->size,
                                      [&] { return name_ + ", " + std::string(name); });
  if (size != entry->size)
    directory_.refuse(*entry, "is damaged", std::to_string(entry->size) + " bytes", std::to_string(size));
  return contents;
}

namespace deeplearning4j_normalizers {

/// The smallest divisor of Deeplearning4j's normalizers.
inline constexpr double smallest = 1e-5;

using maps = std::vector<channel_scaling>;

/// Reads mean and standard deviation, or minimum and maximum, of each feature.
inline maps read_maps(nd4j_reader& from, bool is_range, double lowest, double highest) {
  std::vector<float> const first = from.array(), second = from.array();
  if (first.size() != second.size())
    from.refuse("the statistics of a normalizer differ in length", std::to_string(first.size()),
                std::to_string(second.size()));
  maps result;
  for (std::size_t i = 0; i < first.size(); ++i) {
    double const zero = first[i];
    double const unit = std::max(is_range ? static_cast<double>(second[i]) - zero : second[i], smallest);
    double const factor = is_range ? highest - lowest : 1, offset = is_range ? lowest : 0;
    result.push_back({.scale = factor / unit, .offset = offset - factor * zero / unit});
    if (!std::isfinite(unit) || !std::isfinite(result.back().scale) || !std::isfinite(result.back().offset))
      from.refuse("the statistics of a normalizer are not finite", "finite numbers",
                  std::to_string(first[i]) + " and " + std::to_string(second[i]));
  }
  return result;
}

/// Reads normalizer.bin. `input`: the shape of the network's input.
inline normalisation read(std::span<std::byte const> bytes, std::string const& name, shape const& input) {
  nd4j_reader from(bytes, name);
  if (std::string const header = from.text(); header != "NORMALIZER")
    from.refuse("the normalizer is damaged", "NORMALIZER", quote_for_error(header));
  if (std::int32_t const version = from.integer(); version != 1)
    from.refuse("the normalizer has another version", "1", std::to_string(version));
  std::string const type = from.text();
  normalisation result;
  if (type == "IMAGE_MIN_MAX") {
    double const lowest = from.real(), highest = from.real(), most = from.real();
    if (!(most > 0) || !std::isfinite((highest - lowest) / most) || !std::isfinite(lowest))
      from.refuse("the range of a normalizer's pixels is empty or not finite",
                  "finite numbers, such as 0, 1 and 255",
                  std::to_string(lowest) + ", " + std::to_string(highest) + " and " + std::to_string(most));
    result.inputs.emplace_back(static_cast<std::size_t>(channels_of(input)),
                               channel_scaling{.scale = (highest - lowest) / most, .offset = lowest});
  } else if (type == "STANDARDIZE" || type == "MIN_MAX") {
    bool const is_range = type == "MIN_MAX", has_labels = from.flag();
    double const lowest = is_range ? from.real() : 0, highest = is_range ? from.real() : 1;
    result.inputs.push_back(read_maps(from, is_range, lowest, highest));
    if (has_labels) result.targets.push_back(read_maps(from, is_range, lowest, highest));
  } else {
    from.refuse("the normalizer is not imported",
                "STANDARDIZE, MIN_MAX or IMAGE_MIN_MAX; or a model that is saved without normalizer",
                quote_for_error(type));
  }
  from.expect_end();
  if (auto const width = static_cast<std::size_t>(channels_of(input)); result.inputs[0].size() != width)
    from.refuse("the normalizer has another number of features than the network's input",
                std::to_string(width), std::to_string(result.inputs[0].size()));
  return result;
}

}  // namespace deeplearning4j_normalizers

namespace deeplearning4j_files {

inline std::vector<float> read_array(std::span<std::byte const> bytes, std::string const& name) {
  nd4j_reader from(bytes, name);
  std::vector<float> result = from.array();
  from.expect_end();
  return result;
}

/// Largest size of the headers of an array.
inline constexpr std::size_t header_bytes = 4096;

}  // namespace deeplearning4j_files

}  // namespace detail

imported_model import_deeplearning4j(std::span<std::byte const> bytes, std::string const& origin,
                                     io::inflater const& inflate, deeplearning4j_settings const& settings) {
  using namespace detail::deeplearning4j_files;
  detail::deeplearning4j_archive const archive(bytes, origin, inflate);
  std::size_t const most = settings.max_bytes;
  std::vector<std::byte> const text =
      archive.read("configuration.json", std::min(most, io::json_limits().max_bytes));
  auto const document = io::parse_json({reinterpret_cast<char const*>(text.data()), text.size()},
                                       origin + ", configuration.json");
  // Only the formats NHWC and NWC contain these letters in quotes.
  std::string_view const letters(reinterpret_cast<char const*>(text.data()), text.size());
  bool const channels_last =
      letters.find("\"NHWC\"") != letters.npos || letters.find("\"NWC\"") != letters.npos;
  detail::deeplearning4j_translation translation(origin, settings, channels_last);
  translation.translate(document.root());
  // Nd4j stores at most 8 bytes for each number, so a larger entry belongs to another network.
  auto const entry = [&](char const* name, std::size_t numbers) {
    std::size_t const largest = numbers < most / 8 ? 8 * numbers + header_bytes : most;
    std::vector<std::byte> const contents = archive.read(name, std::min(most, largest));
    return contents.empty() ? std::vector<float>() : read_array(contents, origin + ", " + name);
  };
  imported_model model = translation.finish(entry("coefficients.bin", translation.parameters()), [&] {
    return archive.has("updaterState.bin")
               ? std::optional(entry("updaterState.bin", translation.state_numbers()))
               : std::nullopt;
  });
  if (archive.has("normalizer.bin")) {
    if (model.inputs.size() != 1)
      detail::refuse_deeplearning4j(origin, "a normalizer of several inputs is not imported", "one input",
                                    std::to_string(model.inputs.size()));
    graph_view const net = model.network();
    std::vector<std::byte> const contents = archive.read("normalizer.bin", std::size_t{64} << 20);
    model.normalisation = detail::deeplearning4j_normalizers::read(
        contents, origin + ", normalizer.bin", net[net.with_role(layer_role::input)[0]].output);
  }
  return model;
}

imported_model import_deeplearning4j(std::string const& path, io::inflater const& inflate,
                                     deeplearning4j_settings const& settings) {
  std::vector<std::byte> const bytes = io::read_file(path, settings.max_bytes);
  return import_deeplearning4j(bytes, path, inflate, settings);
}

}  // namespace cohort
