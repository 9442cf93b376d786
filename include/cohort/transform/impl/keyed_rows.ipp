// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/detail/keyed_rows.hpp>
#include <utility>

namespace cohort::detail {

keyed_rows::keyed_rows(table_schema of) : schema(std::move(of)) {
  for (column_schema const& column : schema.columns) columns.emplace_back().is_text = !column.has_numbers();
}

void write_rows(byte_writer& out, row_frame const& frame, std::span<std::size_t const> which, int rank) {
  table_content const& from = frame.content();
  out.text(from.where).word(static_cast<std::uint64_t>(rank + 1)).word(which.size());
  for (std::size_t const row : which) out.word(static_cast<std::uint64_t>(number_of_row(from, row)));
  for (table_column const& column : from.columns) {
    if (!column.is_text) {
      for (std::size_t const row : which) out.real(column.f64[row]);
      continue;
    }
    // Writes each text of these rows once, then one number per row, 0 for a missing text.
    std::vector<std::uint64_t> numbers(column.vocabulary.size());
    std::vector<std::size_t> used;
    for (std::size_t const row : which) {
      if (column.codes[row] < 0) continue;
      auto const code = static_cast<std::size_t>(column.codes[row]);
      if (numbers[code] != 0) continue;
      used.push_back(code);
      numbers[code] = used.size();
    }
    out.word(used.size());
    for (std::size_t const code : used) out.text(column.vocabulary[code]);
    for (std::size_t const row : which)
      out.word(column.codes[row] < 0 ? 0 : numbers[static_cast<std::size_t>(column.codes[row])]);
  }
}

void keyed_rows::append(byte_reader& in) {
  std::string_view const file = in.text();
  if (files.empty() || files.back() != file) files.emplace_back(file);
  auto const rank = static_cast<std::int32_t>(in.word()) - 1;
  std::size_t const count = in.count(8);
  for (std::size_t i = 0; i < count; ++i)
    origins.push_back(
        {static_cast<std::int32_t>(files.size()) - 1, static_cast<std::int64_t>(in.word()), rank});
  for (table_column& column : columns) {
    if (!column.is_text) {
      for (std::size_t i = 0; i < count; ++i) column.f64.push_back(in.real());
      continue;
    }
    std::size_t const texts = in.count(8);
    auto const first = static_cast<std::int32_t>(column.vocabulary.size());
    for (std::size_t i = 0; i < texts; ++i) column.vocabulary.emplace_back(in.text());
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t const number = in.word();
      if (number > texts) in.refuse(text_of({"a text's number up to ", texts}), text_of({number}));
      column.codes.push_back(number == 0 ? -1 : first + static_cast<std::int32_t>(number) - 1);
    }
  }
}

std::string row_places::place(std::size_t row, std::string_view column) const {
  row_origin const& at = origins[row];
  return place_of_row(files[static_cast<std::size_t>(at.file)], column, at.row, at.rank);
}

std::string bytes_of_key(std::span<table_column const* const> keys, std::size_t row) {
  std::string bytes;
  for (table_column const* const key : keys) {
    if (key->is_text) {
      bytes += key->vocabulary[static_cast<std::size_t>(key->codes[row])];
      bytes += '\0';  // texts contain no NUL bytes
      continue;
    }
    double const number = key->f64[row] == 0 ? 0.0 : key->f64[row];  // −0 is 0
    auto word = std::bit_cast<std::uint64_t>(number);
    word = word >> 63 != 0 ? ~word : word | std::uint64_t{1} << 63;
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 0xff);
  }
  return bytes;
}

int rank_of_key(std::string_view key, int ranks) {
  std::uint64_t hash = fnv1a(key);
  hash ^= hash >> 32;
  return static_cast<int>(hash % static_cast<std::uint64_t>(ranks));
}

std::vector<std::vector<std::byte>> exchange(communicator& world, std::vector<std::vector<std::byte>> parts) {
  constexpr int tag = 0;
  int const ranks = world.size(), me = world.rank();
  std::vector<std::vector<std::byte>> received(parts.size());
  received[static_cast<std::size_t>(me)] = std::move(parts[static_cast<std::size_t>(me)]);
  for (int distance = 1; distance < ranks; ++distance) {
    int const to = (me + distance) % ranks, from = (me + ranks - distance) % ranks;
    pending_operation sent = world.start_send(parts[static_cast<std::size_t>(to)], to, tag);
    std::vector<std::byte>& bytes = received[static_cast<std::size_t>(from)];
    bytes.resize(world.wait_for_message(from, tag).bytes);
    world.receive(bytes, from, tag);
    sent.wait();
    parts[static_cast<std::size_t>(to)] = {};
  }
  return received;
}

}  // namespace cohort::detail
