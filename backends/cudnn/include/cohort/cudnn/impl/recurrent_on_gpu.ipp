// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/matrix_product.hpp>
#include <cohort/cudnn/detail/random_on_gpu.hpp>
#include <cohort/cudnn/detail/recurrent_on_gpu.hpp>
#include <cohort/layer/detail/recurrent_host.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Sizes of the arrays of a recurrent layer, in elements.
struct gpu_recurrence_sizes {
  int batch, length, rows;  // rows: the batch, padded to a multiple of row_multiple
  std::size_t states, all_states, gates, all_gates, all_inputs, kept;

  gpu_recurrence_sizes(recurrent_cell const& cell, int examples, int steps)
      : batch(examples), length(steps), rows((examples + row_multiple - 1) / row_multiple * row_multiple) {
    auto const all = static_cast<std::size_t>(length), of_step = static_cast<std::size_t>(rows);
    states = of_step * cell.width();
    all_states = all * states;
    gates = of_step * cell.columns();
    all_gates = all * gates;
    all_inputs = all * of_step * cell.inputs();
    bool const drops = cell.dropout > 0 || cell.recurrent_dropout > 0;
    kept = drops ? rounded(static_cast<std::size_t>(batch) * (cell.inputs() + cell.width())) : 0;
  }
  /// Rounds up, so that arrays begin at multiples of buffer::alignment bytes.
  static std::size_t rounded(std::size_t elements) {
    return (elements + row_multiple - 1) / row_multiple * row_multiple;
  }

  static constexpr int row_multiple = static_cast<int>(buffer::alignment / sizeof(float));
};

/// Assigns addresses in one block of memory to consecutive arrays. Without a block, computes their total
/// size.
class gpu_arrays {
 public:
  explicit gpu_arrays(void* block = nullptr) : at_(static_cast<float*>(block)) {}

  /// Returns the address of the next array; null for an empty array, and without a block.
  float* next(std::size_t elements) {
    float* const here = at_ && elements > 0 ? at_ + used_ : nullptr;
    used_ += elements;
    return here;
  }
  shape dims() const { return shape_for_elements(std::max<std::size_t>(used_, 1)); }

 private:
  float* at_;
  std::size_t used_ = 0;
};

/// Arrays that forward stores for backward. `before` and `cells`: states before each step, then the states
/// after the last step.
struct saved_arrays {
  float *x, *gates, *before, *read, *other, *cells, *kept;

  saved_arrays(recurrent_cell const& cell, gpu_recurrence_sizes const& n, gpu_arrays& from)
      : x(from.next(n.all_inputs)),
        gates(from.next(n.all_gates)),
        before(from.next(n.all_states + n.states)),
        read(from.next(cell.recurrent_dropout > 0 ? n.all_states : 0)),
        other(from.next(cell.is_gru() ? n.all_states : 0)),
        cells(from.next(cell.kind == cell_kind::lstm ? n.all_states + n.states : 0)),
        kept(from.next(n.kept)) {}
};

/// Scratch memory of backward. `sums`: gradients of the recurrent products, of all steps (gru with the reset
/// after the product) or of one step (gru with the reset before it).
struct backward_arrays {
  float *state, *pending, *read, *reset, *cells, *sums, *candidates, *of_candidates, *peepholes;

  backward_arrays(recurrent_cell const& cell, gpu_recurrence_sizes const& n, gpu_arrays& from)
      : state(from.next(n.states)),
        pending(from.next(n.states)),
        read(from.next(n.states)),
        reset(from.next(cell.kind == cell_kind::gru_before ? n.states : 0)),
        cells(from.next(cell.kind == cell_kind::lstm ? n.states : 0)),
        sums(from.next(cell.kind == cell_kind::gru_after    ? n.all_gates
                       : cell.kind == cell_kind::gru_before ? n.gates
                                                            : 0)),
        candidates(from.next(cell.kind == cell_kind::gru_before ? n.all_states : 0)),
        of_candidates(from.next(cell.kind == cell_kind::gru_before
                                    ? gpu_recurrence_sizes::rounded(cell.width() * cell.width())
                                    : 0)),
        peepholes(from.next(cell.peepholes ? n.all_states * 3 : 0)) {}
};

/// A recurrent layer of a plan.
class recurrence_on_gpu {
 public:
  recurrence_on_gpu(gpu_target const& where, gpu_request const& request, recurrent_cell const& cell)
      : on_(where.stream),
        cell_(drops(request) ? cell : without_dropouts(cell)),
        n_(cell_, request.batch, request.input_shapes[0][0]),
        random_(request),
        layer_(purpose_of("layer", request.name)),
        drops_(n_.kept > 0),
        frozen_(request.frozen) {
    int const all = n_.rows * n_.length, columns = static_cast<int>(cell.columns());
    auto const product = [&](matrix_product::extents const& sizes) {
      return std::make_shared<matrix_product const>(where.blas, sizes, where.products_of_f32(), where.tune);
    };
    inputs_ = product({.m = columns, .n = all, .k = cell.features, .transposes_a = true});
    state_ = product({.m = columns, .n = n_.rows, .k = cell.units, .transposes_a = true});
    if (!request.training) return;
    diff_state_ = product({.m = cell.units, .n = n_.rows, .k = columns});
    if (request.wants_diff_input[0]) diff_inputs_ = product({.m = cell.features, .n = all, .k = columns});
    if (frozen_) return;
    diff_weights_ = product({.m = cell.features, .n = columns, .k = all, .transposes_b = true});
    diff_recurrent_ = product({.m = cell.units, .n = columns, .k = all, .transposes_b = true});
    if (cell.kind == cell_kind::gru_before)
      diff_candidate_ = product({.m = cell.units, .n = cell.units, .k = all, .transposes_b = true});
  }

  /// Tensors of a pass; null if the pass does not use them.
  struct tensors {
    std::byte* workspace = nullptr;
    std::byte* scratch = nullptr;
    step_scalars const* scalars = nullptr;
    unsigned char const* mask = nullptr;
    float *x = nullptr, *h = nullptr, *c = nullptr, *y = nullptr;
    float *dy = nullptr, *dx = nullptr, *dh = nullptr, *dc = nullptr;
    float *weights = nullptr, *recurrent = nullptr, *bias = nullptr, *recurrent_bias = nullptr,
          *peepholes = nullptr;
    float *diff_weights = nullptr, *diff_recurrent = nullptr, *diff_bias = nullptr,
          *diff_recurrent_bias = nullptr, *diff_peepholes = nullptr;
  };

  shape workspace_dims() const {
    gpu_arrays all;
    saved_arrays const measured(cell_, n_, all);
    return all.dims();
  }
  /// Returns the shape of forward's scratch memory: the recurrent products of a step, and the carried states.
  shape forward_dims() const {
    gpu_arrays all;
    all.next(n_.gates);
    all.next(carried_elements());
    return all.dims();
  }
  shape backward_dims() const {
    gpu_arrays all;
    backward_arrays const measured(cell_, n_, all);
    return all.dims();
  }
  channel_sums_on_gpu columns_of(std::size_t columns) const {
    return {on_, shape{n_.rows * n_.length, static_cast<int>(columns)}, 8};
  }
  std::size_t sums_bytes() const {
    return std::max(columns_of(cell_.columns()).scratch_bytes(),
                    cell_.peepholes ? columns_of(3 * cell_.width()).scratch_bytes() : 0);
  }
  bool reads_scalars() const { return drops_ || cell_.carries_state; }

  void forward(tensors const& a) const {
    gpu_arrays saved(a.workspace), scratch(a.scratch);
    saved_arrays const s(cell_, n_, saved);
    float* const sums = scratch.next(n_.gates);
    float* const carried = scratch.next(carried_elements());
    carried_state<float> const outside(cell_, a.scalars, layer_);
    bool const carries = outside.before != nullptr;
    std::size_t const carried_bytes = carried_elements() * sizeof(float);
    if (carries) on_->upload(outside.before, reinterpret_cast<std::byte*>(carried), carried_bytes);
    if (drops_) write_kept(a, s.kept);
    pack(a, a.x, s.x, s.kept, false);
    inputs_->run(a.weights, s.x, nullptr, s.gates);
    kernels::outer_states initial{a.h, a.c, cell_.width()};
    if (carries) initial = {carried, cell_.states() == 2 ? carried + cell_.width() : nullptr, state_width()};
    on_->launch(kernels::begin_states{initial, s.before, s.cells, cell_.last_step ? a.y : nullptr, y_step(),
                                      rows(a, 0)},
                n_.states);
    for (int k = 0; k < n_.length; ++k) forward_step(a, s, sums, k);
    kernels::step_rows const last = rows(a, n_.length - 1);
    float const* const after = s.before + n_.all_states;
    float const* const cells = s.cells ? s.cells + n_.all_states : nullptr;
    if (cell_.returns_state) on_->launch(kernels::end_states{after, cells, final_of(a.y), last}, n_.states);
    if (!carries) return;
    on_->launch(kernels::end_states{after, cells, initial, last}, n_.states);
    on_->download(reinterpret_cast<std::byte const*>(carried), outside.after, carried_bytes);
  }

  void backward(tensors const& a, void* sums_scratch) const {
    gpu_arrays saved(a.workspace), scratch(a.scratch);
    saved_arrays const s(cell_, n_, saved);
    backward_arrays const d(cell_, n_, scratch);
    kernels::outer_states final{};
    if (cell_.returns_state) final = final_of(a.dy);
    if (cell_.last_step) final.h = nullptr;  // h is the layer's output, whose gradient is passed as a.dy
    on_->launch(kernels::begin_state_gradients{final, cell_.last_step ? a.dy : nullptr, y_step(), d.state,
                                               d.cells, d.pending, rows(a, n_.length - 1)},
                n_.states);
    for (int k = n_.length - 1; k >= 0; --k) backward_step(a, s, d, k);
    if (a.dh || a.dc)
      on_->launch(kernels::end_state_gradients{diff_of(a, s, d, 0, false), d.cells, a.dh, a.dc,
                                               cell_.last_step, rows(a, 0)},
                  n_.states);
    if (!frozen_) differentiate_parameters(a, s, d, sums_scratch);
    if (!a.dx) return;
    diff_inputs_->run(a.weights, s.gates, nullptr, s.x);  // x is no longer needed
    pack(a, s.x, a.dx, s.kept, true);
  }

 private:
  static bool drops(gpu_request const& request) { return request.training && !request.frozen; }
  static recurrent_cell without_dropouts(recurrent_cell cell) {
    cell.dropout = cell.recurrent_dropout = 0;
    return cell;
  }
  std::size_t state_width() const { return static_cast<std::size_t>(cell_.states()) * cell_.width(); }
  std::size_t carried_elements() const {
    return cell_.carries_state ? static_cast<std::size_t>(n_.batch) * state_width() : 0;
  }
  /// Returns the number of elements of an example's output.
  std::size_t y_step() const {
    std::size_t const states = cell_.returns_state ? static_cast<std::size_t>(cell_.states()) : 0,
                      steps = static_cast<std::size_t>(n_.length);
    return cell_.width() * (cell_.last_step ? std::max<std::size_t>(states, 1) : steps + states);
  }
  /// Returns the final state's part of the output y.
  kernels::outer_states final_of(float* y) const {
    float* const h = y + (cell_.last_step ? 0 : static_cast<std::size_t>(n_.length) * cell_.width());
    return {h, cell_.states() == 2 ? h + cell_.width() : nullptr, y_step()};
  }
  int step_of(int k) const { return cell_.reverse ? n_.length - 1 - k : k; }
  float* output_of(float* y, int k) const {
    return cell_.last_step ? y : y + static_cast<std::size_t>(step_of(k)) * cell_.width();
  }
  kernels::step_rows rows(tensors const& a, int k) const {
    return {static_cast<kernels::size>(n_.batch),   cell_.width(), static_cast<kernels::size>(n_.length),
            static_cast<kernels::size>(step_of(k)), a.mask,        cell_.resets_masked};
  }
  static kernels::cell_activation activation(recurrent_activation which) { return {static_cast<int>(which)}; }
  std::size_t kept_step() const { return cell_.inputs() + cell_.width(); }
  bool drops_state() const { return cell_.recurrent_dropout > 0; }
  float const* kept_state(saved_arrays const& s) const {
    return drops_state() ? s.kept + cell_.inputs() : nullptr;
  }

  void write_kept(tensors const& a, float* kept) const {
    auto const below = [](double rate) { return static_cast<unsigned>(rate * 0x1p32); };
    auto const factor = [](double rate) { return static_cast<float>(1 / (1 - rate)); };
    on_->launch(kernels::kept_factors{kept, random_.draw(a.scalars), cell_.inputs(), cell_.width(),
                                      below(cell_.dropout), below(cell_.recurrent_dropout),
                                      factor(cell_.dropout), factor(cell_.recurrent_dropout)},
                static_cast<std::size_t>(n_.batch)
                    * (kernels::kept_factors::blocks_of(cell_.inputs())
                       + kernels::kept_factors::blocks_of(cell_.width())));
  }
  void pack(tensors const& a, float const* from, float* to, float const* kept, bool to_batch) const {
    on_->launch(
        kernels::pack_sequence{from, to, cell_.dropout > 0 ? kept : nullptr, kept_step(), cell_.inputs(),
                               static_cast<kernels::size>(n_.rows), rows(a, 0), cell_.reverse, to_batch},
        n_.all_inputs);
  }
  /// Returns the states that step k's recurrent products read.
  float* read_of(saved_arrays const& s, int k) const {
    return (drops_state() ? s.read : s.before) + static_cast<std::size_t>(k) * n_.states;
  }

  void forward_step(tensors const& a, saved_arrays const& s, float* sums, int k) const {
    std::size_t const at = static_cast<std::size_t>(k) * n_.states;
    kernels::step_rows const each = rows(a, k);
    float* const read = read_of(s, k);
    if (drops_state())
      on_->launch(kernels::drop_state{s.before + at, read, kept_state(s), kept_step(), each}, n_.states);
    bool const has_state = k > 0 || cell_.has_initial_state;
    if (has_state) state_->run(a.recurrent, read, nullptr, sums);
    kernels::cell_forward const f{each,
                                  activation(cell_.gate_activation),
                                  activation(cell_.activation),
                                  s.gates + static_cast<std::size_t>(k) * n_.gates,
                                  has_state ? sums : nullptr,
                                  a.bias,
                                  a.recurrent_bias,
                                  s.before + at,
                                  s.before + at + n_.states,
                                  output_of(a.y, k),
                                  k > 0 ? output_of(a.y, k - 1) : nullptr,
                                  y_step(),
                                  cell_.last_step};
    switch (cell_.kind) {
      case cell_kind::simple:
        return on_->launch(kernels::simple_cell{f}, n_.states);
      case cell_kind::lstm:
        return on_->launch(kernels::lstm_cell{f, a.peepholes, s.cells + at, s.cells + at + n_.states},
                           n_.states);
      case cell_kind::gru_after:
        return on_->launch(kernels::gru_cell{f, s.other + at}, n_.states);
      case cell_kind::gru_before:
        on_->launch(kernels::gru_gates{f, read, s.other + at}, n_.states);
        if (has_state) state_->run(a.recurrent, s.other + at, nullptr, sums);
        on_->launch(kernels::gru_candidate{f}, n_.states);
    }
  }

  /// Returns the gradient of the state after step k or, if k is 0 and `after_step` is false, before step 0.
  kernels::state_gradient diff_of(tensors const& a, saved_arrays const& s, backward_arrays const& d, int k,
                                  bool after_step) const {
    bool const has_next = !after_step || k + 1 < n_.length;
    return {d.state,
            d.pending,
            has_next ? d.read : nullptr,
            has_next ? d.reset : nullptr,
            kept_state(s),
            kept_step(),
            cell_.last_step ? nullptr : output_of(a.dy, k),
            y_step()};
  }

  void backward_step(tensors const& a, saved_arrays const& s, backward_arrays const& d, int k) const {
    std::size_t const at = static_cast<std::size_t>(k) * n_.states,
                      gates = static_cast<std::size_t>(k) * n_.gates;
    kernels::cell_backward const b{
        rows(a, k),    activation(cell_.gate_activation), activation(cell_.activation), s.gates + gates,
        s.before + at, diff_of(a, s, d, k, true)};
    float* sums = b.gates;
    switch (cell_.kind) {
      case cell_kind::simple:
        on_->launch(kernels::simple_cell_gradient{b}, n_.states);
        break;
      case cell_kind::lstm:
        on_->launch(
            kernels::lstm_cell_gradient{b, a.peepholes, s.cells + at, s.cells + at + n_.states, d.cells},
            n_.states);
        break;
      case cell_kind::gru_after:
        sums = d.sums + gates;
        on_->launch(kernels::gru_cell_gradient{b, s.other + at, sums}, n_.states);
        break;
      case cell_kind::gru_before:
        sums = d.sums;
        on_->launch(kernels::gru_candidate_gradient{b, sums, d.candidates + at}, n_.states);
        diff_state_->run(a.recurrent, sums, nullptr, d.reset);
        on_->launch(kernels::gru_gates_gradient{b, read_of(s, k), sums, d.reset}, n_.states);
    }
    if (k > 0 || a.dh || a.dc) diff_state_->run(a.recurrent, sums, nullptr, d.read);
  }

  void differentiate_parameters(tensors const& a, saved_arrays const& s, backward_arrays const& d,
                                void* sums_scratch) const {
    bool const has_recurrent_bias = cell_.kind == cell_kind::gru_after;
    float const* const recurrent_gates = has_recurrent_bias ? d.sums : s.gates;
    diff_weights_->run(s.x, s.gates, nullptr, a.diff_weights);
    diff_recurrent_->run(read_of(s, 0), recurrent_gates, nullptr, a.diff_recurrent);
    if (diff_candidate_) {
      std::size_t const square = cell_.width() * cell_.width();
      diff_candidate_->run(s.other, d.candidates, nullptr, d.of_candidates);
      on_->copy(reinterpret_cast<std::byte const*>(d.of_candidates),
                reinterpret_cast<std::byte*>(a.diff_recurrent + 2 * square), square * sizeof(float));
    }
    auto const columns = columns_of(cell_.columns());
    if (a.diff_bias) columns.sum(s.gates, sums_scratch, a.diff_bias);
    if (a.diff_recurrent_bias) columns.sum(recurrent_gates, sums_scratch, a.diff_recurrent_bias);
    if (!a.diff_peepholes) return;
    on_->launch(kernels::peephole_terms{s.gates, s.cells, d.peepholes, cell_.width(), n_.states},
                n_.all_states);
    columns_of(3 * cell_.width()).sum(d.peepholes, sums_scratch, a.diff_peepholes);
  }

  shared_stream on_;
  recurrent_cell cell_;
  gpu_recurrence_sizes n_;
  random_on_gpu random_;
  std::uint64_t layer_;
  bool drops_, frozen_;
  using product = std::shared_ptr<matrix_product const>;
  product inputs_, state_, diff_state_, diff_inputs_, diff_weights_, diff_recurrent_, diff_candidate_;
};

/// Operands of a pass, and for each the member of `tensors` that receives its address.
struct recurrence_operands {
  using tensors = recurrence_on_gpu::tensors;

  gpu_operands list;
  std::vector<float * tensors::*> members;  // one for each operand after the first `before`
  std::size_t before = 0;

  void add(operand_role role, int index, shape const& dims, float* tensors::*member) {
    list.push_back({role, index, dims});
    members.push_back(member);
  }
  void set(tensors& to, std::span<void* const> arguments) const {
    for (std::size_t i = 0; i < members.size(); ++i) to.*members[i] = tensor_at(arguments, before + i);
  }
};

gpu_operation prepare_recurrent(gpu_target const& where, gpu_request const& request,
                                recurrent_cell const& cell) {
  using enum operand_role;
  using tensors = recurrence_on_gpu::tensors;
  auto const run = std::make_shared<recurrence_on_gpu const>(where, request, cell);
  bool const reads_scalars = run->reads_scalars(), masked = request.masked;
  double const flops = 2 * recurrent_flops(cell, request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = batched_output(request);
  for (parameter_spec const& spec : request.parameter_specs) made.parameters.push_back(spec.dims);

  float* tensors::*const inputs[]{&tensors::x, &tensors::h, &tensors::c};
  float* tensors::*const diff_inputs[]{&tensors::dx, &tensors::dh, &tensors::dc};
  std::vector<float * tensors::*> parameters{&tensors::weights, &tensors::recurrent},
      diffs{&tensors::diff_weights, &tensors::diff_recurrent};
  auto const optional = [&](bool exists, float* tensors::*value, float* tensors::*diff) {
    if (exists) parameters.push_back(value), diffs.push_back(diff);
  };
  optional(cell.bias, &tensors::bias, &tensors::diff_bias);
  optional(cell.recurrent_bias, &tensors::recurrent_bias, &tensors::diff_recurrent_bias);
  optional(cell.peepholes, &tensors::peepholes, &tensors::diff_peepholes);

  // The first operands: workspace, scratch, scratch for sums, then scalars and mask if present.
  auto const common = [&](bool backward) {
    recurrence_operands all;
    all.list.push_back(
        {request.training ? workspace : scratch, request.training ? 0 : 2, run->workspace_dims()});
    all.list.push_back({scratch, 0, backward ? run->backward_dims() : run->forward_dims()});
    all.list.push_back({scratch, 1, shape_for_bytes(backward ? run->sums_bytes() : sizeof(float))});
    if (reads_scalars) all.list.push_back({scalars});
    if (masked) all.list.push_back({mask});
    all.before = all.list.size();
    for (std::size_t p = 0; p < parameters.size(); ++p)
      all.add(parameter, static_cast<int>(p), request.parameter_specs[p].dims, parameters[p]);
    return all;
  };
  auto const given = [=](recurrence_operands const& operands, std::span<void* const> a) {
    tensors all;
    all.workspace = static_cast<std::byte*>(a[0]);
    all.scratch = static_cast<std::byte*>(a[1]);
    std::size_t next = 3;
    if (reads_scalars) all.scalars = static_cast<step_scalars const*>(a[next++]);
    if (masked) all.mask = mask_at(a, next);
    operands.set(all, a);
    return all;
  };

  recurrence_operands forward = common(false);
  for (std::size_t i = 0; i < request.input_shapes.size(); ++i)
    forward.add(input, static_cast<int>(i), batched_input(request, i), inputs[i]);
  forward.add(output, 0, batched_output(request), &tensors::y);
  made.forward.push_back({[=](std::span<void* const> a) { run->forward(given(forward, a)); }, forward.list,
                          where.implementation("cublaslt+nvrtc"), flops / 2});
  if (!request.training) return made;
  recurrence_operands backward = common(true);
  backward.add(diff_output, 0, batched_output(request), &tensors::dy);
  for (std::size_t i = 0; i < request.input_shapes.size(); ++i)
    if (request.wants_diff_input[i])
      backward.add(diff_input, static_cast<int>(i), batched_input(request, i), diff_inputs[i]);
  for (std::size_t p = 0; !request.frozen && p < parameters.size(); ++p)
    backward.add(diff_parameter, static_cast<int>(p), request.parameter_specs[p].dims, diffs[p]);
  made.backward.push_back({[=](std::span<void* const> a) { run->backward(given(backward, a), a[2]); },
                           backward.list, where.implementation("cublaslt+nvrtc"), flops});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, simple_rnn const& layer) {
  return prepare_recurrent(where, request, layer.cell(request.input_shapes));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, lstm const& layer) {
  return prepare_recurrent(where, request, layer.cell(request.input_shapes));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, gru const& layer) {
  return prepare_recurrent(where, request, layer.cell(request.input_shapes));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, recurrent_output const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const from = batched_input(request), to = batched_output(request);
  auto const rows = static_cast<std::size_t>(request.batch);
  std::size_t const all = elements_of(request.input_shapes[0]), count = elements_of(request.output_shape),
                    first = layer.part == recurrent_part::cells ? all - count
                            : layer.part == recurrent_part::state
                                ? all - static_cast<std::size_t>(layer.states) * count
                                : 0;
  gpu_operation made;
  made.output = to;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::copy_rows{tensor_at(a, 0), tensor_at(a, 1), count, first, all, 0, count},
                    rows * count);
       },
       {{input, 0, from}, {output, 0, to}},
       "nvrtc",
       0});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->clear(static_cast<std::byte*>(a[1]), rows * all * sizeof(float));
           on->launch(kernels::copy_rows{tensor_at(a, 0), tensor_at(a, 1), count, 0, count, first, all},
                      rows * count);
         },
         {{diff_output, 0, to}, {diff_input, 0, from}},
         "nvrtc",
         0});
  return made;
}

}  // namespace cohort::detail
