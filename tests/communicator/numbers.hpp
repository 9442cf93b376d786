// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/execution/partition.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../counted_assertions.hpp"

/// Contributions of ranks in the conformance tests, and the expected results.
namespace conformance {

using namespace cohort;

inline void require(bool holds, std::string const& what) {
  counted_assertions::count();
  if (!holds) throw std::logic_error(what);
}

inline constexpr element_type all_types[] = {element_type::f32, element_type::f64, element_type::bf16,
                                             element_type::u8,  element_type::i32, element_type::i64,
                                             element_type::u64};

/// Elements of any type, read and written as double.
struct numbers {
  numbers(element_type of, std::size_t n) : type(of), memory(n * bytes_of(of)), count(n) {}

  element_type type;
  std::vector<std::byte> memory;
  std::size_t count;

  operator elements() { return {memory.data(), type, count}; }

  /// Sets element i to value(i), for each i in a range.
  template <class Value>
  void fill(Value value, std::size_t first, std::size_t last) {
    as([&](auto one) {
      for (std::size_t i = first; i < last; ++i) {
        if constexpr (std::is_same_v<decltype(one), bf16>)
          one = bf16::nearest(static_cast<float>(value(i)));
        else
          one = static_cast<decltype(one)>(value(i));
        std::memcpy(memory.data() + i * sizeof one, &one, sizeof one);
      }
    });
  }
  void put(std::size_t at, double x) {
    fill([&](std::size_t) { return x; }, at, at + 1);
  }
  double get(std::size_t i) const {
    double x = 0;
    as([&](auto one) {
      std::memcpy(&one, memory.data() + i * sizeof one, sizeof one);
      if constexpr (std::is_same_v<decltype(one), bf16>)
        x = one.value();
      else
        x = static_cast<double>(one);
    });
    return x;
  }

 private:
  template <class F>
  void as(F f) const {
    switch (type) {
      case element_type::f32:
        return f(float{});
      case element_type::f64:
        return f(double{});
      case element_type::bf16:
        return f(bf16{});
      case element_type::u8:
        return f(std::uint8_t{});
      case element_type::i32:
        return f(std::int32_t{});
      case element_type::i64:
        return f(std::int64_t{});
      case element_type::u64:
        return f(std::uint64_t{});
    }
  }
};

/// Integers whose sums over 16 ranks are exact in every type; some are negative if the type is signed.
inline double contribution(element_type type, int rank, std::size_t i) {
  auto const x = static_cast<double>((i * 7 + static_cast<std::size_t>(rank) * 3 + i / 100) % 16);
  return type == element_type::u8 || type == element_type::u64 ? x : x - 8;
}
inline numbers contributions(element_type type, int rank, std::size_t n) {
  numbers all(type, n);
  all.fill([&](std::size_t i) { return contribution(type, rank, i); }, 0, n);
  return all;
}
inline numbers reduced(element_type type, int ranks, std::size_t n, reduction how) {
  numbers all(type, n);
  all.fill(
      [&](std::size_t i) {
        double result = contribution(type, 0, i);
        for (int r = 1; r < ranks; ++r) {
          double const x = contribution(type, r, i);
          result = how == reduction::sum ? result + x : std::max(result, x);
        }
        return result;
      },
      0, n);
  return all;
}

/// Position of part `rank` of n elements.
struct places {
  places(communicator const& world, int rank, std::size_t n) {
    index_slice const part = part_of({0, static_cast<std::int64_t>(n)}, rank, world.size());
    first = static_cast<std::size_t>(part.first);
    last = static_cast<std::size_t>(part.first + part.count);
  }
  std::size_t first;
  std::size_t last;
};

inline std::string place(element_type type, std::size_t n, std::size_t i) {
  return std::string(name_of(type)) + ", element " + std::to_string(i) + " of " + std::to_string(n);
}

/// Requires bitwise equality in [first, last).
inline void require_equal(numbers const& got, numbers const& expected, std::size_t first, std::size_t last,
                          std::string const& what) {
  counted_assertions::count();
  std::size_t const size = bytes_of(got.type);
  for (std::size_t i = first; i < last; ++i)
    if (std::memcmp(got.memory.data() + i * size, expected.memory.data() + i * size, size) != 0)
      require(false, what + ": " + place(got.type, got.count, i) + " is " + std::to_string(got.get(i))
                         + ", not " + std::to_string(expected.get(i)));
}
inline void require_equal(numbers const& got, numbers const& expected, std::string const& what) {
  require_equal(got, expected, 0, got.count, what);
}

}  // namespace conformance
