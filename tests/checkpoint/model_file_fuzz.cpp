// SPDX-License-Identifier: Apache-2.0
// Malformed model files and their texts: a file or a text is refused by an error with its name, or it is
// read. The first byte selects a file (0), a network (1), settings of an optimizer (2), normalisations (3)
// or the manifest of a checkpoint (4).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/checkpoint_model_file_fuzz some/folder tests/checkpoint/model_file_fuzz
#include <algorithm>
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The interface of std::istream that the reader needs.
class bytes_stream {
 public:
  bytes_stream(std::uint8_t const* data, std::size_t size) : data_(data), size_(size) {}
  void read(char* into, std::ptrdiff_t bytes) {
    read_ = std::min(static_cast<std::size_t>(bytes), size_);
    std::memcpy(into, data_, read_);
    data_ += read_;
    size_ -= read_;
  }
  std::ptrdiff_t gcount() const { return static_cast<std::ptrdiff_t>(read_); }

 private:
  std::uint8_t const* data_;
  std::size_t size_, read_ = 0;
};

/// Reads every byte, so that the address sanitizer detects a view that is too large.
void read_all(tensor_view view) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < view.bytes(); ++i) sum += std::to_integer<unsigned>(view.data[i]);
  require(sum <= 255 * view.bytes());
}

void read_file(std::uint8_t const* data, std::size_t size) {
  bytes_stream in(data, size);
  model_file const model =
      model_file::read(in, "file", {.max_header_bytes = 1 << 20, .max_header_values = 10'000});
  std::size_t bytes = 0;
  for (stored_tensor const& one : model.file().tensors()) {
    require(model.file().find(one.name).has_value());
    read_all(one.view);
    bytes += one.view.bytes();
  }
  require(bytes <= size);
  require(model.network().view().size() > 0);
}

void read_network(std::string_view text) {
  graph const made = from_json(text, "file");
  require(to_json(from_json(to_json(made), "file")) == to_json(made));
}

void read_optimizer(std::string_view text) {
  io::json_document const document = io::parse_json(text, "file");
  optimizer_settings const made = optimizer_from_json(document.root());
  require(to_json(made).size() > 0);
}

void read_manifest(std::string_view text) {
  detail::checkpoint_manifest const made = detail::manifest_from_json(text, "file");
  require(detail::manifest_from_json(detail::to_json(made), "file") == made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  std::vector<char> const copy(data + 1, data + size);
  std::string_view const text(copy.data(), copy.size());
  try {
    switch (data[0] % 5) {
      case 0:
        read_file(data + 1, size - 1);
        break;
      case 1:
        read_network(text);
        break;
      case 2:
        read_optimizer(text);
        break;
      case 3:
        normalisation::from_json(text, "file");
        break;
      default:
        read_manifest(text);
    }
  } catch (data_error const& refused) {
    require(std::string_view(refused.why().where).find("file") != std::string_view::npos);
  } catch (setting_error const& refused) {
    require(!refused.why().what.empty());
  }
  return 0;
}
