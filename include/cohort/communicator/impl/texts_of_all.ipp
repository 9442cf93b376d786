// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <span>

namespace cohort::detail {

bool are_equal(std::span<std::string const> values) {
  return std::ranges::count(values, values[0]) == std::ssize(values);
}

/// Text of the form "ranks 0, 2": the ranks with this value.
std::string ranks_with(std::span<std::string const> values, std::string const& value) {
  std::string list;
  int count = 0;
  for (std::size_t r = 0; r < values.size(); ++r)
    if (values[r] == value) list += text_of({count++ == 0 ? "" : ", ", r});
  return (count == 1 ? "rank " : "ranks ") + list;
}

std::string by_rank(std::span<std::string const> values) {
  std::string text;
  int different = 0;
  for (std::size_t r = 0; r < values.size(); ++r) {
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(r), values[r])
        != values.begin() + static_cast<std::ptrdiff_t>(r))
      continue;
    if (++different > 4) return text + "; …";
    text += text_of({different == 1 ? "" : "; ", values[r].empty() ? "nothing" : values[r], " on ",
                     ranks_with(values, values[r])});
  }
  return text;
}

std::vector<std::string> texts_of_all(communicator& world, std::string_view call, std::string_view mine) {
  constexpr char mark = '\1';  // delimits the call's name; no other collective's message begins so
  std::string message(1, mark);
  message.append(call).append(1, mark).append(mine);
  gathered const all = world.allgatherv(std::as_bytes(std::span(message)));
  std::vector<std::string> calls, texts;
  for (int rank = 0; rank < world.size(); ++rank) {
    std::span<std::byte const> const bytes = all.of(rank);
    std::string_view const received(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    std::size_t const end = received.starts_with(mark) ? received.find(mark, 1) : received.npos;
    calls.emplace_back(end == received.npos ? "another call" : received.substr(1, end - 1));
    texts.emplace_back(end == received.npos ? "" : received.substr(end + 1));
  }
  if (!are_equal(calls))
    throw setting_error({.what = "the ranks are in different collective calls",
                         .where = std::string(call),
                         .expected =
                             "all ranks call the same function, in the same order, even if only rank 0 "
                             "writes a file",
                         .got = by_rank(calls)});
  return texts;
}

}  // namespace cohort::detail
