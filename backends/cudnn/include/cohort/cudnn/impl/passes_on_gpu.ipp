// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/passes_on_gpu.hpp>
#include <cohort/cudnn/detail/recorded_work.hpp>
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// Calls visit.operator()<Rule>() with the update formula of an optimizer.
template <class Visit>
void with_formula(update_rule rule, Visit visit) {
  switch (rule) {
    case update_rule::sgd:
    case update_rule::no_op:
      return visit.template operator()<kernels::sgd>();
    case update_rule::momentum:
    case update_rule::lars:
      return visit.template operator()<kernels::momentum>();
    case update_rule::nesterov:
      return visit.template operator()<kernels::nesterov>();
    case update_rule::adam:
      return visit.template operator()<kernels::adam>();
    case update_rule::adamw:
    case update_rule::lamb:
      return visit.template operator()<kernels::adamw>();
    case update_rule::amsgrad:
      return visit.template operator()<kernels::amsgrad>();
    case update_rule::adamax:
      return visit.template operator()<kernels::adamax>();
    case update_rule::nadam:
      return visit.template operator()<kernels::nadam>();
    case update_rule::adabelief:
      return visit.template operator()<kernels::adabelief>();
    case update_rule::adagrad:
      return visit.template operator()<kernels::adagrad>();
    case update_rule::adadelta:
      return visit.template operator()<kernels::adadelta>();
    case update_rule::rmsprop:
      return visit.template operator()<kernels::rmsprop>();
    case update_rule::lion:
      return visit.template operator()<kernels::lion>();
    case update_rule::own:
      break;  // refused by parameter_update
  }
}

void passes_on_gpu::upload(std::byte const* host, std::byte* to, std::size_t bytes) {
  on_->upload(host, to, bytes);
}

void passes_on_gpu::download(std::byte const* from, std::byte* host, std::size_t bytes) {
  on_->download(from, host, bytes);
}

std::function<void()> passes_on_gpu::record(std::function<void()> const& work) {
  CUgraphExec const made = on_->record(work);
  if (!made) return {};
  auto const kept = std::make_shared<recorded_work>(on_, made);
  return [kept] { kept->run(); };
}

void passes_on_gpu::copy(std::byte const* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0) on_->copy(from, to, bytes);
}

void passes_on_gpu::fill(std::byte* arena, std::size_t begin, std::size_t n, double value) {
  on_->launch(kernels::fill{at(arena, begin), static_cast<float>(value)}, n);
}

void passes_on_gpu::add(std::byte const* from, std::byte* to, std::size_t n) {
  on_->launch(kernels::add_to{at(from, 0), at(to, 0)}, n);
}

void passes_on_gpu::scale(std::byte* x, std::size_t n, double factor) {
  if (factor == 0) return fill(x, 0, n, 0);
  on_->launch(kernels::scale{at(x, 0), static_cast<float>(factor)}, n);
}

void passes_on_gpu::join(std::span<std::byte* const> parts, std::size_t begin, std::size_t n) {
  for (std::byte* const part : parts.subspan(1)) {
    on_->launch(kernels::add_to{at(part, begin), at(parts[0], begin)}, n);
    on_->launch(kernels::fill{at(part, begin), 0}, n);
  }
}

bool passes_on_gpu::finite(element_type type, std::byte const* x, std::size_t n) {
  std::lock_guard const one_at_a_time(mutex_);
  unsigned found = 0;
  results_.resize(sizeof found, on_);
  auto* const flag = reinterpret_cast<unsigned*>(results_.data());
  on_->clear(results_.data(), sizeof found);
  if (type == element_type::bf16)
    on_->launch(kernels::find_not_finite_bf16{reinterpret_cast<unsigned short const*>(x), flag}, n);
  else
    on_->launch(kernels::find_not_finite{at(x, 0), flag}, n);
  on_->download(results_.data(), &found, sizeof found);
  return found == 0;
}

void passes_on_gpu::square_sums(std::span<std::byte* const> parts, std::size_t begin, std::size_t n,
                                double* sums) {
  join(parts, begin, n);
  download_sums(n, sums, [&](double* to) { return kernels::square_sums{at(parts[0], begin), to}; });
}

void passes_on_gpu::step_square_sums(optimizer_rule const& rule, update_scalars const& now, std::byte* master,
                                     std::span<std::byte* const> parts, std::span<std::byte* const> state,
                                     std::size_t begin, std::size_t n, double* sums) {
  join(parts, begin, n);
  auto const step = step_of<kernels::adamw>(constants_at_rate_1(rule, now), master, parts, state, begin);
  download_sums(n, sums, [&](double* to) { return kernels::step_square_sums{step, to}; });
}

void passes_on_gpu::update(std::span<update_range const> ranges, std::byte* master,
                           std::span<std::byte* const> parts, std::span<std::byte* const> state) {
  for (update_range const& one : ranges) join(parts, one.begin, one.n);
  for (; !ranges.empty(); ranges = ranges.subspan(std::min(ranges.size(), max_ranges))) {
    auto const these = ranges.first(std::min(ranges.size(), max_ranges));
    for (auto first = these.begin(); first != these.end(); ++first) {
      auto const has_same_rule = [&](update_range const& one) {
        return one.rule->rule() == first->rule->rule();
      };
      if (std::any_of(these.begin(), first, has_same_rule)) continue;
      with_formula(first->rule->rule(), [&]<class Rule>() {
        kernels::update_parts<Rule> all{};
        std::size_t n = 0;
        for (update_range const& one : these) {
          if (!has_same_rule(one)) continue;
          all.begin[all.count] = n;
          all.part[all.count++] =
              step_of<Rule>(constants_of(*one.rule, one.now), master, parts, state, one.begin);
          n += one.n;
        }
        on_->launch(all, n);
      });
    }
  }
}

void passes_on_gpu::merge_statistics(std::byte const* means, std::byte const* variances, double const* weight,
                                     batch_moments* to, std::size_t n) {
  on_->launch(kernels::merge_statistics{at(means, 0), at(variances, 0), weight,
                                        reinterpret_cast<kernels::batch_moments*>(to)},
              n);
}

void passes_on_gpu::merge_moments(batch_moments const* from, batch_moments* to, std::size_t n) {
  on_->launch(kernels::merge_moments{reinterpret_cast<kernels::batch_moments const*>(from),
                                     reinterpret_cast<kernels::batch_moments*>(to)},
              n);
}

void passes_on_gpu::follow_statistics(std::byte* master, std::size_t mean, std::size_t variance,
                                      batch_moments const* batch, std::size_t n, double kept) {
  on_->launch(kernels::follow_statistics{at(master, mean), at(master, variance),
                                         reinterpret_cast<kernels::batch_moments const*>(batch), kept},
              n);
}

float const* passes_on_gpu::at(std::byte const* arena, std::size_t begin) {
  return reinterpret_cast<float const*>(arena) + begin;
}

}  // namespace cohort::detail
