// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/dissemination_barrier.hpp>
#include <cohort/communicator/detail/message_communicator.hpp>
#include <cohort/communicator/detail/messages.hpp>
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_allgatherv.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cohort/communicator/detail/tree_broadcast.hpp>
#include <numeric>
#include <utility>
#include <vector>

namespace cohort::detail {

message_communicator::message_communicator(std::shared_ptr<engine> shared_engine,
                                           std::shared_ptr<rank_group const> ranks)
    : engine_(std::move(shared_engine)), ranks_(std::move(ranks)) {}

pending_operation message_communicator::start_broadcast(elements data, int root) {
  check_rank("a broadcast", root);
  return collective("broadcast", tree_broadcast, data, reduction::sum, 0, root);
}

pending_operation message_communicator::start_allreduce(elements data, reduction how) {
  return start_allreduce(data, how, choose_allreduce_algorithm(data.bytes(), size()));
}

pending_operation message_communicator::start_allreduce(elements data, reduction how,
                                                        allreduce_algorithm algorithm) {
  return collective("allreduce", advance_of(algorithm), data, how,
                    scratch_of(algorithm, *engine_, data, size()));
}

pending_operation message_communicator::start_reduce_scatter(elements data, reduction how) {
  return collective("reduce_scatter", ring_reduce_scatter, data, how,
                    scratch_of_ring(*engine_, data, size()));
}

pending_operation message_communicator::start_allgather(elements data) {
  return collective("allgather", ring_allgather, data, reduction::sum);
}

pending_operation message_communicator::start_allgatherv(std::span<std::byte const> mine, gathered& all) {
  all.first.resize(ranks_->members.size() + 1);
  all.first[static_cast<std::size_t>(rank()) + 1] = mine.size();
  elements const sizes(std::span(all.first).subspan(1));
  return start("allgatherv", ring_allgatherv, channel::collective, 0, [&](task& t) {
    t.data = sizes;
    t.mine = mine;
    t.all = &all;
  });
}

pending_operation message_communicator::start_barrier() {
  return collective("barrier", dissemination_barrier, {}, reduction::sum);
}

pending_operation message_communicator::start_send(std::span<std::byte const> data, int to, int tag) {
  check_rank("a message", to);
  return message("send", send_message, to, tag, [&](task& t) { t.mine = data; });
}

pending_operation message_communicator::start_receive(std::span<std::byte> data, int from, int tag) {
  check_rank("a message", from);
  return message("receive", receive_message, from, tag, [&](task& t) {
    t.data = {data.data(), element_type::u8, data.size()};
  });
}

std::optional<arrival> message_communicator::probe(int from, int tag) {
  return probe_message("probe", probe_once, from, tag);
}

arrival message_communicator::wait_for_message(int from, int tag) {
  return *probe_message("wait_for_message", probe_until_found, from, tag);
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

pending_operation message_communicator::collective(std::string_view name, bool (*advance)(task&),
                                                   elements data, reduction how, std::size_t scratch,
                                                   int root) {
  if (data.space)
    throw setting_error({.what = "this communicator cannot access device memory",
                         .where = {this->name(), ", ", name},
                         .expected = "elements in host memory"});
  return start(name, advance, channel::collective, scratch, [&](task& t) {
    t.data = data;
    t.how = how;
    t.peer = root;
  });
}

std::optional<arrival> message_communicator::probe_message(std::string_view name, bool (*advance)(task&),
                                                           int from, int tag) {
  if (from != any_source) check_rank("a probe", from);
  task* looking = nullptr;
  pending_operation under_way = message(name, advance, from, tag, [&](task& t) { looking = &t; });
  pending_operation const held = under_way;
  under_way.wait();
  auto const& found = looking->found;
  if (!found) return std::nullopt;
  auto const& all = ranks_->members;
  return arrival{static_cast<int>(std::find(all.begin(), all.end(), found->from) - all.begin()), tag,
                 found->bytes};
}

void message_communicator::check_rank(char const* what, int rank) const {
  if (rank < 0 || rank >= size())
    throw setting_error(
        {.what = {what, " has a rank out of range"}, .expected = {"0 to ", size() - 1}, .got = {rank}});
}

}  // namespace cohort::detail
