// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/data/detail/text_dictionary.hpp>
#include <utility>

namespace cohort::detail {

void text_dictionary::insert(slot const& one) {
  std::size_t at = one.hash & mask_;
  while (slots_[at].code >= 0) at = (at + 1) & mask_;
  slots_[at] = one;
}

std::int32_t text_dictionary::add(key const& one) {
  std::int32_t const code = size();
  bytes_.append(one.text);
  ends_.push_back(bytes_.size());
  if (2 * ends_.size() > slots_.size()) {
    std::vector<slot> const before =
        std::exchange(slots_, std::vector<slot>(std::max<std::size_t>(64, 2 * slots_.size())));
    mask_ = slots_.size() - 1;
    for (slot const& other : before)
      if (other.code >= 0) insert(other);
  }
  insert({one.first, one.hash, code});
  return code;
}

/// The code of a text, and the key by which it is sorted.
struct keyed_code {
  std::uint64_t key;
  std::int32_t code;
};

/// Radix sort by key, least significant byte first. Skips bytes that are equal in all keys.
void sort_by_key(std::vector<keyed_code>& list) {
  std::array<std::array<std::uint32_t, 256>, 8> counts{};
  for (keyed_code const& one : list)
    for (std::size_t byte = 0; byte < 8; ++byte) ++counts[byte][one.key >> (8 * byte) & 0xff];
  std::vector<keyed_code> other(list.size());
  for (std::size_t byte = 0; byte < 8; ++byte) {
    auto& next = counts[byte];
    if (std::ranges::find(next, list.size()) != next.end()) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& one : next) sum += std::exchange(one, sum);
    for (keyed_code const& one : list) other[next[one.key >> (8 * byte) & 0xff]++] = one;
    list.swap(other);
  }
}

std::vector<std::string> text_dictionary::sort(std::vector<std::int32_t>& codes) const {
  std::string_view const example = size() > 0 ? text(0) : std::string_view();
  std::size_t common = example.size();  // bytes at the beginning of all texts
  for (std::int32_t code = 0; code < size(); ++code) {
    std::string_view const one = text(code).substr(0, common);
    common = static_cast<std::size_t>(std::ranges::mismatch(one, example).in1 - one.begin());
  }
  std::vector<keyed_code> order;
  order.reserve(ends_.size());
  for (std::int32_t code = 0; code < size(); ++code) {
    std::string_view const rest = text(code).substr(common, 8);
    order.push_back({__builtin_bswap64(load_word(rest.data(), rest.size())), code});
  }
  sort_by_key(order);
  for (auto first = order.begin(), last = first; first != order.end(); first = last) {
    last = std::find_if(first, order.end(), [&](keyed_code const& one) { return one.key != first->key; });
    if (last - first > 1)
      std::sort(first, last,
                [this](keyed_code const& a, keyed_code const& b) { return text(a.code) < text(b.code); });
  }

  std::vector<std::int32_t> ranks(order.size());
  std::vector<std::string> sorted;
  sorted.reserve(order.size());
  for (keyed_code const& one : order) {
    ranks[static_cast<std::size_t>(one.code)] = static_cast<std::int32_t>(sorted.size());
    sorted.emplace_back(text(one.code));
  }
  for (std::int32_t& code : codes)
    if (code >= 0) code = ranks[static_cast<std::size_t>(code)];
  return sorted;
}

}  // namespace cohort::detail
