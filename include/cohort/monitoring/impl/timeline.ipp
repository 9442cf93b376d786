// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/chrono.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/monitoring/timeline.hpp>
#include <span>

namespace cohort {

timeline::timeline(communicator& world, std::int64_t newest) : world_(world.duplicate()) {
  if (newest < 1 || newest > largest)
    throw setting_error(
        {.what = "invalid number of steps for a timeline", .expected = {"1 to ", largest}, .got = {newest}});
  rows_.reserve(static_cast<std::size_t>(newest));
  began_ = detail::nanoseconds(std::chrono::steady_clock::now());
  clocks_ = detail::read_clocks(*world_);
}

void timeline::on_step(training& run, step_report const& done) {
  row const one = row_of(done, run.last_exchange());
  if (rows_.size() < rows_.capacity()) {
    rows_.push_back(one);
  } else {
    rows_[oldest_] = one;
    oldest_ = (oldest_ + 1) % rows_.size();
  }
}

std::string timeline::trace() {
  std::vector<detail::clock_reading> const now = detail::read_clocks(*world_);
  std::rotate(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(oldest_), rows_.end());
  oldest_ = 0;
  if (world_->rank() > 0) {
    world_->send(std::as_bytes(std::span(rows_)), 0, 0);
    return {};
  }
  io::json_writer out(1);
  out.begin_object().field("displayTimeUnit", "ms").key("traceEvents").begin_array();
  for (int rank = 0; rank < world_->size(); ++rank) {
    auto const r = static_cast<std::size_t>(rank);
    std::int64_t const error = clocks_[r].error + now[r].error;
    write_name(out, rank, 0, "process_name", "name", detail::text_of({"rank ", rank}));
    if (rank > 0)
      write_name(out, rank, 0, "process_labels", "labels",
                 detail::text_of({"clock within ", error / 1000 + 1, " us of rank 0's"}));
    write_name(out, rank, steps_track, "thread_name", "name", "steps");
    write(out, rank, rank == 0 ? rows_ : rows_of(rank),
          [&](std::int64_t time) { return clocks_[r].on_rank_0(time, now[r]) - began_; });
  }
  return out.end_array().end_object().text();
}

timeline::row timeline::row_of(step_report const& done, exchange_times const& parts) {
  using detail::nanoseconds;
  auto const span_of = [](exchange_times::span const& one) {
    return span{nanoseconds(one.begin), nanoseconds(one.end)};
  };
  step_times const& t = done.times;
  return {done.step,
          done.epoch,
          done.examples,
          done.loss,
          nanoseconds(t.data),
          nanoseconds(t.prepare),
          nanoseconds(t.forward),
          nanoseconds(t.backward),
          nanoseconds(t.exchange),
          nanoseconds(t.update),
          nanoseconds(t.after_update),
          nanoseconds(t.end),
          span_of(parts.encode),
          span_of(parts.transfer),
          span_of(parts.apply)};
}

std::vector<timeline::row> timeline::rows_of(int rank) {
  std::vector<row> theirs(world_->wait_for_message(rank, 0).bytes / sizeof(row));
  world_->receive(std::as_writable_bytes(std::span(theirs)), rank, 0);
  return theirs;
}

void timeline::write_name(io::json_writer& out, int rank, int track, char const* what, char const* field,
                          std::string const& text) {
  out.begin_object(io::json_lines::one).field("name", what).field("ph", "M").field("pid", rank);
  out.field("tid", track).key("args").begin_object().field(field, text).end_object().end_object();
}

}  // namespace cohort
