// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/training/detail/fit_memory.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

run_memory memory_of_fit(training_state& run, dataset const& data, fit_settings const& how) {
  check_batch(how);
  worker_group& workers = *run.workers;
  int const micro_batch = workers.micro_batch_size(how.batch, how.accumulate);
  bool const accumulates = how.accumulate > 1;
  auto const made = workers.plan_for({.examples = micro_batch, .accumulates = accumulates});
  run_memory all = memory_of_workers(*made, workers.size(), accumulates);
  if (run.averaged) all.parameters += run.averaged->parameters->arena_bytes();
  all.optimizer_state = run.update().bytes();
  if (!accumulates) all.gradients -= run.exchange_strategy->freed_gradients(run.parameters());
  if (run.update().frees_parameters())
    all.parameters -= run.exchange_strategy->freed_parameters(run.parameters());
  all.exchange = run.exchange_strategy->bytes(run.current_replica());
  add_examples(all, data.describe(), run.parameters(), how.batch, how.prefetch + 1, workers.size(),
               micro_batch);
  return all;
}

std::string text_of(std::span<rank_memory const> ranks) {
  auto const has_less = [](auto const& a, auto const& b) { return a.bytes < b.bytes; };
  auto const largest = std::ranges::max_element(ranks, has_less);  // the first one of several
  if (ranks.size() == 1) return largest->parts;
  bool const all_equal =
      std::ranges::all_of(ranks, [&](rank_memory const& one) { return one.bytes == largest->bytes; });
  std::vector<rank_memory> hosts;
  for (rank_memory const& one : ranks) {
    auto const known = std::ranges::find(hosts, one.host, &rank_memory::host);
    if (known == hosts.end())
      hosts.push_back({.host = one.host, .bytes = one.bytes, .parts = {}});
    else
      known->bytes += one.bytes;
  }
  std::ranges::stable_sort(hosts, std::ranges::greater{}, &rank_memory::bytes);
  std::string text = all_equal ? text_of({largest->parts, "; the same on each of ", ranks.size(), " ranks"})
                               : text_of({largest->parts, "; this is rank ", largest - ranks.begin(),
                                          ", the largest of ", ranks.size(), " ranks"});
  constexpr std::size_t most_hosts = 8;
  std::size_t const named = std::min(hosts.size(), most_hosts);
  for (std::size_t k = 0; k < named; ++k)
    text += text_of({k == 0 ? "; sums of the hosts: " : ", ", hosts[k].host, ' ',
                     in_bytes(static_cast<double>(hosts[k].bytes))});
  if (hosts.size() > named) text += text_of({" and ", hosts.size() - named, " more hosts"});
  return text;
}

/// Gathers the memory of all ranks. Collective.
std::vector<rank_memory> memory_of_ranks(communicator& world, rank_memory const& here) {
  std::vector<rank_memory> ranks;
  for (std::string const& text :
       texts_of_all(world, "fit", text_of({here.bytes, '\n', here.host, '\n', here.parts}))) {
    std::size_t const first = text.find('\n'), second = text.find('\n', first + 1);
    rank_memory& one = ranks.emplace_back();
    std::from_chars(text.data(), text.data() + first, one.bytes);
    one.host = text.substr(first + 1, second - first - 1);
    one.parts = text.substr(second + 1);
  }
  return ranks;
}

void log_memory(training_state& run, plan const& made, dataset const& data, fit_settings const& how) {
  // All ranks have the same batch and the same number of micro-batches, so all ranks gather in the same
  // calls.
  std::pair const now(how.batch, how.accumulate);
  bool const is_single = run.world->size() == 1;
  if (run.logged_memory == now || (is_single && !run.settings.log)) return;
  run.logged_memory = now;
  run_memory const memory = memory_of_fit(run, data, how);
  std::string const again = text_of(made.recomputed());
  rank_memory const here{.host = host_name(),
                         .bytes = memory.total(),
                         .parts = text_of({cohort::text_of(memory, run.workers->size(), how.accumulate),
                                           again.empty() ? "" : "; recomputation: ", again})};
  std::vector<rank_memory> const ranks =
      is_single ? std::vector<rank_memory>{here} : memory_of_ranks(*run.world, here);
  if (run.settings.log) run.settings.log(text_of(ranks));
}

}  // namespace cohort::detail
