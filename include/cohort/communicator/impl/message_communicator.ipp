// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/allreduce_parts.hpp>
#include <cohort/communicator/detail/message_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

message_communicator::message_communicator(std::shared_ptr<engine> shared_engine,
                                           std::shared_ptr<rank_group const> ranks)
    : engine_(std::move(shared_engine)), ranks_(std::move(ranks)) {}

pending_operation message_communicator::start_broadcast(elements data, int root) {
  check_rank("a broadcast", root);
  return start_collective("broadcast", tree_broadcast{check_memory("broadcast", data), root});
}

pending_operation message_communicator::start_allreduce(elements data, reduction how) {
  return start_allreduce(data, how, choose_allreduce_algorithm(data.bytes(), size()));
}

pending_operation message_communicator::start_allreduce(elements data, reduction how,
                                                        allreduce_algorithm algorithm,
                                                        allreduce_phase phase) {
  check_memory("allreduce", data);
  if (algorithm == allreduce_algorithm::ring)
    return start_collective("allreduce", ring_allreduce{data, how, phase});
  if (algorithm == allreduce_algorithm::halving)
    return start_collective("allreduce", recursive_halving{{data, how}, phase});
  return start_collective("allreduce", recursive_doubling{{data, how}});
}

pending_operation message_communicator::start_reduce_scatter_phase(elements data, reduction op) {
  bool const has_parts = !parts_of_allreduce(data.type, data.count, rank(), size()).empty();
  return start_allreduce(data, op, choose_allreduce_algorithm(data.bytes(), size()),
                         has_parts ? allreduce_phase::reduce_scatter : allreduce_phase::both);
}

pending_operation message_communicator::start_allgather_phase(elements data) {
  if (parts_of_allreduce(data.type, data.count, rank(), size()).empty()) return {};
  return start_allreduce(data, reduction::sum, choose_allreduce_algorithm(data.bytes(), size()),
                         allreduce_phase::allgather);
}

pending_operation message_communicator::start_reduce_scatter(elements data, reduction how) {
  return start_collective("reduce_scatter", ring_reduce_scatter{check_memory("reduce_scatter", data), how});
}

pending_operation message_communicator::start_allgather(elements data) {
  return start_collective("allgather", ring_allgather{check_memory("allgather", data)});
}

pending_operation message_communicator::start_allgatherv(std::span<std::byte const> mine, gathered& all) {
  all.first.resize(ranks_->members.size() + 1);
  all.first[static_cast<std::size_t>(rank()) + 1] = mine.size();
  return start_collective("allgatherv", ring_allgatherv{{std::span(all.first).subspan(1)}, mine, &all});
}

pending_operation message_communicator::start_barrier() {
  return start_collective("barrier", dissemination_barrier{});
}

pending_operation message_communicator::start_send(std::span<std::byte const> data, int to, int tag) {
  check_rank("a message", to);
  return pending_operation(start_message("send", on_wire(to), tag, message_send{data, to}));
}

pending_operation message_communicator::start_receive(std::span<std::byte> data, int from, int tag) {
  check_rank("a message", from);
  return pending_operation(start_message("receive", on_wire(from), tag, message_receive{data, from}));
}

std::optional<arrival> message_communicator::probe(int from, int tag) {
  return probe_message("probe", tag, {from});
}

arrival message_communicator::wait_for_message(int from, int tag) {
  return *probe_message("wait_for_message", tag, {from, true});
}

std::unique_ptr<communicator> message_communicator::split(int color, int order) {
  constexpr std::size_t entries = 3;  // per rank: color, order, first free context
  auto const ranks = ranks_->members.size();
  auto const me = static_cast<std::size_t>(rank());
  std::vector<std::int64_t> table(entries * ranks);
  std::uint32_t context = 0;
  for (std::uint8_t taken = 1; taken != 0;) {  // repeats while another thread reserves the context
    table[entries * me] = color;
    table[entries * me + 1] = order;
    table[entries * me + 2] = engine_->next_context();
    allgather(std::span(table));
    for (std::size_t r = 0; r < ranks; ++r)
      context = std::max(context, static_cast<std::uint32_t>(table[entries * r + 2]));
    if (context > largest_context)
      throw setting_error({.what = "split and duplicate have made too many communicators",
                           .expected = {"at most ", largest_context, " in one run"}});
    taken = engine_->reserve_context(context) ? 0 : 1;
    allreduce(std::span(&taken, 1), reduction::maximum);
  }
  auto const order_of = [&](int r) { return table[entries * static_cast<std::size_t>(r) + 1]; };
  std::vector<int> here;
  for (int r = 0; r < size(); ++r) {
    if (table[entries * static_cast<std::size_t>(r)] != color) continue;
    auto const after =
        std::find_if(here.begin(), here.end(), [&](int h) { return order_of(h) > order_of(r); });
    here.insert(after, r);
  }
  auto const its = std::make_shared<rank_group>();
  its->context = context;
  its->rank = static_cast<int>(std::find(here.begin(), here.end(), rank()) - here.begin());
  for (int const r : here) its->members.push_back(ranks_->members[static_cast<std::size_t>(r)]);
  return std::make_unique<message_communicator>(engine_, its);
}

int message_communicator::abort(std::string const& why, int exit_status) noexcept {
  try {
    engine_->fail({text_of({"rank ", engine_->wire->rank(), " failed: ", why}), exit_status});
  } catch (...) {
    engine_->fail({});
  }
  engine_->wait_until_abandoned();
  return engine_->failure().exit_status;
}

traffic message_communicator::sent() const {
  return {engine_->bytes_sent.load(), engine_->messages_sent.load(), engine_->progress_seconds()};
}

pending_operation message_communicator::start_collective(std::string_view name, operation value) {
  std::uint32_t const number = started_.fetch_add(1, std::memory_order_relaxed) & ((1U << tag_bits) - 1);
  return pending_operation(engine_->start(
      {name, ranks_, channel::collective, ranks_->context << tag_bits | number}, std::move(value)));
}

std::shared_ptr<task> message_communicator::start_message(std::string_view name, int awaited, int tag,
                                                          operation value) {
  if (tag < 0 || tag > largest_tag)
    throw setting_error(
        {.what = "the tag of a message is out of range", .expected = {"0 to ", largest_tag}, .got = {tag}});
  std::uint32_t const wire_tag = ranks_->context << tag_bits | static_cast<std::uint32_t>(tag);
  return engine_->start({name, ranks_, channel::peer, wire_tag, awaited}, std::move(value));
}

std::optional<arrival> message_communicator::probe_message(std::string_view name, int tag,
                                                           message_probe value) {
  if (value.from != any_source) check_rank("a probe", value.from);
  int const awaited = !value.until_found         ? rank_status::nobody
                      : value.from == any_source ? rank_status::several
                                                 : on_wire(value.from);
  std::shared_ptr<task> const probing = start_message(name, awaited, tag, value);
  probing->wait();
  auto const& found = std::get<message_probe>(probing->running).found;
  if (!found) return std::nullopt;
  auto const& all = ranks_->members;
  return arrival{static_cast<int>(std::find(all.begin(), all.end(), found->from) - all.begin()), tag,
                 found->bytes};
}

elements const& message_communicator::check_memory(std::string_view name, elements const& data) const {
  if (data.space)
    throw setting_error({.what = "this communicator cannot access device memory",
                         .where = {this->name(), ", ", name},
                         .expected = "elements in host memory"});
  return data;
}

void message_communicator::check_rank(char const* what, int rank) const {
  if (rank < 0 || rank >= size())
    throw setting_error(
        {.what = {what, " has a rank out of range"}, .expected = {"0 to ", size() - 1}, .got = {rank}});
}

}  // namespace cohort::detail
