// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/plan/command.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// What plan and contexts share; it outlives both.
template <tensor_backend B>
struct compiled {
  std::shared_ptr<parameter_store<B>> store;
  program<B> code;
  std::vector<plan_row> rows;
  std::vector<shape> inputs;
  std::vector<shape> outputs;
  int batch = 1;
  bool training = true;
};

template <tensor_backend B>
class bound_context final : public context {
 public:
  using T = typename B::scalar;

  bound_context(std::shared_ptr<compiled<B> const> made, std::byte* gradients, context_memory* memory)
      : made_(std::move(made)),
        passes_(made_->store->passes()),
        memory_(memory ? *memory : own_memory_),
        own_gradients_(made_->training && !gradients ? made_->store->arena_bytes() : 0, passes_.space()),
        gradients_(gradients ? gradients : own_gradients_.data()),
        staging_(made_->inputs.size()),
        brought_(made_->inputs.size()),
        fetched_(made_->outputs.size()),
        target_staging_(made_->code.targets.size()),
        targets_(made_->code.targets.size()),
        losses_(made_->code.targets.size() * sizeof(loss_sum), passes_.results()) {
    memory_.arena.resize(made_->code.arena_bytes, passes_.space());
    bind();
  }

  void forward(forward_request const& request) override {
    check_inputs(request.inputs);
    if (arena_ != memory_.arena.data()) bind();
    for (std::size_t i = 0; i < request.inputs.size(); ++i)
      point(static_cast<int>(i), staged(i, request.inputs[i]));
    if (made_->training) {
      take_targets(request.targets);
      scalars_ = {.seed = request.seed,
                  .step = request.step,
                  .weights = one_an_example(request.weights, "weights"),
                  .indices = one_an_example(request.indices, "indices"),
                  .sums = request.sums};
    }
    run(forward_, 0, forward_.size());
  }

  double loss() const override {
    passes_.wait();
    double sum = 0;
    for (loss_sum const& one : std::span(losses_.as<loss_sum>(), targets_.size())) sum += one.sum;
    return sum;
  }

  void backward(backward_request const& request) override {
    scalars_.gradient_scale = request.gradient_scale;
    accumulate_ = request.accumulate;
    std::size_t done = 0;
    for (completion const& c : made_->code.completions) {
      run(backward_, done, static_cast<std::size_t>(c.after));
      done = static_cast<std::size_t>(c.after);
      if (request.ready && *request.ready)
        (*request.ready)(made_->store->buckets()[static_cast<std::size_t>(c.bucket)]);
    }
    run(backward_, done, backward_.size());
  }

  tensor_view output(int which) const override {
    if (which < 0 || static_cast<std::size_t>(which) >= made_->code.output_slots.size())
      throw setting_error(
          {.what = "this plan has no such output",
           .expected = {made_->code.output_slots.size(),
                        (made_->training ? " outputs: it is a plan for training" : " outputs")},
           .got = {"output ", which}});
    auto const& slot =
        made_->code
            .slots[static_cast<std::size_t>(made_->code.output_slots[static_cast<std::size_t>(which)])];
    shape const dims = made_->outputs[static_cast<std::size_t>(which)].batched(examples_);
    return {reinterpret_cast<T const*>(on_host(arena_ + slot.offset, static_cast<std::size_t>(which))), dims};
  }

  std::string first_non_finite() override {
    scalars_.sums = nullptr;  // the others do not compute again
    for (outside const& o : outside_) {
      auto const& dims = made_->inputs[static_cast<std::size_t>(o.input)];
      auto const count = static_cast<std::size_t>(dims.batched(made_->batch).elements());
      if (!passes_.finite(element_of<T>, static_cast<std::byte const*>(o.now), count)) return "the input";
    }
    for (std::size_t c = 0; c < forward_.size(); ++c) {
      run(forward_, c, c + 1);
      int const written = made_->code.forward[c].result;
      if (written < 0) continue;
      if (!is_finite(made_->code.slots[static_cast<std::size_t>(written)],
                     made_->code.forward[c].result_type))
        return made_->rows[static_cast<std::size_t>(forward_[c].row)].step;
    }
    return {};
  }

  std::byte* gradients() const override { return gradients_; }

  void profile(bool on) override {
    profiling_ = on;
    if (on && seconds_.empty()) {
      seconds_.resize(made_->rows.size());
      calls_.resize(made_->rows.size());
    }
  }
  std::vector<plan_row> profile() const override {
    std::vector<plan_row> rows = made_->rows;
    for (std::size_t r = 0; r < seconds_.size(); ++r) {
      rows[r].seconds = seconds_[r];
      rows[r].calls = calls_[r];
    }
    return rows;
  }

 private:
  struct bound {
    typename B::call call;
    int row;
    std::vector<int> gradients;  ///< parameters whose gradients it overwrites
  };
  /// An argument that is an input of the batch, set anew at each step.
  struct outside {
    bound* command;
    std::size_t argument;
    int input;
    void* now;
  };

  void bind() {
    arena_ = memory_.arena.data();
    outside_.clear();
    bind(made_->code.forward, forward_);
    bind(made_->code.backward, backward_);
  }
  void bind(std::vector<command<B>> const& from, std::vector<bound>& to) {
    to.clear();
    to.reserve(from.size());  // what is set from outside keeps addresses of its elements
    for (command<B> const& c : from) {
      std::vector<void*> addresses;
      bound b{{B::bind(c.kernel, resolve(c.arguments, addresses))}, c.row, {}};
      for (address const& a : c.arguments)
        if (a.where == place::gradient && !c.adds) b.gradients.push_back(a.index);
      to.push_back(std::move(b));
      for (std::size_t i = 0; i < c.arguments.size(); ++i)
        if (c.arguments[i].where == place::input)
          outside_.push_back({&to.back(), i, c.arguments[i].index, nullptr});
    }
  }

  std::span<void* const> resolve(std::vector<address> const& arguments, std::vector<void*>& addresses) {
    auto& store = *made_->store;
    for (address const& a : arguments) {
      auto const index = static_cast<std::size_t>(a.index);
      void* at = nullptr;
      switch (a.where) {
        case place::arena:
          at = arena_ + made_->code.slots[index].offset;
          break;
        case place::parameter:
          at = store.parameter_data(a.index, store.master());
          break;
        case place::copy:
          at = store.copy_data(a.index);
          break;
        case place::gradient:
          at = store.parameter_data(a.index, gradients_);
          break;
        case place::loss:
          at = losses_.as<loss_sum>() + index;
          break;
        case place::scalars:
          at = &scalars_;
          break;
        case place::target:
          at = &targets_[index];
          break;
        case place::input:
          break;
      }
      addresses.push_back(at);
    }
    return addresses;
  }

  bool is_finite(arena_slot const& slot, element_type type) const {
    return passes_.finite(type, arena_ + slot.offset, slot.bytes / bytes_of(type));
  }

  void point(int input, void* to) {
    for (outside& o : outside_)
      if (o.input == input && o.now != to) {
        o.command->call.set(o.argument, to);
        o.now = to;
      }
  }

  void run(std::vector<bound>& calls, std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      bound& one = calls[c];
      bool const adds = accumulate_ && &calls == &backward_ && !one.gradients.empty();
      if (adds) keep(one.gradients);
      if (profiling_) {
        auto const start = std::chrono::steady_clock::now();
        one.call();
        passes_.wait();
        seconds_[static_cast<std::size_t>(one.row)] +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++calls_[static_cast<std::size_t>(one.row)];
      } else {
        one.call();
      }
      if (adds) add_kept(one.gradients);
    }
  }

  /// Kernels overwrite: to accumulate, the sum so far is put aside and added again.
  void keep(std::vector<int> const& parameters) {
    memory_.sums.resize(made_->code.kept_bytes, passes_.space());
    std::byte* to = memory_.sums.data();
    for (int p : parameters) {
      passes_.copy(made_->store->parameter_data(p, gradients_), to, bytes_of_parameter(p));
      to += bytes_of_parameter(p);
    }
  }
  void add_kept(std::vector<int> const& parameters) {
    std::byte const* from = memory_.sums.data();
    for (int p : parameters) {
      passes_.add(from, made_->store->parameter_data(p, gradients_), bytes_of_parameter(p) / sizeof(T));
      from += bytes_of_parameter(p);
    }
  }
  std::size_t bytes_of_parameter(int p) const {
    return made_->store->table()[static_cast<std::size_t>(p)].room * sizeof(T);
  }

  void check_inputs(std::span<tensor_view const> inputs) {
    if (inputs.size() != made_->inputs.size())
      throw shape_error({.what = "the batch has another number of inputs than the network",
                         .expected = {made_->inputs.size()},
                         .got = {inputs.size()}});
    examples_ = inputs[0].dims.rank > 0 ? inputs[0].dims[0] : 0;
    bool const fits =
        made_->training ? examples_ == made_->batch : examples_ >= 0 && examples_ <= made_->batch;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      shape const wanted = made_->inputs[i].batched(fits ? examples_ : made_->batch);
      if (!fits || !(inputs[i].dims == wanted))
        throw shape_error({.what = "an input has another shape than the network's",
                           .where = {"input ", i},
                           .expected = to_string(wanted),
                           .got = to_string(inputs[i].dims)});
      if (inputs[i].type != element_type::f32 && inputs[i].type != element_of<T>)
        throw shape_error({.what = "an input has an element type that the network cannot take",
                           .where = {"input ", i},
                           .expected = {"f32 or ", name_of(element_of<T>)},
                           .got = {name_of(inputs[i].type)}});
    }
  }

  void take_targets(std::span<tensor_view const> targets) {
    if (targets.size() != targets_.size())
      throw shape_error({.what = "the batch has another number of targets than the network has losses",
                         .expected = {targets_.size()},
                         .got = {targets.size()}});
    for (std::size_t t = 0; t < targets.size(); ++t) {
      tensor_view const& given = targets[t];
      target_spec const& wanted = made_->code.targets[t];
      bool const indices = wanted.takes_indices(given.type, given.dims, made_->batch);
      bool const numbers = wanted.takes_numbers(given.type, given.dims, made_->batch, element_of<T>);
      if (!indices && !numbers)
        throw shape_error({.what = "a target does not fit its loss",
                           .where = {"target ", t},
                           .expected = expectation(wanted),
                           .got = {to_string(given.dims), " x ", name_of(given.type)}});
      if (indices) check_indices(t, given.as<std::int32_t>(), wanted.classes);
      targets_[t] = given;
      if (numbers && given.type != element_of<T>)
        targets_[t] = {converted(target_staging_[t], given, given.dims.elements()), given.dims};
      if (numbers) check_numbers(t, wanted);
    }
  }
  std::string expectation(target_spec const& wanted) const {
    std::string text;
    if (wanted.classes > 0) text = text_of({made_->batch, " x i32"});
    if (wanted.numbers)
      text += text_of({wanted.classes > 0 ? ", or " : "", to_string(wanted.values.batched(made_->batch)),
                       " x ", name_of(element_of<T>)});
    return text;
  }
  static void check_indices(std::size_t t, std::span<std::int32_t const> labels, int classes) {
    for (std::size_t n = 0; n < labels.size(); ++n)
      if (labels[n] < 0 || labels[n] >= classes)
        throw data_error({.what = "a label is out of range",
                          .where = {"target ", t, ", example ", n, " of the batch"},
                          .expected = {"0 to ", classes - 1},
                          .got = {labels[n]}});
  }

  void check_numbers(std::size_t t, target_spec const& wanted) const {
    if (wanted.takes_any_number()) return;
    auto const width = static_cast<std::size_t>(wanted.values.elements());
    std::span<T const> const values = targets_[t].template as<T>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (auto const one = static_cast<double>(values[i]); !(one >= wanted.lowest && one <= wanted.highest))
        throw data_error({.what = "a target is out of range",
                          .where = {"target ", t, ", example ", i / width, " of the batch"},
                          .expected = {wanted.lowest, " to ", wanted.highest},
                          .got = {one}});
  }

  template <class E>
  E const* one_an_example(std::span<E const> values, char const* what) const {
    if (!values.empty() && values.size() != static_cast<std::size_t>(made_->batch))
      throw shape_error({.what = {"the batch has another number of ", what, " than examples"},
                         .expected = {made_->batch},
                         .got = {values.size()}});
    return values.empty() ? nullptr : values.data();
  }

  /// The input itself where a kernel can read it in place, else a copy of the plan's batch and element type, which is brought
  /// to where arenas lie.
  void* staged(std::size_t i, tensor_view const& input) {
    std::int64_t const elements = made_->inputs[i].batched(made_->batch).elements();
    void* here = const_cast<std::byte*>(input.data);
    if (input.type != element_of<T> || examples_ != made_->batch)
      here = converted(staging_[i], input, elements);
    auto const space = passes_.space();
    if (!space) return here;
    std::size_t const bytes = static_cast<std::size_t>(elements) * sizeof(T);
    brought_[i].resize(bytes, space);
    passes_.bring(static_cast<std::byte const*>(here), brought_[i].data(), bytes);
    return brought_[i].data();
  }

  /// An output where its reader can see it.
  std::byte const* on_host(std::byte const* lies, std::size_t which) const {
    if (!passes_.space()) return lies;
    std::size_t const bytes =
        static_cast<std::size_t>(made_->outputs[which].batched(made_->batch).elements()) * sizeof(T);
    fetched_[which].resize(bytes);
    passes_.fetch(lies, fetched_[which].data(), bytes);
    return fetched_[which].data();
  }

  /// A copy in the backend's type, filled up with zeros to `whole` elements.
  static T* converted(buffer& memory, tensor_view const& from, std::int64_t whole) {
    auto const size = static_cast<std::size_t>(whole), count = static_cast<std::size_t>(from.dims.elements());
    if (memory.bytes() == 0) memory = buffer(size * sizeof(T));
    T* const to = memory.template as<T>();
    if (from.type == element_type::f32)
      std::copy_n(reinterpret_cast<float const*>(from.data), count, to);
    else
      std::copy_n(reinterpret_cast<T const*>(from.data), count, to);
    std::fill(to + count, to + size, T(0));
    return to;
  }

  std::shared_ptr<compiled<B> const> made_;
  arena_passes& passes_;
  context_memory own_memory_;
  context_memory& memory_;
  std::byte* arena_ = nullptr;  // that calls are bound to
  buffer own_gradients_;
  std::byte* gradients_;
  std::vector<buffer> staging_;
  std::vector<reusable_buffer> brought_;          // inputs, where arenas lie
  mutable std::vector<reusable_buffer> fetched_;  // outputs, where their reader is
  std::vector<buffer> target_staging_;
  std::vector<tensor_view> targets_;
  buffer losses_;  // a loss_sum of each target
  step_scalars scalars_;
  std::vector<bound> forward_;
  std::vector<bound> backward_;
  std::vector<outside> outside_;
  int examples_ = 0;
  bool accumulate_ = false;
  bool profiling_ = false;
  std::vector<double> seconds_;
  std::vector<std::int64_t> calls_;
};

}  // namespace cohort::detail
