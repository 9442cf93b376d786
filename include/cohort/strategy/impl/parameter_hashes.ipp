// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/strategy/detail/parameter_hashes.hpp>
#include <cohort/tensor/buffer.hpp>

namespace cohort::detail {

std::uint64_t hash_of_copies(parameter_set const& parameters, int p) {
  std::vector<std::uint64_t> hashes;
  for (std::span<std::byte const> const copy : parameters.trained_copies(p))
    hashes.push_back(hash_of_bytes(copy));
  return hash_of_bytes(std::as_bytes(std::span(hashes)));
}

std::vector<std::uint64_t> parameter_hashes(parameter_set const& parameters, bool in_place) {
  constexpr std::size_t piece = std::size_t{4} << 20;
  std::size_t const size = bytes_of(parameters.type());
  bool const on_device = parameters.passes().space() != nullptr;
  reusable_buffer copy;
  auto const hash_of = [&](std::size_t p) {
    parameter const& one = parameters.table()[p];
    if (!parameters.is_whole(static_cast<int>(p))) return hash_of_copies(parameters, static_cast<int>(p));
    if (!in_place) {
      copy.resize(static_cast<std::size_t>(one.spec.dims.elements()) * size);
      parameters.read(static_cast<int>(p), parameters.master(), copy.data());
      return hash_of_bytes({copy.data(), static_cast<std::size_t>(one.spec.dims.elements()) * size});
    }
    std::byte const* const begin = parameters.master() + one.offset * size;
    std::size_t const bytes = one.room * size;
    if (!on_device) return hash_of_bytes({begin, bytes});
    copy.resize(std::min(piece, bytes));
    std::vector<std::uint64_t> of_pieces;
    for (std::size_t at = 0; at < bytes; at += piece) {
      std::size_t const count = std::min(piece, bytes - at);
      parameters.passes().download(begin + at, copy.data(), count);
      of_pieces.push_back(hash_of_bytes({copy.data(), count}));
    }
    return hash_of_bytes(std::as_bytes(std::span(of_pieces)));
  };
  std::vector<std::uint64_t> hashes;
  for (std::size_t p = 0; p < parameters.table().size(); ++p) hashes.push_back(hash_of(p));
  return hashes;
}

divergence find_divergence(gathered const& hashes, int ranks) {
  auto const equal = [&](int a, int b) { return std::ranges::equal(hashes.of(a), hashes.of(b)); };
  divergence found;
  std::vector<bool> is_grouped(static_cast<std::size_t>(ranks));
  for (int first = 0; first < ranks; ++first) {
    if (is_grouped[static_cast<std::size_t>(first)]) continue;
    std::vector<int> group;
    for (int r = first; r < ranks; ++r)
      if (equal(first, r)) {
        group.push_back(r);
        is_grouped[static_cast<std::size_t>(r)] = true;
      }
    if (group.size() > found.most.size()) found.most = std::move(group);
  }
  std::size_t first = hashes.of(0).size();
  for (int r = 0; r < ranks; ++r) {
    std::span<std::byte const> const a = hashes.of(found.most[0]), b = hashes.of(r);
    if (equal(found.most[0], r)) continue;
    found.others.push_back(r);
    first = std::min(first, static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin()));
  }
  found.parameter = first / sizeof(std::uint64_t);
  return found;
}

std::string text_of_ranks(std::span<int const> ranks) {
  constexpr std::size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > most ? text_of({text, " and ", ranks.size() - most, " more"}) : text;
}

}  // namespace cohort::detail
