// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/detail/command.hpp>
#include <cohort/plan/detail/step_inputs.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Data that a plan and its contexts share; it exists until the plan and all contexts are destroyed.
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
class bound_context final : public plan_context {
 public:
  using T = typename B::scalar;

  bound_context(std::shared_ptr<compiled<B> const> made, std::byte* gradients, context_memory* memory)
      : made_(std::move(made)),
        passes_(made_->store->passes()),
        memory_(memory ? *memory : own_memory_),
        own_gradients_(made_->training && !gradients ? made_->store->arena_bytes() : 0, passes_.space()),
        gradients_(gradients ? gradients : own_gradients_.data()),
        inputs_(made_->inputs, made_->code.targets, made_->batch, made_->training, passes_,
                made_->code.masks),
        host_outputs_(made_->outputs.size()),
        host_input_gradients_(made_->code.input_gradient_slots.size()),
        losses_(made_->code.targets.size() * sizeof(loss_sum), passes_.results()) {
    memory_.arena.resize(made_->code.arena_bytes, passes_.space());
    bind();
  }

  void forward(forward_request const& request) override {
    inputs_.load(request);
    if (arena_ != memory_.arena.data()) bind();
    for (std::size_t i = 0; i < request.inputs.size(); ++i) point(static_cast<int>(i), inputs_.input(i));
    std::size_t const before = request.finish_late ? first_use(request.first_late) : 0;
    run(forward_, 0, before);
    if (request.finish_late) (*request.finish_late)();
    run(forward_, before, forward_.size());
  }

  double loss() const override {
    passes_.wait();
    double sum = 0;
    for (loss_sum const& one : std::span(losses_.as<loss_sum>(), made_->code.targets.size())) sum += one.sum;
    return sum;
  }

  void backward(backward_request const& request) override {
    inputs_.scale(request.gradient_scale);
    accumulate_ = request.accumulate;
    statistics_ = request.statistics;
    load_output_gradients(request);
    std::size_t done = 0;
    if (request.ready && *request.ready)
      for (completion const& c : made_->code.completions) {
        run(backward_, done, static_cast<std::size_t>(c.after));
        done = static_cast<std::size_t>(c.after);
        (*request.ready)(made_->store->buckets()[static_cast<std::size_t>(c.bucket)]);
      }
    run(backward_, done, backward_.size());
  }

  tensor_view output(int which) const override {
    if (which < 0 || static_cast<std::size_t>(which) >= made_->code.output_slots.size())
      throw setting_error({.what = "the plan has no output with this index",
                           .expected = {"an index below ", made_->code.output_slots.size(),
                                        made_->training ? ", the number of outputs of a plan for training"
                                                        : ", the number of outputs"},
                           .got = {which}});
    auto const index = static_cast<std::size_t>(which);
    std::byte const* const host =
        on_host(slot_address(made_->code.output_slots[index]), made_->outputs[index], host_outputs_[index]);
    return {reinterpret_cast<T const*>(host), made_->outputs[index].batched(inputs_.examples())};
  }

  tensor_view input_gradient(int which) const override {
    std::vector<int> const& slots = made_->code.input_gradient_slots;
    if (which < 0 || static_cast<std::size_t>(which) >= slots.size())
      throw setting_error({.what = "the plan has no gradient of an input with this index",
                           .expected = {"an index below ", slots.size()},
                           .got = {which}});
    auto const index = static_cast<std::size_t>(which);
    shape const dims = made_->inputs[index].batched(made_->batch);
    reusable_buffer& copy = host_input_gradients_[index];
    if (slots[index] >= 0)
      return {reinterpret_cast<T const*>(on_host(slot_address(slots[index]), made_->inputs[index], copy)),
              dims};
    auto const bytes = static_cast<std::size_t>(dims.elements()) * sizeof(T);
    copy.resize(bytes);
    std::memset(copy.data(), 0, bytes);
    return {reinterpret_cast<T const*>(copy.data()), dims};
  }

  std::string first_non_finite() override {
    inputs_.scalars().sums = nullptr;  // sums need all workers, which do not run forward again
    for (bound_input const& o : bound_inputs_) {
      auto const& dims = made_->inputs[static_cast<std::size_t>(o.input)];
      auto const count = static_cast<std::size_t>(dims.batched(made_->batch).elements());
      if (!passes_.finite(element_of<T>, static_cast<std::byte const*>(o.now), count)) return "the input";
    }
    for (std::size_t c = 0; c < forward_.size(); ++c) {
      call(forward_, c, c + 1);
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
  /// Addresses of the batch statistics that a call writes, and the channels in batch_statistics.
  struct bound_statistics {
    std::byte const *means, *variances;
    int mask;
    std::size_t first, channels;
  };
  struct bound {
    typename B::call call;
    int row;
    std::vector<int> gradients;  ///< parameters whose gradients the call overwrites
    std::vector<bound_statistics> statistics;
  };
  /// Argument that is an input of the batch, set at each step.
  struct bound_input {
    bound* command;
    std::size_t argument;
    int input;
    void* now;
  };

  /// Sequence of calls recorded on a device. Valid until its addresses change; the data there may change.
  struct recording {
    std::vector<bound> const* calls;
    std::size_t first, last;
    bool accumulates;
    std::uint64_t version;
    std::byte const* sums;
    batch_moments* statistics;
    bool done = false;
    int tries = 2;
    std::function<void()> replay{};
  };

  void bind() {
    recordings_.clear();
    arena_ = memory_.arena.data();
    bound_inputs_.clear();
    bind(made_->code.forward, forward_);
    bind(made_->code.backward, backward_);
  }
  void bind(std::vector<command<B>> const& from, std::vector<bound>& to) {
    to.clear();
    to.reserve(from.size());  // bound_inputs_ stores addresses of elements of `to`
    for (command<B> const& c : from) {
      std::vector<void*> addresses;
      bound b{{B::bind(c.kernel, resolve(c.arguments, addresses))}, c.row, {}, {}};
      for (written_statistics const& one : c.statistics)
        b.statistics.push_back({static_cast<std::byte const*>(addresses[one.means]),
                                static_cast<std::byte const*>(addresses[one.variances]), one.mask, one.first,
                                one.channels});
      for (address const& a : c.arguments)
        if (a.where == place::gradient && !c.accumulates) b.gradients.push_back(a.index);
      to.push_back(std::move(b));
      for (std::size_t i = 0; i < c.arguments.size(); ++i)
        if (c.arguments[i].where == place::input)
          bound_inputs_.push_back({&to.back(), i, c.arguments[i].index, nullptr});
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
          at = &inputs_.scalars();
          break;
        case place::target:
          at = &inputs_.target(index);
          break;
        case place::mask:
          at = &inputs_.mask(index);
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
    for (bound_input& o : bound_inputs_)
      if (o.input == input && o.now != to) {
        recordings_.clear();
        o.command->call.set(o.argument, to);
        o.now = to;
      }
  }

  /// Index of the first call of forward that uses a parameter with this index or a higher one.
  std::size_t first_use(int parameter) {
    if (parameter == first_use_parameter_) return first_use_;
    auto const uses_them = [&](address const& a) {
      return (a.where == place::copy && made_->store->parameter_of_copy(a.index) >= parameter)
             || (a.where == place::parameter && a.index >= parameter);
    };
    auto const& calls = made_->code.forward;
    auto const first = std::ranges::find_if(
        calls, [&](command<B> const& c) { return std::ranges::any_of(c.arguments, uses_them); });
    first_use_parameter_ = parameter;
    return first_use_ = static_cast<std::size_t>(first - calls.begin());
  }

  /// Runs calls. On a device, the first run is direct; then the calls are recorded and replayed, if possible.
  void run(std::vector<bound>& calls, std::size_t first, std::size_t last) {
    if (first == last) return;
    if (!passes_.space() || profiling_) return call(calls, first, last);
    recording& it = find_recording(calls, first, last);
    if (it.done && it.tries > 0) {
      --it.tries;
      it.replay = passes_.record([&] { call(calls, first, last); });
      if (it.replay) it.tries = 0;
    }
    it.replay ? it.replay() : call(calls, first, last);
    it.done = true;
  }
  recording& find_recording(std::vector<bound> const& calls, std::size_t first, std::size_t last) {
    bool const accumulates = accumulate_ && &calls == &backward_;
    auto const is_it = [&](recording const& one) {
      return one.calls == &calls && one.first == first && one.last == last && one.accumulates == accumulates;
    };
    recording const now{&calls,     first, last, accumulates, inputs_.version(), memory_.sums.data(),
                        statistics_};
    auto const found = std::ranges::find_if(recordings_, is_it);
    if (found == recordings_.end()) return recordings_.emplace_back(now);
    if (found->version != now.version || found->sums != now.sums || found->statistics != now.statistics)
      *found = now;
    return *found;
  }

  void call(std::vector<bound>& calls, std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      bound& one = calls[c];
      bool const accumulates = accumulate_ && &calls == &backward_ && !one.gradients.empty();
      if (accumulates) save_sums(one.gradients);
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
      if (statistics_)
        for (bound_statistics const& of : one.statistics)
          passes_.merge_statistics(of.means, of.variances, inputs_.part_weight(of.mask),
                                   statistics_ + of.first, of.channels);
      if (accumulates) add_saved_sums(one.gradients);
    }
  }

  /// Saves gradients before a kernel overwrites them. add_saved_sums adds the saved gradients later
  /// (accumulation).
  void save_sums(std::vector<int> const& parameters) {
    memory_.sums.resize(made_->code.saved_gradient_bytes, passes_.space());
    std::byte* to = memory_.sums.data();
    for (int p : parameters) {
      passes_.copy(made_->store->parameter_data(p, gradients_), to, bytes_of_parameter(p));
      to += bytes_of_parameter(p);
    }
  }
  void add_saved_sums(std::vector<int> const& parameters) {
    std::byte const* from = memory_.sums.data();
    for (int p : parameters) {
      passes_.add(from, made_->store->parameter_data(p, gradients_), bytes_of_parameter(p) / sizeof(T));
      from += bytes_of_parameter(p);
    }
  }
  std::size_t bytes_of_parameter(int p) const {
    return made_->store->table()[static_cast<std::size_t>(p)].room * sizeof(T);
  }

  std::byte* slot_address(int slot) const {
    return arena_ + made_->code.slots[static_cast<std::size_t>(slot)].offset;
  }

  /// Writes the gradients of the outputs, times their scale, to their slots.
  void load_output_gradients(backward_request const& request);

  /// Returns the address of a dense slot's content in the processor's memory; downloads it to `copy` if
  /// necessary. `example`: its shape without the batch.
  std::byte const* on_host(std::byte const* device_address, shape const& example,
                           reusable_buffer& copy) const {
    if (!passes_.space()) return device_address;
    std::size_t const bytes = static_cast<std::size_t>(example.batched(made_->batch).elements()) * sizeof(T);
    copy.resize(bytes);
    passes_.download(device_address, copy.data(), bytes);
    return copy.data();
  }

  std::shared_ptr<compiled<B> const> made_;
  arena_passes& passes_;
  context_memory own_memory_;
  context_memory& memory_;
  std::byte* arena_ = nullptr;  // address to which calls are bound
  buffer own_gradients_;
  std::byte* gradients_;
  step_inputs<T> inputs_;
  mutable std::vector<reusable_buffer> host_outputs_;  // copies of outputs on the host
  mutable std::vector<reusable_buffer> host_input_gradients_;
  reusable_buffer host_gradient_;  // of an output, before its upload
  buffer losses_;                  // one loss_sum per target
  std::vector<bound> forward_;
  std::vector<bound> backward_;
  std::vector<bound_input> bound_inputs_;
  std::vector<recording> recordings_;
  int first_use_parameter_ = -1;  // the parameter for which first_use_ is valid
  std::size_t first_use_ = 0;
  bool accumulate_ = false;
  batch_moments* statistics_ = nullptr;  // statistics of the last backward
  bool profiling_ = false;
  std::vector<double> seconds_;
  std::vector<std::int64_t> calls_;
};

}  // namespace cohort::detail

#include <cohort/plan/impl/bound_context.tpp>
