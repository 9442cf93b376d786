// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/execution/detail/simd_parts.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/layer/detail/recurrent_core.hpp>
#include <cohort/layer/detail/recurrent_host.hpp>
#include <cohort/layer/detail/recurrent_program.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/layer/detail/cell_functions_simd.inc>
#include <cohort/layer/detail/cell_simd.inc>
}  // namespace avx2_f32
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/layer/detail/cell_functions_simd.inc>
#include <cohort/layer/detail/cell_simd.inc>
}  // namespace avx512_f32
namespace avx512_bf16 {
using avx512_f32::hyperbolic_tangent, avx512_f32::number, avx512_f32::sigmoid;
#include <cohort/layer/detail/cell_simd.inc>
}  // namespace avx512_bf16
#include <cohort/detail/end_simd.inc>
#endif

bool has_usual_activations(recurrent_cell const& cell) {
  return cell.activation == recurrent_activation::tanh
         && cell.gate_activation == recurrent_activation::sigmoid;
}

/// A cell's functions for an instruction set.
///
/// Before    `which` is at most machine_isa().
cell_functions<float, float> cell_functions_for([[maybe_unused]] isa which, recurrent_cell const& cell) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) {
    using namespace avx512_f32;
    return has_usual_activations(cell) ? functions_with<sigmoid_function, tanh_function>(cell.kind)
                                       : functions_with<any_function, any_function>(cell.kind);
  }
  if (which == isa::avx2)
    return avx2_f32::functions_with<avx2_f32::any_function, avx2_f32::any_function>(cell.kind);
#endif
  return plain_cell_functions<float>(cell.kind);
}

/// A cell's functions on states and gates in bf16, for AVX-512.
cell_functions<float, bf16> narrow_cell_functions([[maybe_unused]] recurrent_cell const& cell) {
#if defined(__x86_64__) || defined(__i386__)
  using namespace avx512_bf16;
  return has_usual_activations(cell) ? functions_with<sigmoid_function, tanh_function>(cell.kind)
                                     : functions_with<any_function, any_function>(cell.kind);
#else
  return {};
#endif
}

/// The matrix products of a recurrent layer, prepared by a backend.
///
/// Order     the rows of a step are a multiple of `row_multiple`; a product is prepared for each possible
///           multiple. All rows are multiplied in chunks of `chunk` rows; the gradients of the parameters are
///           sums over chunks.
template <class E>
class composed_products final : public recurrent_products<float, E> {
 public:
  using form = product_request::form;

  composed_products(recurrent_cell const& cell, composed_request const& request, product_backend& backend)
      : columns_(cell.columns()),
        features_(cell.inputs()),
        units_(cell.width()),
        recurrent_columns_(cell.is_gru() ? 2 * units_ : columns_),
        candidate_stride_(cell.kind == cell_kind::gru_after ? units_ : columns_),
        threads_(backend.threads),
        in_parallel_(backend.in_parallel) {
    int const batch = request.batch, length = request.inputs[0][0];
    row_multiple_ = request.masked ? std::max(4, (batch / 16 + 3) / 4 * 4) : batch;
    rows_per_step_ = (batch + row_multiple_ - 1) / row_multiple_ * row_multiple_;
    chunk_ = rows_per_step_ * length;
    constexpr int chunks_of_masked = 8, least_chunk = 64;
    if (request.masked)
      chunk_ = std::max(least_chunk,
                        (chunk_ / chunks_of_masked + row_multiple_ - 1) / row_multiple_ * row_multiple_);
    all_rows_ = (rows_per_step_ * length + chunk_ - 1) / chunk_ * chunk_;
    int const columns = static_cast<int>(columns_);
    inputs_ = backend.prepare({.what = form::by_transpose,
                               .parameter = 0,
                               .m = chunk_,
                               .n = columns,
                               .k = cell.features,
                               .narrow_result = true});
    for (int rows = rows_per_step_; rows > 0; rows -= row_multiple_) {
      state_.push_back(backend.prepare(
          {.what = form::by_transpose, .parameter = 1, .m = rows, .n = columns, .k = cell.units}));
      if (request.training)
        diff_state_.push_back(backend.prepare(
            {.what = form::by_parameter, .parameter = 1, .m = rows, .n = cell.units, .k = columns}));
    }
    std::reverse(state_.begin(), state_.end());
    std::reverse(diff_state_.begin(), diff_state_.end());
    if (!request.training) return;
    if (request.wants_diff_input[0])
      diff_inputs_ = backend.prepare({.what = form::by_parameter,
                                      .parameter = 0,
                                      .m = chunk_,
                                      .n = cell.features,
                                      .k = columns,
                                      .narrow_result = true});
    if (request.frozen) return;
    product_request const gradient{
        .what = form::gradient, .m = columns, .n = cell.features, .k = chunk_, .left_stride = columns};
    // A matrix of one column and its transpose are equal in memory; the transposed product takes half the
    // time.
    product_request const of_column{
        .what = form::gradient, .m = 1, .n = columns, .k = chunk_, .left_stride = 1};
    diff_weights_ = backend.prepare(cell.features == 1 ? of_column : gradient);
    product_request recurrent_gradient = gradient;
    recurrent_gradient.m = static_cast<int>(recurrent_columns_);
    recurrent_gradient.n = cell.units;
    diff_recurrent_ = backend.prepare(recurrent_gradient);
    recurrent_gradient.m = cell.units;
    recurrent_gradient.left_stride = static_cast<int>(candidate_stride_);
    if (cell.is_gru()) diff_candidate_ = backend.prepare(recurrent_gradient);
  }
  composed_products(composed_products const& other)
      : recurrent_products<float, E>(other),
        columns_(other.columns_),
        features_(other.features_),
        units_(other.units_),
        recurrent_columns_(other.recurrent_columns_),
        candidate_stride_(other.candidate_stride_),
        threads_(other.threads_),
        in_parallel_(other.in_parallel_),
        row_multiple_(other.row_multiple_),
        rows_per_step_(other.rows_per_step_),
        chunk_(other.chunk_),
        all_rows_(other.all_rows_) {
    auto const copy = [](product const& from) { return from ? from->clone() : nullptr; };
    for (product const& one : other.state_) state_.push_back(copy(one));
    for (product const& one : other.diff_state_) diff_state_.push_back(copy(one));
    inputs_ = copy(other.inputs_);
    diff_inputs_ = copy(other.diff_inputs_);
    diff_weights_ = copy(other.diff_weights_);
    diff_recurrent_ = copy(other.diff_recurrent_);
    diff_candidate_ = copy(other.diff_candidate_);
  }

  int row_multiple() const { return row_multiple_; }
  int rows_per_step() const { return rows_per_step_; }
  int chunk() const { return chunk_; }
  int all_rows() const { return all_rows_; }
  /// Number of floats of scratch memory for the sum of a gradient over chunks.
  std::size_t sum_elements() const {
    return diff_weights_ && all_rows_ > chunk_ ? columns_ * std::max(features_, units_) : 0;
  }

  void const *weights = nullptr, *recurrent = nullptr;  // in the layouts of the products
  float *diff_weights = nullptr, *diff_recurrent = nullptr;
  float* sum = nullptr;
  void* scratch = nullptr;

  void multiply_inputs(int rows, E const* x, E* gates) override {
    each_chunk(rows, [&](std::size_t r) {
      inputs_->run(x + r * features_, weights, gates + r * columns_, scratch);
    });
  }
  void multiply_state(int rows, E const* read, float* sums) override {
    state_[of(rows)]->run(read, recurrent, sums, scratch);
  }
  void state_gradient(int rows, E const* diff_sums, float* diff) override {
    diff_state_[of(rows)]->run(diff_sums, recurrent, diff, scratch);
  }
  void input_gradient(int rows, E const* diff_gates, E* diff_x) override {
    each_chunk(rows, [&](std::size_t r) {
      diff_inputs_->run(diff_gates + r * columns_, weights, diff_x + r * features_, scratch);
    });
  }
  void weight_gradient(int rows, E const* diff_gates, E const* x) override {
    if (features_ == 1)
      sum_chunks(*diff_weights_, rows, {x, 1}, {diff_gates, columns_}, diff_weights, columns_);
    else
      sum_chunks(*diff_weights_, rows, {diff_gates, columns_}, {x, features_}, diff_weights,
                 columns_ * features_);
  }
  void recurrent_gradient(int rows, E const* diff_gates, E const* read) override {
    sum_chunks(*diff_recurrent_, rows, {diff_gates, columns_}, {read, units_}, diff_recurrent,
               recurrent_columns_ * units_);
  }
  void candidate_gradient(int rows, E const* diff, E const* read) override {
    sum_chunks(*diff_candidate_, rows, {diff, candidate_stride_}, {read, units_},
               diff_recurrent + recurrent_columns_ * units_, units_ * units_);
  }
  void run(typename cell_functions<float, E>::function f, cell_step<float, E> const& step) override {
    if (threads_ <= 1) return f(step);
    struct part_of_step {
      typename cell_functions<float, E>::function f;
      cell_step<float, E> const& step;
    } const all{f, step};
    in_parallel_(
        threads_,
        [](void const* with, int part, int parts) {
          auto const& [run, whole_step] = *static_cast<part_of_step const*>(with);
          cell_step<float, E> const& whole = whole_step;  // clang++ 14 cannot capture bindings
          constexpr std::size_t vector = 16;
          std::size_t const vectors = (whole.units + vector - 1) / vector;
          auto const unit = [&](int i) {
            return std::min(vectors * static_cast<std::size_t>(i) / static_cast<std::size_t>(parts) * vector,
                            whole.units);
          };
          cell_step<float, E> mine = whole;
          mine.begin = unit(part);
          mine.end = unit(part + 1);
          if (mine.begin < mine.end) run(mine);
        },
        &all);
  }

 private:
  using product = std::unique_ptr<prepared_product>;

  std::size_t of(int rows) const { return static_cast<std::size_t>(rows / row_multiple_ - 1); }
  template <class Run>
  void each_chunk(int rows, Run run) const {
    for (int r = 0; r < rows; r += chunk_) run(static_cast<std::size_t>(r));
  }
  /// A factor of a gradient's product, and the distance of its rows in elements.
  struct factor {
    E const* first;
    std::size_t stride;
  };
  void sum_chunks(prepared_product const& by, int rows, factor left, factor right, float* to,
                  std::size_t elements) const {
    if (rows == 0) std::fill_n(to, elements, 0.0F);
    each_chunk(rows, [&](std::size_t r) {
      by.run(left.first + r * left.stride, right.first + r * right.stride, r == 0 ? to : sum, scratch);
      for (std::size_t i = 0; r > 0 && i < elements; ++i) to[i] += sum[i];
    });
  }

  std::size_t columns_, features_, units_;
  std::size_t recurrent_columns_;  // columns without the candidate
  std::size_t candidate_stride_;
  int threads_;
  void (*in_parallel_)(int, void (*)(void const*, int, int), void const*);
  int row_multiple_ = 1, rows_per_step_ = 0, chunk_ = 0, all_rows_ = 0;
  std::vector<product> state_, diff_state_;  // products for 1, 2, … multiples of rows
  product inputs_, diff_inputs_, diff_weights_, diff_recurrent_, diff_candidate_;
};

/// A recurrent layer on a backend. Each copy has separate products and a separate schedule.
template <class E>
class recurrent_program {
 public:
  recurrent_program(recurrent_cell const& cell, composed_request const& request, product_backend& backend,
                    cell_functions<float, E> const& functions)
      : cell_(cell),
        functions_(functions),
        products_(cell, request, backend),
        sizes_(cell, request.batch, products_.rows_per_step(), products_.all_rows()),
        batch_(request.batch),
        length_(request.inputs[0][0]),
        layer_(request.layer),
        products_scratch_(backend.scratch_bytes),
        training_(request.training),
        frozen_(request.frozen),
        masked_(request.masked),
        wants_diff_input_(request.wants_diff_input.begin(), request.wants_diff_input.end()) {}

  bool reads_scalars() const { return training_ || cell_.carries_state; }
  std::size_t workspace_bytes() const { return aligned(sizes_.saved(sizeof(E), sizeof(float))); }
  std::size_t scratch_bytes() const { return product_scratch() + products_scratch_; }

  void run(std::span<void* const> arguments, bool backward) const {
    auto next = arguments.begin();
    auto* const scratch = static_cast<std::byte*>(*next++);
    std::byte* const workspace = training_ ? static_cast<std::byte*>(*next++) : scratch;
    auto const* const scalars = reads_scalars() ? static_cast<step_scalars const*>(*next++) : nullptr;
    std::uint8_t const* const mask = masked_ ? static_cast<step_mask const*>(*next++)->steps : nullptr;
    schedule_.build({batch_, length_, mask, cell_.reverse, cell_.resets_masked, cell_.last_step,
                     cell_.returns_state ? cell_.states() : 0},
                    products_.row_multiple(), mask ? products_.chunk() : 1);
    recurrent_tensors<float, E> tensors;
    tensors.batch = batch_;
    tensors.length = length_;
    tensors.mask = mask;
    tensors.frozen = frozen_;
    carried_state<float> const carried(cell_, scalars, layer_);
    tensors.carried = carried.before;
    if (!backward) tensors.carried_after = carried.after;
    if (backward) {
      tensors.diff_y = static_cast<E const*>(*next++);
      E** const diff_inputs[]{&tensors.diff_x, &tensors.diff_state, &tensors.diff_cells};
      for (std::size_t i = 0; i < wants_diff_input_.size(); ++i)
        if (wants_diff_input_[i]) *diff_inputs[i] = static_cast<E*>(*next++);
    } else {
      E const** const inputs[]{&tensors.x, &tensors.state, &tensors.cells};
      for (std::size_t i = 0; i < wants_diff_input_.size(); ++i) *inputs[i] = static_cast<E const*>(*next++);
      tensors.y = static_cast<E*>(*next++);
    }
    products_.scratch = scratch + product_scratch();
    products_.weights = *next++;
    products_.recurrent = *next++;
    auto const number = [&](bool exists) { return exists ? static_cast<float*>(*next++) : nullptr; };
    tensors.bias = number(cell_.bias);
    tensors.recurrent_bias = number(cell_.recurrent_bias);
    tensors.peepholes = number(cell_.peepholes);
    if (backward && !frozen_) {
      products_.diff_weights = number(true);
      products_.diff_recurrent = number(true);
      tensors.diff_bias = number(cell_.bias);
      tensors.diff_recurrent_bias = number(cell_.recurrent_bias);
      tensors.diff_peepholes = number(cell_.peepholes);
    }
    recurrent_memory<float, E> memory;
    memory.place_saved(sizes_, workspace);
    std::byte* const own = training_ ? scratch : scratch + workspace_bytes();
    if (backward)
      memory.place_backward_scratch(sizes_, own);
    else
      memory.place_forward_scratch(sizes_, own);
    products_.sum = reinterpret_cast<float*>(own + sizes_.backward_scratch(sizeof(E), sizeof(float)));
    tensors.drops = training_ && !frozen_ && memory.kept;
    if (tensors.drops) write_kept_factors(cell_, *scalars, layer_, batch_, memory.kept);
    recurrent_core<float, E> const core(cell_, functions_, schedule_, products_, tensors, memory);
    backward ? core.backward() : core.forward();
  }

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  /// Offset in bytes of the products' scratch memory.
  std::size_t product_scratch() const {
    if (!training_) return workspace_bytes() + aligned(sizes_.forward_scratch(sizeof(float)));
    return aligned(std::max(
        sizes_.forward_scratch(sizeof(float)),
        sizes_.backward_scratch(sizeof(E), sizeof(float)) + products_.sum_elements() * sizeof(float)));
  }

  recurrent_cell cell_;
  cell_functions<float, E> functions_;
  mutable composed_products<E> products_;
  mutable recurrent_schedule schedule_;
  recurrent_sizes sizes_;
  int batch_, length_;
  std::uint64_t layer_;
  std::size_t products_scratch_;
  bool training_, frozen_, masked_;
  std::vector<char> wants_diff_input_;
};

template <class E>
composed_kernel composed_of(recurrent_program<E> const& program, bool training) {
  composed_kernel made;
  made.forward = [program](std::span<void* const> arguments) { program.run(arguments, false); };
  if (training) made.backward = [program](std::span<void* const> arguments) { program.run(arguments, true); };
  made.reads_scalars = program.reads_scalars();
  made.workspace_bytes = program.workspace_bytes();
  made.scratch_bytes = program.scratch_bytes();
  return made;
}

composed_kernel compose_recurrent(recurrent_cell const& cell, composed_request const& request,
                                  product_backend& backend) {
  isa const which = best_isa();
  composed_kernel made =
      backend.narrow
          ? composed_of(recurrent_program<bf16>(cell, request, backend, narrow_cell_functions(cell)),
                        request.training)
          : composed_of(recurrent_program<float>(cell, request, backend, cell_functions_for(which, cell)),
                        request.training);
  made.implementation = "own:" + std::string(name_of(backend.narrow ? isa::avx512 : which));
  return made;
}

}  // namespace cohort::detail
