// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/cudnn/detail/attention_on_gpu.hpp>
#include <cohort/cudnn/detail/matrix_product.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohort::detail {

/// Cosines and sines of rotary positions in GPU memory, like rotation_table on the processor.
class rotation_on_gpu {
 public:
  rotation_on_gpu(shared_stream const& on, attention_sizes const& s) : pairs_(s.width() / 2) {
    std::size_t const steps = static_cast<std::size_t>(std::max(s.queries, s.keys)), count = steps * pairs_;
    std::vector<float> table(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      double const angle = rotary_angle(s.rotary, i / pairs_, i % pairs_, pairs_);
      table[i] = static_cast<float>(std::cos(angle));
      table[count + i] = static_cast<float>(std::sin(angle));
    }
    memory_ = buffer(table.size() * sizeof(float), std::const_pointer_cast<compute_stream>(on));
    on->upload(table.data(), memory_.data(), table.size() * sizeof(float));
    sines_ = count;
  }

  kernels::rotate_heads kernel(float const* from, std::size_t from_step, float* to, std::size_t to_step,
                               int steps, int heads, float direction) const {
    auto const* const cosines = memory_.as<float>();
    return {from,
            to,
            cosines,
            cosines + sines_,
            from_step,
            to_step,
            static_cast<kernels::size>(steps),
            static_cast<kernels::size>(heads),
            pairs_,
            direction};
  }

 private:
  std::size_t pairs_, sines_ = 0;
  buffer memory_;
};

/// Rows of queries, keys, values or outputs, with all heads side by side. Row t begins at first + t · step.
struct gpu_rows {
  float* first = nullptr;
  int step = 0;

  float* head(int h, std::size_t width) const { return first + static_cast<std::size_t>(h) * width; }
};

/// An attention layer of a plan, computed head by head.
class attention_by_heads {
 public:
  attention_by_heads(gpu_target const& where, gpu_request const& request, attention_sizes const& s)
      : on_(where.stream), s_(s), batch_(request.batch) {
    if (s.rotary > 0) rotation_ = std::make_shared<rotation_on_gpu const>(on_, s);
    int const q = row_step(s.columns), v = row_step(s.value_columns), rotated = s.rotary > 0 ? s.columns : q;
    auto const width = static_cast<int>(s.width()), value_width = static_cast<int>(s.value_width());
    // Heads begin at multiples of their widths, and examples at multiples of their sizes.
    auto const sizes = static_cast<std::uint64_t>(width | value_width | q | v | rotated | s.value_columns)
                       | static_cast<std::uint64_t>(score_step());
    auto const alignment =
        static_cast<std::uint32_t>(std::min(buffer::alignment, sizeof(float) << std::countr_zero(sizes)));
    auto const product = [&](matrix_product::extents sizes) {
      sizes.batch = batch_;
      sizes.alignment = alignment;
      return std::make_shared<matrix_product const>(where.blas, sizes, where.products_of_f32(), where.tune);
    };
    auto const rows = [](int steps, int step) { return std::int64_t{steps} * step; };
    int const S = s.queries, T = s.keys;
    std::int64_t const all_scores = score_step();
    // Matrices are row-major, so each product computes the transpose of its result.
    scores_ = product({.m = T,
                       .n = S,
                       .k = width,
                       .transposes_a = true,
                       .step_a = rotated,
                       .step_b = rotated,
                       .stride_a = rows(T, rotated),
                       .stride_b = rows(S, rotated),
                       .stride_d = all_scores});
    outputs_ = product({.m = value_width,
                        .n = S,
                        .k = T,
                        .step_a = v,
                        .step_d = s.value_columns,
                        .stride_a = rows(T, v),
                        .stride_b = all_scores,
                        .stride_d = rows(S, s.value_columns)});
    if (!request.training) return;
    diff_probabilities_ = product({.m = T,
                                   .n = S,
                                   .k = value_width,
                                   .transposes_a = true,
                                   .step_a = v,
                                   .step_b = s.value_columns,
                                   .stride_a = rows(T, v),
                                   .stride_b = rows(S, s.value_columns),
                                   .stride_d = all_scores});
    diff_values_ = product({.m = value_width,
                            .n = T,
                            .k = S,
                            .transposes_b = true,
                            .step_a = s.value_columns,
                            .step_d = v,
                            .stride_a = rows(S, s.value_columns),
                            .stride_b = all_scores,
                            .stride_d = rows(T, v)});
    diff_queries_ = product({.m = width,
                             .n = S,
                             .k = T,
                             .step_a = rotated,
                             .step_d = rotated,
                             .stride_a = rows(T, rotated),
                             .stride_b = all_scores,
                             .stride_d = rows(S, rotated)});
    diff_keys_ = product({.m = width,
                          .n = T,
                          .k = S,
                          .transposes_b = true,
                          .step_a = rotated,
                          .step_d = rotated,
                          .stride_a = rows(S, rotated),
                          .stride_b = all_scores,
                          .stride_d = rows(T, rotated)});
  }

  /// Queries, keys and values, or their gradients.
  struct triple {
    gpu_rows queries, keys, values;
  };
  triple of(float* const* tensors) const {
    int const step = row_step(s_.columns);
    if (!s_.packed) return {{tensors[0], step}, {tensors[1], step}, {tensors[2], s_.value_columns}};
    return {{tensors[0], step}, {tensors[0] + s_.columns, step}, {tensors[0] + 2 * s_.columns, step}};
  }

  /// Returns the elements of scratch memory for one head's scores. rotated_elements: for the rotated copies
  /// of queries and keys.
  std::size_t score_elements() const {
    return static_cast<std::size_t>(batch_) * static_cast<std::size_t>(score_step());
  }
  std::size_t rotated_elements() const {
    if (s_.rotary <= 0) return 0;
    return static_cast<std::size_t>(batch_) * static_cast<std::size_t>(s_.queries + s_.keys)
           * static_cast<std::size_t>(s_.columns);
  }
  shape scratch_dims(bool backward) const {
    std::size_t const sets = backward ? 2 : 1;
    return shape_for_elements(sets * (padded(score_elements()) + padded(rotated_elements())));
  }

  /// Enqueues the forward pass. `log_sums`: heads × queries per example; null at inference.
  void forward(float* const* inputs, float* output, float* log_sums, unsigned char const* mask,
               float* scratch) const {
    triple const x = rotated(of(inputs), scratch + padded(score_elements()));
    for (int h = 0; h < s_.heads; ++h) {
      std::size_t const head = static_cast<std::size_t>(h);
      scores_->run(x.keys.head(h, s_.width()), x.queries.head(h, s_.width()), nullptr, scratch);
      on_->launch(kernels::attention_softmax{scratch, log_sums ? log_sums + head * queries() : nullptr,
                                             log_step(), attended(mask), scale()},
                  score_rows());
      outputs_->run(x.values.head(h, s_.value_width()), scratch, nullptr, output + head * s_.value_width());
    }
  }

  /// Enqueues the backward pass. `diffs`: gradients of the inputs; null where no gradient is wanted.
  void backward(float* const* inputs, float const* diff_output, float* const* diffs, float const* log_sums,
                unsigned char const* mask, float* scratch) const {
    float *const p = scratch, *const dp = p + padded(score_elements()),
                 *const copies = dp + padded(score_elements()),
                 *const diff_copies = copies + padded(rotated_elements());
    triple const x = rotated(of(inputs), copies), to = of(diffs);
    bool const wants_queries = diffs[0] != nullptr,
               wants_keys = s_.packed ? wants_queries : diffs[1] != nullptr,
               wants_values = s_.packed ? wants_queries : diffs[2] != nullptr;
    triple const d = s_.rotary > 0 ? copies_at(to, diff_copies) : to;
    for (int h = 0; h < s_.heads; ++h) {
      std::size_t const head = static_cast<std::size_t>(h);
      scores_->run(x.keys.head(h, s_.width()), x.queries.head(h, s_.width()), nullptr, p);
      on_->launch(kernels::attention_probabilities{p, log_sums + head * queries(), log_step(), attended(mask),
                                                   static_cast<kernels::size>(s_.keys), scale()},
                  score_elements());
      float const* const dy = diff_output + head * s_.value_width();
      if (wants_values) diff_values_->run(dy, p, nullptr, to.values.head(h, s_.value_width()));
      if (!wants_queries && !wants_keys) continue;
      diff_probabilities_->run(x.values.head(h, s_.value_width()), dy, nullptr, dp);
      on_->launch(kernels::attention_score_gradient{p, dp, static_cast<kernels::size>(s_.keys), scale()},
                  score_rows());
      if (wants_queries)
        diff_queries_->run(x.keys.head(h, s_.width()), dp, nullptr, d.queries.head(h, s_.width()));
      if (wants_keys) diff_keys_->run(x.queries.head(h, s_.width()), dp, nullptr, d.keys.head(h, s_.width()));
    }
    if (s_.rotary <= 0) return;
    if (wants_queries) rotate(d.queries, to.queries, s_.queries, -1);
    if (wants_keys) rotate(d.keys, to.keys, s_.keys, -1);
  }

 private:
  static std::size_t padded(std::size_t elements) {
    return round_to_alignment(elements * sizeof(float)) / sizeof(float);
  }
  int row_step(int columns) const { return s_.packed ? 3 * s_.columns : columns; }
  std::int64_t score_step() const { return std::int64_t{s_.queries} * s_.keys; }
  std::size_t queries() const { return static_cast<std::size_t>(s_.queries); }
  std::size_t score_rows() const { return static_cast<std::size_t>(batch_) * queries(); }
  std::size_t log_step() const { return static_cast<std::size_t>(s_.heads) * queries(); }
  float scale() const { return 1 / std::sqrt(static_cast<float>(s_.width())); }
  kernels::attended_keys attended(unsigned char const* mask) const {
    return {queries(), static_cast<kernels::size>(s_.keys), mask, s_.causal};
  }

  /// Returns x, with queries and keys at their addresses in `copies`.
  triple copies_at(triple x, float* copies) const {
    x.queries = {copies, s_.columns};
    x.keys = {copies + score_rows() * static_cast<std::size_t>(s_.columns), s_.columns};
    return x;
  }
  void rotate(gpu_rows const& from, gpu_rows const& to, int steps, float direction) const {
    on_->launch(rotation_->kernel(from.first, static_cast<std::size_t>(from.step), to.first,
                                  static_cast<std::size_t>(to.step), steps, s_.heads, direction),
                static_cast<std::size_t>(batch_) * static_cast<std::size_t>(steps)
                    * static_cast<std::size_t>(s_.columns) / 2);
  }
  /// Returns x with rotated copies of queries and keys, if the layer has rotary positions.
  triple rotated(triple const& x, float* copies) const {
    if (s_.rotary <= 0) return x;
    triple const to = copies_at(x, copies);
    rotate(x.queries, to.queries, s_.queries, 1);
    rotate(x.keys, to.keys, s_.keys, 1);
    return to;
  }

  shared_stream on_;
  attention_sizes s_;
  int batch_;
  std::shared_ptr<rotation_on_gpu const> rotation_;
  using product = std::shared_ptr<matrix_product const>;
  product scores_, outputs_, diff_probabilities_, diff_values_, diff_queries_, diff_keys_;
};

gpu_operation prepare(gpu_target const& where, gpu_request const& request, attention const& layer) {
  using enum operand_role;
  attention_sizes const s = layer.sizes(request.input_shapes);
  auto const run = std::make_shared<attention_by_heads const>(where, request, s);
  std::size_t const inputs = request.input_shapes.size();
  bool const training = request.training;
  double const flops = layer.flops(request.input_shapes) * request.batch;
  shape const to = batched_output(request),
              log_sums = shape_for_elements(static_cast<std::size_t>(request.batch)
                                            * static_cast<std::size_t>(s.heads)
                                            * static_cast<std::size_t>(s.queries));
  gpu_operation made;
  made.output = to;
  gpu_operands forward{{output, 0, to}, {scratch, 0, run->scratch_dims(false)}};
  for (std::size_t i = 0; i < inputs; ++i)
    forward.push_back({input, static_cast<int>(i), batched_input(request, i)});
  if (training) forward.push_back({workspace, 0, log_sums});
  if (request.masked) forward.push_back({mask});
  made.forward.push_back({[=](std::span<void* const> a) {
                            float* x[3] = {};
                            for (std::size_t i = 0; i < inputs; ++i) x[i] = tensor_at(a, 2 + i);
                            std::size_t const next = 2 + inputs;
                            run->forward(x, tensor_at(a, 0), training ? tensor_at(a, next) : nullptr,
                                         mask_at(a, training ? next + 1 : next), tensor_at(a, 1));
                          },
                          std::move(forward), where.implementation("cublaslt+nvrtc"), flops});
  if (!training) return made;
  gpu_operands backward{
      {diff_output, 0, to}, {scratch, 0, run->scratch_dims(true)}, {workspace, 0, log_sums}};
  for (std::size_t i = 0; i < inputs; ++i)
    backward.push_back({input, static_cast<int>(i), batched_input(request, i)});
  std::vector<char> const& wanted = request.wants_diff_input;
  for (std::size_t i = 0; i < inputs; ++i)
    if (wanted[i]) backward.push_back({diff_input, static_cast<int>(i), batched_input(request, i)});
  if (request.masked) backward.push_back({mask});
  if (std::ranges::count(wanted, 0) == std::ssize(wanted)) return made;
  made.backward.push_back({[=](std::span<void* const> a) {
                             float *x[3] = {}, *dx[3] = {};
                             std::size_t next = 3;
                             for (std::size_t i = 0; i < inputs; ++i) x[i] = tensor_at(a, next++);
                             for (std::size_t i = 0; i < inputs; ++i)
                               if (wanted[i]) dx[i] = tensor_at(a, next++);
                             run->backward(x, tensor_at(a, 0), dx, tensor_at(a, 2), mask_at(a, next),
                                           tensor_at(a, 1));
                           },
                           std::move(backward), where.implementation("cublaslt+nvrtc"), 2 * flops});
  return made;
}

}  // namespace cohort::detail
