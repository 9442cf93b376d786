// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/detail/message_reader.hpp>
#include <cohort/codec/detail/threshold_simd.hpp>
#include <cohort/codec/message.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Iterates over the sent elements of one block of one message in ascending order: elements sent as ±t, and
/// elements sent as a multiple of the threshold t.
class block_cursor {
 public:
  static constexpr std::uint64_t end = ~std::uint64_t{0};

  block_cursor(message_view const& message, message_reader const& elements, std::size_t b)
      : message_(message), list_(elements.block(b)), base_(b * std::uint64_t{block_elements}) {
    multiples_ = message.header.multiples;
    while (next_multiple_ < multiples_) {  // binary search: first multiple not before the block
      std::uint64_t const middle = next_multiple_ + (multiples_ - next_multiple_) / 2;
      if (message.multiple(middle).index < base_)
        next_multiple_ = middle + 1;
      else
        multiples_ = middle;
    }
    multiples_ = message.header.multiples;
    has_multiples_ =
        next_multiple_ < multiples_ && message.multiple(next_multiple_).index < base_ + block_elements;
    advance();
  }

  std::span<sent_element const> list() const { return list_; }
  bool has_multiples() const { return has_multiples_; }

  /// Index of the next element in the flat view; `end` after the last one.
  std::uint64_t index() const { return index_; }
  /// Returns the message's value for element `index`, and advances past this element. Returns 0 if `index` is
  /// not the next element. A malicious message may contain an element twice: in the codes, and as a multiple.
  double consume(std::uint64_t index, float t) {
    double value = 0;
    for (; index == index_; advance()) value += multiple_ * double{t};
    return value;
  }

 private:
  void advance() {
    std::uint64_t const element = at_ < list_.size() ? base_ + list_[at_].index() : end;
    if (next_multiple_ < multiples_) {
      sent_multiple const one = message_.multiple(next_multiple_);
      if (one.index < base_ + block_elements && one.index <= element) {
        index_ = one.index;
        multiple_ = one.multiple;
        ++next_multiple_;
        return;
      }
    }
    index_ = element;
    if (element != end) multiple_ = list_[at_++].sign() ? -1 : 1;
  }

  message_view const& message_;
  std::span<sent_element const> list_;
  std::uint64_t base_;
  std::size_t at_ = 0;
  std::uint64_t next_multiple_ = 0;
  std::uint64_t multiples_ = 0;
  std::uint64_t index_ = end;
  double multiple_ = 0;
  bool has_multiples_ = false;
};

/// Merges one block of two messages: y = fl(r + lower + upper) for every element in at least one of the
/// messages. Elements whose magnitude is at least the new threshold are sent; the remainder of y stays in r.
class block_merge {
 public:
  /// Before    r is the whole residual.
  block_merge(message_view const& lower, message_reader const& of_lower, message_view const& upper,
              message_reader const& of_upper, std::size_t b, float* r)
      : lower_(lower, of_lower, b),
        upper_(upper, of_upper, b),
        base_(b * std::uint64_t{block_elements}),
        r_(r + base_) {
    for (std::span<sent_element const> const list : {lower_.list(), upper_.list()})
      for (sent_element const one : list) __builtin_prefetch(r_ + one.index(), 1);
  }

  /// Merges the elements before `end`. Appends the sent elements to `list` or to `multiples`.
  ///
  /// Before    up to `end`, each message and the merged message have a single threshold.
  void merge_until(std::uint64_t end, float t_lower, float t_upper, float t, sent_element*& list,
                   std::vector<sent_multiple>& multiples) {
    if (lower_.has_multiples() || upper_.has_multiples())
      merge_with_multiples(end, t_lower, t_upper, t, list, multiples);
    else
      merge_without_multiples(static_cast<std::uint32_t>(end - base_), t_lower, t_upper, t, list, multiples);
  }

 private:
  void merge_with_multiples(std::uint64_t end, float t_lower, float t_upper, float t, sent_element*& list,
                            std::vector<sent_multiple>& multiples) {
    for (;;) {
      std::uint64_t const index = std::min(lower_.index(), upper_.index());
      if (index >= end) break;
      float& r = r_[index - base_];
      double const sum = lower_.consume(index, t_lower) + upper_.consume(index, t_upper);
      extract_one(r, static_cast<float>(double{r} + sum), t, index, list, multiples);
    }
  }

  /// Like merge_with_multiples, but for messages without multiples. Has no branches that depend on which
  /// message contains an element or whether an element is sent, because such branches are unpredictable.
  void merge_without_multiples(std::uint32_t end, float t_lower, float t_upper, float t, sent_element*& list,
                               std::vector<sent_multiple>& multiples) {
    std::span<sent_element const> const a = lower_.list();
    std::span<sent_element const> const b = upper_.list();
    auto const of = [](sent_element one, bool brings, float threshold) {
      std::uint32_t const value = std::bit_cast<std::uint32_t>(threshold) | one.sign();
      return double{std::bit_cast<float>(value & -static_cast<std::uint32_t>(brings))};
    };
    auto const pattern_of_t = std::bit_cast<std::uint32_t>(t);
    auto const limit = std::bit_cast<std::uint32_t>(most_thresholds * t);
    sent_element constexpr none{~sent_element::negative};
    sent_element* to = list;
    for (;;) {
      sent_element const one = at_lower_ < a.size() ? a[at_lower_] : none;
      sent_element const other = at_upper_ < b.size() ? b[at_upper_] : none;
      std::uint32_t const index = std::min(one.index(), other.index());
      if (index >= end) break;
      bool const from_lower = one.index() == index;
      bool const from_upper = other.index() == index;
      at_lower_ += from_lower;
      at_upper_ += from_upper;
      auto const y = static_cast<float>(double{r_[index]}
                                        + (of(one, from_lower, t_lower) + of(other, from_upper, t_upper)));
      auto const pattern = std::bit_cast<std::uint32_t>(y);
      std::uint32_t const magnitude = pattern & ~sent_element::negative;
      if (magnitude > limit) [[unlikely]] {
        extract_one(r_[index], y, t, base_ + index, to, multiples);
        continue;
      }
      std::uint32_t const sign = pattern & sent_element::negative;
      bool const sent = magnitude >= pattern_of_t;
      r_[index] = y - std::bit_cast<float>((pattern_of_t | sign) & -static_cast<std::uint32_t>(sent));
      *to = {index | sign};
      to += sent;
    }
    list = to;
  }

  block_cursor lower_;
  block_cursor upper_;
  std::uint64_t base_;
  float* r_;
  std::size_t at_lower_ = 0;
  std::size_t at_upper_ = 0;
};

}  // namespace cohort::detail
