// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/communicator/detail/dissemination_barrier.hpp>
#include <cohort/communicator/detail/engine.hpp>
#include <cohort/communicator/detail/messages.hpp>
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_allgatherv.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cohort/communicator/detail/task.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/communicator/detail/tree_broadcast.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

/// The collectives and messages of some ranks, over the transport that its relatives share.
///
/// Units     a tag on the wire is (context, number of the collective) or (context, tag of the message), 15 bits each.
class message_communicator final : public communicator {
 public:
  message_communicator(std::shared_ptr<engine> moved_by, std::shared_ptr<rank_group const> ranks)
      : engine_(std::move(moved_by)), ranks_(std::move(ranks)) {}

  std::string_view name() const override { return engine_->wire->name(); }
  int rank() const override { return ranks_->rank; }
  int size() const override { return static_cast<int>(ranks_->members.size()); }
  communicator_settings const& settings() const override { return engine_->settings; }

  request start_broadcast(elements data, int root) override {
    check_rank("a broadcast", root);
    return collective("broadcast", tree_broadcast, data, reduction::sum, 0, root);
  }
  request start_allreduce(elements data, reduction how) override {
    return start_allreduce(data, how, choose_allreduce_algorithm(data.bytes(), size()));
  }
  /// In a way of the caller's choice: the same on every rank.
  request start_allreduce(elements data, reduction how, allreduce_algorithm way) {
    return collective("allreduce", advance_of(way), data, how, scratch_of(way, *engine_, data, size()));
  }
  request start_reduce_scatter(elements data, reduction how) override {
    return collective("reduce_scatter", ring_reduce_scatter, data, how,
                      scratch_of_ring(*engine_, data, size()));
  }
  request start_allgather(elements data) override {
    return collective("allgather", ring_allgather, data, reduction::sum);
  }
  request start_allgatherv(std::span<std::byte const> mine, gathered& all) override {
    all.first.resize(ranks_->members.size() + 1);
    all.first[static_cast<std::size_t>(rank()) + 1] = mine.size();
    elements const sizes(std::span(all.first).subspan(1));
    return start("allgatherv", ring_allgatherv, channel::collective, 0, [&](task& t) {
      t.data = sizes;
      t.mine = mine;
      t.all = &all;
    });
  }
  request start_barrier() override {
    return collective("barrier", dissemination_barrier, {}, reduction::sum);
  }

  request start_send(std::span<std::byte const> data, int to, int tag) override {
    check_rank("a message", to);
    return message("send", send_message, to, tag, [&](task& t) { t.mine = data; });
  }
  request start_receive(std::span<std::byte> data, int from, int tag) override {
    check_rank("a message", from);
    return message("receive", receive_message, from, tag, [&](task& t) {
      t.data = {data.data(), element_type::u8, data.size()};
    });
  }
  std::optional<arrival> probe(int from, int tag) override {
    return looked_for("probe", look_for_message, from, tag);
  }
  arrival wait_for_message(int from, int tag) override {
    return *looked_for("wait_for_message", await_message, from, tag);
  }

  std::unique_ptr<communicator> split(int color, int order) override {
    constexpr std::size_t entries = 3;  // of each rank: color, order, the first context that it could give
    auto const ranks = ranks_->members.size();
    auto const me = static_cast<std::size_t>(rank());
    std::vector<std::int64_t> table(entries * ranks);
    std::uint32_t context = 0;
    for (std::uint8_t taken = 1; taken != 0;) {  // again where another thread's relative came in between
      table[entries * me] = color;
      table[entries * me + 1] = order;
      table[entries * me + 2] = engine_->next_context();
      allgather(std::span(table));
      for (std::size_t r = 0; r < ranks; ++r)
        context = std::max(context, static_cast<std::uint32_t>(table[entries * r + 2]));
      if (context > largest_context)
        throw setting_error({.what = "too many communicators were split off",
                             .expected = {"at most ", largest_context, " in one run"}});
      taken = engine_->take_context(context) ? 0 : 1;
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
  std::unique_ptr<communicator> duplicate() override { return split(0, rank()); }

  void abort(std::string const& why) noexcept override {
    try {
      engine_->fail(text_of({"rank ", engine_->wire->rank(), " cannot go on: ", why}));
    } catch (...) {
      engine_->fail({});
    }
    engine_->wait_until_abandoned();
  }
  void note(rank_progress here) noexcept override { engine_->wire->note(here); }
  traffic sent() const override {
    return {engine_->bytes_sent.load(), engine_->messages_sent.load(), engine_->progress_seconds()};
  }

 private:
  static constexpr int tag_bits = 15;
  static constexpr std::uint32_t largest_context = (1U << tag_bits) - 1;
  static_assert(largest_tag < 1 << tag_bits);

  template <class Describe>
  request start(std::string_view name, bool (*advance)(task&), channel on, std::size_t scratch,
                Describe describe) {
    return request(engine_->start(scratch, [&](task& t) {
      t.name = name;
      t.advance = advance;
      t.ranks = ranks_;
      t.on = on;
      if (on == channel::collective)
        t.tag = ranks_->context << tag_bits | (started_++ & ((1U << tag_bits) - 1));
      describe(t);
    }));
  }
  request collective(std::string_view name, bool (*advance)(task&), elements data, reduction how,
                     std::size_t scratch = 0, int root = 0) {
    if (data.space)
      throw setting_error({.what = "messages do not reach the memory of a device",
                           .where = {this->name(), ", ", name},
                           .expected = "elements in the processor's memory"});
    return start(name, advance, channel::collective, scratch, [&](task& t) {
      t.data = data;
      t.how = how;
      t.peer = root;
    });
  }
  template <class Describe>
  request message(std::string_view name, bool (*advance)(task&), int peer, int tag, Describe describe) {
    if (tag < 0 || tag > largest_tag)
      throw setting_error(
          {.what = "a message cannot have this tag", .expected = {"0 to ", largest_tag}, .got = {tag}});
    return start(name, advance, channel::peer, 0, [&](task& t) {
      t.peer = peer;
      t.tag = ranks_->context << tag_bits | static_cast<std::uint32_t>(tag);
      describe(t);
    });
  }

  std::optional<arrival> looked_for(std::string_view name, bool (*advance)(task&), int from, int tag) {
    if (from != any_source) check_rank("a probe", from);
    task* looking = nullptr;
    request under_way = message(name, advance, from, tag, [&](task& t) { looking = &t; });
    request const held = under_way;
    under_way.wait();
    auto const& found = looking->found;
    if (!found) return std::nullopt;
    auto const& all = ranks_->members;
    return arrival{static_cast<int>(std::find(all.begin(), all.end(), found->from) - all.begin()), tag,
                   found->bytes};
  }

  void check_rank(char const* what, int rank) const {
    if (rank < 0 || rank >= size())
      throw setting_error({.what = {what, " names a rank that is not here"},
                           .expected = {"0 to ", size() - 1},
                           .got = {rank}});
  }

  std::shared_ptr<engine> engine_;
  std::shared_ptr<rank_group const> ranks_;
  std::uint32_t started_ = 0;  // collectives; under the engine's lock
};

}  // namespace detail

/// All ranks of a transport. What is split off shares the transport, which lives as long as the last of them.
///
/// Errors    setting_error for a deadline out of range.
inline std::unique_ptr<communicator> make_communicator(std::unique_ptr<detail::transport> over,
                                                       communicator_settings settings = {}) {
  auto const all = std::make_shared<detail::rank_group>();
  all->rank = over->rank();
  all->members.resize(static_cast<std::size_t>(over->size()));
  std::iota(all->members.begin(), all->members.end(), 0);
  std::shared_ptr<detail::engine> const engine(new detail::engine(std::move(over), std::move(settings)),
                                               detail::engine::close);
  return std::make_unique<detail::message_communicator>(engine, all);
}

}  // namespace cohort
