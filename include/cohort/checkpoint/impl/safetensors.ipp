// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/json.hpp>
#include <cohort/tensor/f16.hpp>
#include <cstring>
#include <limits>
#include <utility>

namespace cohort::detail {

/// Throws data_error.
[[noreturn]] void refuse_safetensors(std::string const& where, std::string expected, std::string got) {
  throw data_error({.what = "cannot read safetensors",
                    .where = where,
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

/// Throws data_error for a file or stream that ends too early. `expected`, `got`: bytes from its begin.
[[noreturn]] void refuse_truncated(std::string const& name, std::string const& expected, std::uint64_t got) {
  throw data_error({.what = "the safetensors file is truncated",
                    .where = name,
                    .expected = expected + " bytes",
                    .got = {got, " bytes; copy or download the file again, or save the model again"}});
}
/// The same if the tensors begin at byte `data` and have `data_bytes` bytes, which may be any number.
[[noreturn]] void refuse_truncated(std::string const& name, std::uint64_t data, std::uint64_t data_bytes,
                                   std::uint64_t got) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  refuse_truncated(name, std::to_string(data + std::min(data_bytes, most - data)), got);
}

/// Returns whether the first eight bytes of a file are ASCII text.
bool is_text(std::uint64_t first_bytes) {
  for (int byte = 0; byte < 8; ++byte, first_bytes >>= 8) {
    std::uint64_t const one = first_bytes & 255;
    bool const is_blank = one == '\t' || one == '\n' || one == '\r';
    if (!is_blank && (one < ' ' || one > '~')) return false;
  }
  return true;
}

/// "F16, F32, …"
std::string names_of_safetensors_types() {
  std::string names(safetensors_f16);
  for (auto const& known : safetensors_types) names += ", " + std::string(known.first);
  return names;
}

safetensors_entry read_entry(io::json_value tensor, std::string const& where) {
  tensor.expect_only({"dtype", "shape", "data_offsets"});
  safetensors_entry entry;
  entry.name = tensor.key();

  io::json_value const dtype = tensor.at("dtype");
  auto const known = std::find_if(safetensors_types.begin(), safetensors_types.end(),
                                  [&](auto const& type) { return type.first == dtype.string(); });
  entry.is_f16 = dtype.string() == safetensors_f16;
  bool const is_read = known != safetensors_types.end() || entry.is_f16;
  if (!is_read) entry.unread_type = dtype.string();
  entry.type = known == safetensors_types.end() ? element_type::f32 : known->second;

  io::json_value const extents = tensor.at("shape");
  std::uint64_t bytes = bytes_of(entry.type);  // size in memory
  bool overflow = false;
  if (extents.size() > static_cast<std::size_t>(shape::max_rank)) {
    extents.refuse("at most " + std::to_string(shape::max_rank) + " extents");
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    auto const extent = extents.at(axis).integer(0, std::numeric_limits<int>::max());
    entry.dims.extents[axis] = static_cast<int>(extent);
    // Checked even if a later extent is zero, because shape::elements multiplies in this order.
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) || bytes >> 63 != 0;
  }
  entry.dims.rank = static_cast<int>(extents.size());
  if (overflow) {
    extents.refuse("a tensor of less than 2^63 bytes", to_string(entry.dims));
  }
  if (entry.is_f16) bytes /= 2;

  io::json_value const offsets = tensor.at("data_offsets");
  if (offsets.kind() != io::json_kind::array || offsets.size() != 2)
    offsets.refuse("an array of two offsets");
  entry.begin = offsets.at(0).unsigned_integer();
  entry.end = offsets.at(1).unsigned_integer();
  if (entry.begin > entry.end || (is_read && entry.end - entry.begin != bytes)) {
    refuse_safetensors(where + ", tensor " + quote_for_error(entry.name),
                       is_read ? std::to_string(bytes) + " bytes for " + to_string(entry.dims) + ' '
                                     + std::string(entry.is_f16 ? "f16" : name_of(entry.type))
                               : "an end after the begin",
                       "data_offsets " + std::to_string(entry.begin) + " to " + std::to_string(entry.end));
  }
  return entry;
}

/// Orders the tensors by offset and checks that they cover the data part: from 0, no gap, no overlap.
void check_cover(std::vector<safetensors_entry>& entries, std::string const& where) {
  std::stable_sort(entries.begin(), entries.end(), [](auto const& a, auto const& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (safetensors_entry const& entry : entries) {
    if (entry.begin != covered) {
      refuse_safetensors(where + ", tensor " + quote_for_error(entry.name),
                         "data from byte " + std::to_string(covered) + ", the end of the previous tensor",
                         std::string(entry.begin < covered ? "an overlap" : "a gap") + ", data_offsets "
                             + std::to_string(entry.begin) + " to " + std::to_string(entry.end));
    }
    covered = entry.end;
  }
}

/// Returns the capacity for the next read: `needed` if the total size is known, otherwise twice the bytes
/// read so far (`have`), but at least 1 MiB and at most `needed`.
std::size_t next_capacity(std::size_t have, std::size_t needed, bool size_is_known) {
  return size_is_known ? needed : std::min(needed, std::max<std::size_t>(2 * have, std::size_t{1} << 20));
}

}  // namespace cohort::detail

namespace cohort {

safetensors safetensors::load(std::string const& path, safetensors_limits limits) {
  io::file_reader file(path);
  return {file, file.size(), path, limits};
}

/// Reads on from `next`. `offsets`: of the tensors' data in the file.
struct safetensors::open_file {
  open_file(std::string const& name, std::function<bool(std::string_view)> on_demand)
      : path(name),
        file(detail::open_regular_file(path, "cannot read the file")),
        is_on_demand(std::move(on_demand)) {}
  std::size_t read(void* into, std::size_t bytes) {
    std::size_t const count = read_at(next, into, bytes);
    next += count;
    return count;
  }
  /// Errors    file_error; data_error if the file has changed since it was opened.
  std::size_t read_at(std::uint64_t offset, void* into, std::size_t bytes) const {
    std::size_t const count = detail::read_at(file, path, offset, into, bytes);
    struct stat const after = status();
    if (after.st_size != opened.st_size || after.st_mtim.tv_sec != opened.st_mtim.tv_sec
        || after.st_mtim.tv_nsec != opened.st_mtim.tv_nsec)
      throw data_error({.what = "the file has changed while it was read",
                        .where = path,
                        .expected = "the file as it was opened; load it again",
                        .got = "another size or time of the last change"});
    return count;
  }
  struct stat status() const {
    struct stat found {};
    if (::fstat(file.descriptor(), &found) != 0) detail::refuse_file("cannot read the file", path, errno);
    return found;
  }

  std::string path;
  detail::regular_file file;
  /// The time of the last status change is not compared: it also changes if the file is renamed or replaced
  /// by another one, and its content remains readable then.
  struct stat const opened = status();
  std::function<bool(std::string_view)> is_on_demand;
  std::uint64_t next = 0;
  std::vector<std::uint64_t> offsets{};
};

safetensors safetensors::load(std::string const& path, std::function<bool(std::string_view)> const& on_demand,
                              safetensors_limits limits) {
  auto file = std::make_shared<open_file>(path, on_demand);
  return {*file, file->file.size(), path, limits, file};
}

tensor_view safetensors::read(stored_tensor const& tensor, reusable_buffer& memory) const {
  if (tensor.view.data || !file_ || tensor.view.bytes() == 0) return tensor.view;
  memory.resize(tensor.view.bytes());
  std::uint64_t const offset = file_->offsets[static_cast<std::size_t>(&tensor - tensors_.data())];
  std::size_t const got = file_->read_at(offset, memory.data(), tensor.view.bytes());
  if (got < tensor.view.bytes())
    detail::refuse_truncated(name_, std::to_string(offset + tensor.view.bytes()), offset + got);
  return {memory.data(), tensor.view.type, tensor.view.dims};
}

safetensors safetensors::read(io::byte_stream_ref in, std::string const& name, safetensors_limits limits) {
  return {in, std::nullopt, name, limits};
}

safetensors::safetensors(io::byte_stream_ref source, std::optional<std::uint64_t> total, std::string name,
                         safetensors_limits limits, std::shared_ptr<open_file> file)
    : name_(std::move(name)), file_(std::move(file)) {
  std::uint64_t length = 0;
  std::size_t const got = source.read(&length, sizeof length);
  if (got != sizeof length || (total && *total < sizeof length))
    detail::refuse_truncated(name_, "more than 8", got);
  if (length > limits.max_header_bytes && detail::is_text(length)) {
    detail::refuse_safetensors(name_, "a safetensors file", "a text file");
  }
  if (length > limits.max_header_bytes) {
    detail::refuse_safetensors(name_,
                               "a header of at most " + std::to_string(limits.max_header_bytes) + " bytes",
                               std::to_string(length));
  }
  std::string const header = read_header(source, static_cast<std::size_t>(length), total);
  auto const entries = read_entries(header, limits);
  std::uint64_t const data = sizeof length + length, data_bytes = entries.empty() ? 0 : entries.back().end;
  if (total && *total - data > data_bytes) {
    detail::refuse_safetensors(
        name_, std::to_string(data_bytes) + " bytes of data after a header of " + std::to_string(length),
        std::to_string(*total - data));
  }
  // Checked before memory for the data is allocated.
  if (total && *total - data < data_bytes) detail::refuse_truncated(name_, data, data_bytes, *total);
  read_data(source, entries, data, total.has_value());
}

std::span<stored_tensor const> safetensors::tensors() const& { return tensors_; }

std::optional<tensor_view> safetensors::find(std::string_view tensor) const& {
  auto const found =
      std::lower_bound(by_name_.begin(), by_name_.end(), tensor,
                       [&](std::size_t i, std::string_view name) { return tensors_[i].name < name; });
  if (found == by_name_.end() || tensors_[*found].name != tensor) return std::nullopt;
  if (std::string const& type = tensors_[*found].unread_type; !type.empty())
    refuse(tensor, "one of the types " + detail::names_of_safetensors_types(),
           "type " + detail::quote_for_error(type));
  return tensors_[*found].view;
}

tensor_view safetensors::at(std::string_view tensor) const& {
  if (auto view = find(tensor)) return *view;
  refuse(tensor, "a tensor of this name", "no such tensor");
}

tensor_view safetensors::at(std::string_view tensor, element_type type, shape const& dims) const& {
  tensor_view const view = at(tensor);
  if (view.type != type || view.dims != dims) {
    refuse(tensor, to_string(dims) + ' ' + std::string(name_of(type)),
           to_string(view.dims) + ' ' + std::string(name_of(view.type)));
  }
  return view;
}

void safetensors::refuse(std::string_view tensor, std::string expected, std::string got) const {
  detail::refuse_safetensors(name_ + ", tensor " + detail::quote_for_error(tensor), std::move(expected),
                             std::move(got));
}

void safetensors::grow(std::size_t bytes) {
  buffer larger(bytes);
  if (data_.bytes() > 0) std::memcpy(larger.data(), data_.data(), data_.bytes());
  data_ = std::move(larger);
}

std::string safetensors::read_header(io::byte_stream_ref source, std::size_t length,
                                     std::optional<std::uint64_t> total) const {
  constexpr std::size_t before = sizeof(std::uint64_t);
  bool const fits = !total || *total - before >= length;
  std::size_t const wanted = fits ? length : static_cast<std::size_t>(*total) - before;
  std::string header;
  std::size_t have = 0;
  while (have < wanted) {
    header.resize(detail::next_capacity(have, wanted, total.has_value()));
    have += source.read(header.data() + have, header.size() - have);
    if (have < header.size()) break;
  }
  header.resize(have);
  if (length == 0 || (have > 0 && header[0] != '{')) {
    detail::refuse_safetensors(name_ + ", byte 8", "'{'",
                               header.empty() ? "no header" : detail::quote_for_error(header.substr(0, 1)));
  }
  if (have < length)
    detail::refuse_truncated(name_, "at least " + std::to_string(before + length), before + have);
  return header;
}

std::vector<detail::safetensors_entry> safetensors::read_entries(std::string const& header,
                                                                 safetensors_limits limits) {
  auto const json = io::parse_json(
      header, name_ + " header",
      {.max_bytes = limits.max_header_bytes, .max_values = limits.max_header_values, .max_depth = 3});
  std::vector<detail::safetensors_entry> entries;
  for (io::json_value field : json.root().items()) {
    if (field.key() == "__metadata__") {
      if (field.kind() != io::json_kind::object) field.refuse("an object of strings");
      for (io::json_value text : field.items()) metadata_.emplace(text.key(), text.string());
    } else {
      entries.push_back(detail::read_entry(field, name_));
    }
  }
  detail::check_cover(entries, name_);
  return entries;
}

void safetensors::read_data(io::byte_stream_ref source, std::vector<detail::safetensors_entry> const& entries,
                            std::uint64_t data, bool size_is_known) {
  constexpr std::size_t unit = detail::safetensors_alignment;
  auto const is_later = [&](detail::safetensors_entry const& entry) {
    return file_ && entry.unread_type.empty() && !entry.is_f16 && file_->is_on_demand(entry.name);
  };
  auto const slot = [&](detail::safetensors_entry const& entry) -> std::uint64_t {
    if (!entry.unread_type.empty() || is_later(entry)) return 0;
    std::uint64_t const bytes = entry.end - entry.begin;
    return ((entry.is_f16 ? 2 * bytes : bytes) + unit - 1) / unit * unit;
  };
  std::uint64_t needed = 0;
  for (auto const& entry : entries) {
    if (__builtin_add_overflow(needed, slot(entry), &needed)
        || needed > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      detail::refuse_safetensors(name_ + ", tensor " + detail::quote_for_error(entry.name),
                                 "less than 2^63 bytes of data", "more");
    }
  }
  std::vector<std::uint64_t> places;
  std::uint64_t place = 0;
  for (auto const& entry : entries) {
    std::uint64_t const bytes = entry.end - entry.begin;
    bool const is_read = entry.unread_type.empty();
    places.push_back(bytes == 0 ? 0 : place);
    if (file_) {
      file_->offsets.push_back(data + entry.begin);
      file_->next = data + (is_later(entry) ? entry.end : entry.begin);
      if (is_later(entry)) continue;
    }
    for (std::uint64_t done = 0; done < bytes;) {
      std::array<std::byte, 4096> skipped;
      std::uint64_t const from = place + done;
      if (is_read && from >= data_.bytes()) grow(detail::next_capacity(from, needed, size_is_known));
      std::uint64_t const part =
          std::min<std::uint64_t>(bytes - done, is_read ? data_.bytes() - from : skipped.size());
      std::size_t const got = source.read(is_read ? data_.data() + from : skipped.data(), part);
      done += got;
      if (got < part) detail::refuse_truncated(name_, data, entries.back().end, data + entry.begin + done);
    }
    if (entry.is_f16) {
      std::uint64_t const end = place + 2 * bytes;
      if (end > data_.bytes()) grow(detail::next_capacity(place + bytes, needed, size_is_known));
      detail::widen_f16(data_.data() + place, static_cast<std::size_t>(bytes) / sizeof(f16));
    }
    place += slot(entry);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    tensor_view view(data_.data() + places[i], entries[i].type, entries[i].dims);
    if (!entries[i].unread_type.empty()) view = {nullptr, element_type::f32, {0}};
    if (is_later(entries[i])) view.data = nullptr;
    tensors_.push_back({entries[i].name, view, entries[i].unread_type});
    by_name_.push_back(i);
  }
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
}

}  // namespace cohort
