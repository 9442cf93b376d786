// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/plan/detail/step_inputs.hpp>
#include <cohort/training/detail/loss_meter.hpp>
#include <cstddef>
#include <limits>

namespace cohort::detail {

std::vector<int> loss_meter::layers() const {
  std::vector<int> all;
  for (int const loss : net_.with_role(layer_role::loss))
    for (int const input : net_.inputs(loss))
      if (std::ranges::find(all, input) == all.end()) all.push_back(input);
  return all;
}

void loss_meter::add(batch_view const& from, std::int64_t first, plan_context const& done, int offset) {
  std::vector<int> const all = layers(), losses = net_.with_role(layer_role::loss);
  if (losses.empty()) return;
  batch_view const part = from.rows(static_cast<int>(first), done.output(offset).dims[0]);
  for (std::size_t which = 0; which < losses.size(); ++which) {
    std::vector<tensor_view> inputs;
    for (int const input : net_.inputs(losses[which])) {
      auto const output = std::ranges::find(all, input) - all.begin();
      inputs.push_back(done.output(offset + static_cast<int>(output)));
    }
    loss_ += with_real(type_, [&]<class T>(T*) { return sum_of<T>(losses[which], which, inputs, part); });
  }
  weight_ += divisor_.of(part.inputs, part.masks, part.targets, part.weights, part.count);
}

/// The weighted sum of one loss over the examples of `part`. `inputs`: the loss layer's inputs for these
/// examples.
template <class T>
double loss_meter::sum_of(int loss, std::size_t which, std::span<tensor_view const> inputs,
                          batch_view const& part) const {
  kind const& what = net_.kind(loss);
  if (!what.host<T>().forward) return std::numeric_limits<double>::quiet_NaN();
  int const rows = inputs[0].dims[0];
  std::vector<shape> const shapes = net_.input_shapes(loss);
  std::vector<target_spec> const targets{what.target(net_.fields(loss), shapes)};
  auto const passes = passes_on_processor<T>();
  std::vector<std::uint8_t> memory;
  int const begin = net_.input_mask(loss);
  bool const masked = begin >= 0;
  tensor_view const mask = mask_of(net_, begin, part.inputs, part.masks, memory);
  mask_sources sources;
  if (masked) {
    sources.all.push_back({net_[begin].output[0]});
    sources.averaged = 0;
  }
  step_inputs<T> loaded(shapes, targets, rows, true, *passes, sources);  // checks and converts the target
  loaded.load({.inputs = inputs,
               .targets = {&part.targets[which], 1},
               .masks = {&mask, mask.data ? std::size_t{1} : std::size_t{0}},
               .weights = part.weights});
  std::vector<T> output(static_cast<std::size_t>(net_[loss].output.batched(rows).elements()));
  loss_sum sum;
  std::vector<T const*> addresses;
  for (std::size_t i = 0; i < inputs.size(); ++i) addresses.push_back(static_cast<T const*>(loaded.input(i)));
  host_arguments<T> call;
  call.batch = rows;
  call.training = false;
  call.input_shapes = shapes;
  call.output_shape = net_[loss].output;
  call.inputs = addresses.data();
  call.output = output.data();
  call.scalars = &loaded.scalars();
  call.target = &loaded.target(0);
  call.loss = &sum;
  if (masked) call.mask = &loaded.mask(0);
  what.host<T>().forward(net_.fields(loss), call);
  return sum.sum;
}

double loss_meter::mean(communicator& world) const {
  double sums[2]{loss_, weight_};
  world.allreduce(std::span<double>(sums));
  return sums[1] > 0 ? sums[0] / sums[1] : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace cohort::detail
