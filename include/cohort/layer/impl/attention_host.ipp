// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/layer/detail/attention_host.hpp>
#include <cohort/layer/detail/attention_simd.hpp>
#include <cohort/tensor/buffer.hpp>
#include <type_traits>
#include <vector>

namespace cohort::detail {

/// Cosines and sines of the angles of rotary positions. The values of step t and pair k have the index t ·
/// pairs + k.
template <class T>
struct rotation_table {
  double base = 0;
  std::size_t pairs = 0;
  std::vector<T> cosines{}, sines{};

  /// Returns the calling thread's table, with at least `steps` steps. All heads and examples of a layer use
  /// the same table.
  static rotation_table const& of_this_thread(double base, std::size_t pairs, int steps) {
    thread_local rotation_table made;
    if (made.base != base || made.pairs != pairs) made = {.base = base, .pairs = pairs};
    for (std::size_t t = made.cosines.size() / pairs; t < static_cast<std::size_t>(steps); ++t)
      for (std::size_t k = 0; k < pairs; ++k) {
        double const angle = rotary_angle(base, t, k, pairs);
        made.cosines.push_back(static_cast<T>(std::cos(angle)));
        made.sines.push_back(static_cast<T>(std::sin(angle)));
      }
    return made;
  }
};

template <class T>
void rotate_rows(double base, int direction, int rows, std::size_t d, T const* from, std::size_t from_stride,
                 T* to, std::size_t to_stride, int first_step) {
  std::size_t const half = d / 2;
  rotation_table<T> const& table = rotation_table<T>::of_this_thread(base, half, first_step + rows);
  std::size_t const before = static_cast<std::size_t>(first_step) * half;
  for (std::size_t t = 0; t < static_cast<std::size_t>(rows); ++t) {
    T const *const x = from + t * from_stride, *const cosines = table.cosines.data() + before + t * half,
                   *const sines = table.sines.data() + before + t * half;
    T* const y = to + t * to_stride;
    for (std::size_t k = 0; k < half; ++k) {
      T const first = x[k], second = x[k + half], cosine = cosines[k],
              sine = static_cast<T>(direction) * sines[k];
      y[k] = first * cosine - second * sine;
      y[k + half] = second * cosine + first * sine;
    }
  }
}

/// Attention of one head of one example, one query after the other.
template <class T>
class lone_head {
 public:
  lone_head(attention_sizes const& s, host_arguments<T> const& a)
      : s_(s),
        a_(a),
        scale_(1 / std::sqrt(static_cast<T>(s.width()))),
        scores_(static_cast<std::size_t>(s.keys)) {
    if (s.rotary > 0) {
      rotated_.resize(static_cast<std::size_t>(s.queries + s.keys) * s.width());
      diff_rotated_.resize(rotated_.size());
    }
  }

  void forward(int example, int head) {
    select(example, head);
    for (int i = 0; i < s_.queries; ++i) {
      T const logarithm = probabilities(i);
      if (a_.workspace) a_.workspace[softmax_at(i)] = logarithm;
      T* const y = output_row(a_.output, i);
      std::fill_n(y, s_.value_width(), T(0));
      each_key(i, [&](int j, T p) { add(y, tensors_.values[j], p, s_.value_width()); });
    }
  }

  /// Before    the gradients of the inputs are 0.
  void backward(int example, int head) {
    select(example, head);
    auto const diffs = head_tensors<T>::of(s_, a_.diff_inputs, example, head);
    head_rows<T> diff_queries = diffs.queries, diff_keys = diffs.keys;
    if (s_.rotary > 0) {
      std::fill(diff_rotated_.begin(), diff_rotated_.end(), T(0));
      diff_queries = {diff_rotated_.data(), s_.width()};
      diff_keys = {diff_queries[s_.queries], s_.width()};
    }
    for (int i = 0; i < s_.queries; ++i) {
      probabilities(i);
      T const* const diff = output_row(a_.diff_output, i);
      T const product = dot(diff, output_row(static_cast<T const*>(a_.output), i), s_.value_width());
      each_key(i, [&](int j, T p) {
        T const diff_score = p * (dot(diff, tensors_.values[j], s_.value_width()) - product) * scale_;
        if (diffs.values.first) add(diffs.values[j], diff, p, s_.value_width());
        if (diff_queries.first) add(diff_queries[i], tensors_.keys[j], diff_score, s_.width());
        if (diff_keys.first) add(diff_keys[j], tensors_.queries[i], diff_score, s_.width());
      });
    }
    if (s_.rotary <= 0) return;
    if (diffs.queries.first)
      rotate_rows<T>(s_.rotary, -1, s_.queries, s_.width(), diff_queries.first, s_.width(),
                     diffs.queries.first, diffs.queries.stride);
    if (diffs.keys.first)
      rotate_rows<T>(s_.rotary, -1, s_.keys, s_.width(), diff_keys.first, s_.width(), diffs.keys.first,
                     diffs.keys.stride);
  }

 private:
  void select(int example, int head) {
    example_ = example;
    head_ = head;
    tensors_ = head_tensors<T const>::of(s_, a_.inputs, example, head);
    if (s_.rotary <= 0) return;
    T* const queries = rotated_.data();
    T* const keys = queries + static_cast<std::size_t>(s_.queries) * s_.width();
    rotate_rows<T>(s_.rotary, 1, s_.queries, s_.width(), tensors_.queries.first, tensors_.queries.stride,
                   queries, s_.width());
    rotate_rows<T>(s_.rotary, 1, s_.keys, s_.width(), tensors_.keys.first, tensors_.keys.stride, keys,
                   s_.width());
    tensors_.queries = {queries, s_.width()};
    tensors_.keys = {keys, s_.width()};
  }

  bool exists(int step) const { return !a_.mask || a_.mask->has(example_, step); }

  template <class U>
  U* output_row(U* tensor, int i) const {
    return head_output(s_, tensor, example_, head_)[i];
  }
  std::size_t softmax_at(int i) const {
    auto const row = static_cast<std::size_t>(example_) * static_cast<std::size_t>(s_.heads)
                     + static_cast<std::size_t>(head_);
    return row * static_cast<std::size_t>(s_.queries) + static_cast<std::size_t>(i);
  }

  /// Sets scores_ to the probabilities of the keys of query i; returns the log-sum-exp of their scores.
  T probabilities(int i) {
    T most = 0;
    bool any = false;
    for (int j = 0; j < s_.limit(i); ++j) {
      if (!exists(j)) continue;
      T const score = dot(tensors_.queries[i], tensors_.keys[j], s_.width()) * scale_;
      scores_[static_cast<std::size_t>(j)] = score;
      most = any ? std::max(most, score) : score;
      any = true;
    }
    T sum = 0;
    each_key(i,
             [&](int j, T score) { sum += scores_[static_cast<std::size_t>(j)] = std::exp(score - most); });
    each_key(i, [&](int j, T power) { scores_[static_cast<std::size_t>(j)] = power / sum; });
    return any ? most + std::log(sum) : T(0);
  }

  /// Calls visit(j, scores_[j]) for each key that query i attends to.
  template <class Visit>
  void each_key(int i, Visit visit) {
    for (int j = 0; j < s_.limit(i); ++j)
      if (exists(j)) visit(j, scores_[static_cast<std::size_t>(j)]);
  }

  static T dot(T const* a, T const* b, std::size_t count) {
    T sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += a[k] * b[k];
    return sum;
  }
  static void add(T* to, T const* from, T factor, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) to[k] += factor * from[k];
  }

  attention_sizes const& s_;
  host_arguments<T> const& a_;
  T scale_;
  int example_ = 0, head_ = 0;
  head_tensors<T const> tensors_{};
  std::vector<T> scores_, rotated_, diff_rotated_;
};

/// Calls pass(example, head) for all heads.
template <class T, class Pass>
void each_head(attention_sizes const& s, host_arguments<T> const& a, Pass pass) {
  for (int example = 0; example < a.batch; ++example)
    for (int head = 0; head < s.heads; ++head) pass(example, head);
}

/// Memory of the calling thread, aligned to 64 bytes.
float* attention_memory(attention_sizes const& s, bool backward) {
  thread_local reusable_buffer memory;
  memory.resize(attention_scratch(s, backward) * sizeof(float));
  return reinterpret_cast<float*>(memory.data());
}

attention_call call_of(host_arguments<float> const& a) {
  attention_call made{
      .output = a.output, .workspace = a.workspace, .mask = a.mask, .diff_output = a.diff_output};
  for (std::size_t i = 0; i < a.input_shapes.size(); ++i) {
    made.inputs[i] = a.inputs[i];
    if (a.diff_inputs) made.diff_inputs[i] = a.diff_inputs[i];
  }
  return made;
}

template <class T>
void attention_forward(attention_sizes const& s, host_arguments<T> const& a) {
  if constexpr (std::is_same_v<T, float>) {
    float* const scratch = attention_memory(s, false);
    attention_passes const passes = attention_passes_of(best_isa());
    attention_call const call = call_of(a);
    each_head(s, a, [&](int example, int head) { passes.forward(s, call, example, head, scratch); });
  } else {
    lone_head<T> one(s, a);
    each_head(s, a, [&](int example, int head) { one.forward(example, head); });
  }
}

template <class T>
void attention_backward(attention_sizes const& s, host_arguments<T> const& a) {
  if constexpr (std::is_same_v<T, float>) {
    float* const scratch = attention_memory(s, true);
    attention_passes const passes = attention_passes_of(best_isa());
    attention_call const call = call_of(a);
    each_head(s, a, [&](int example, int head) { passes.backward(s, call, example, head, scratch); });
  } else {
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
      if (a.diff_inputs[x]) std::fill_n(a.diff_inputs[x], a.elements_of_input(x), T(0));
    lone_head<T> one(s, a);
    each_head(s, a, [&](int example, int head) { one.backward(example, head); });
  }
}

template void rotate_rows<float>(double, int, int, std::size_t, float const*, std::size_t, float*,
                                 std::size_t, int);
template void rotate_rows<double>(double, int, int, std::size_t, double const*, std::size_t, double*,
                                  std::size_t, int);
template void attention_forward<float>(attention_sizes const&, host_arguments<float> const&);
template void attention_forward<double>(attention_sizes const&, host_arguments<double> const&);
template void attention_backward<float>(attention_sizes const&, host_arguments<float> const&);
template void attention_backward<double>(attention_sizes const&, host_arguments<double> const&);

}  // namespace cohort::detail
