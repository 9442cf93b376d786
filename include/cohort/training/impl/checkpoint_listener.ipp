// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/detail/checkpoint_codec.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

/// Returns whether a checkpoint has a manifest and files of the right sizes.
bool is_complete(std::string const& path) try {
  checkpoint_reader const opened(path);
  return true;
} catch (error const&) {
  return false;
}

}  // namespace cohort::detail

namespace cohort {

checkpoint_listener::checkpoint_listener(std::string directory, std::int64_t every, int keep, sink to,
                                         std::chrono::seconds max_age)
    : directory_(std::move(directory)),
      every_(every),
      keep_(keep),
      to_(to ? std::move(to) : silent_sink()),
      max_age_(max_age) {
  if (every < 0 || keep < 1 || max_age.count() < 0)
    throw setting_error({.what = "invalid checkpoint settings",
                         .where = "checkpoint_listener",
                         .expected = "every ≥ 0 steps, keep ≥ 1, max_age ≥ 0 s",
                         .got = {"every ", every, ", keep ", keep, ", max_age ", max_age.count(), " s"}});
}

checkpoint_listener::~checkpoint_listener() { report_pending(); }

/// Waits for the pending checkpoint without the other ranks, and logs its error.
void checkpoint_listener::report_pending() noexcept {
  if (!pending_) return;
  bool const has_ended = pending_->wait(limit_);
  if (rank_ == 0) try {
      report_removal_error();
      if (!(has_ended && pending_->trouble().empty()))
        to_(detail::text_of(
            {"no checkpoint at step ", pending_->step(), ": ",
             has_ended ? pending_->trouble() : "the thread that writes it makes no progress"}));
    } catch (std::exception const&) {
    }
  pending_.reset();
}

void checkpoint_listener::report_removal_error() const {
  if (pending_->has_ended() && !pending_->removal_error().empty()) to_(pending_->removal_error());
}

void checkpoint_listener::on_step(training& run, step_report const& done) {
  if (every_ == 0) return;
  if ((done.step + 1) % every_ != 0) {
    if (!run.state().checkpoints.memory()) detail::checkpoint_codec(run.state()).reserve();
    return;
  }
  if (run.has_common_steps())
    save(run, false);
  else
    run.request({.save = true});
}

void checkpoint_listener::on_epoch(training& run, epoch_report const& done) {
  if (done.epoch + 1 != done.epochs) return;
  bool const is_due_by_steps = every_ > 0 && run.step() % every_ == 0;  // on_step or a vote saves then
  if (is_due_by_steps)
    finish(run, false);
  else
    save(run, true);
}

void checkpoint_listener::on_vote(training& run, votes const& all) {
  if (all.save || all.stop) save(run, all.stop);
}

void checkpoint_listener::on_end(training& run) {
  auto const* const elastic = dynamic_cast<elastic_communicator const*>(&run.world());
  if (!elastic || !elastic->has_left()) finish(run, true);
  report_pending();
  run.state().checkpoints.free_memory();
}

std::string checkpoint_listener::name() const {
  return every_ == 0 ? "checkpoint after the last epoch"
                     : detail::text_of({"checkpoint every ", every_, " steps"});
}

void checkpoint_listener::save(training& run, bool waits) {
  bool const can_start = finish(run, false);
  if (run.step() == saved_step_) return;
  if (!can_start) return fail(run, run.step(), "the previous checkpoint is still being written");
  limit_ = detail::writing_limit(run.world());
  rank_ = run.world().rank();
  pending_ = detail::checkpoint_codec(run.state()).start({directory_, keep_, max_age_});
  if (waits) finish(run, false);
}

/// What a rank knows about the checkpoints of this listener.
struct checkpoint_listener::progress {
  std::int64_t pending = -1;     // step of the checkpoint whose result the ranks do not know yet; -1: none
  std::int64_t completed = -1;   // `pending` if this rank knows that it is complete
  std::int64_t saved = -1;       // step of the newest complete checkpoint
  std::int64_t path_length = 0;  // the path of the newest checkpoint follows, then an error
};

bool checkpoint_listener::finish(training& run, bool is_last) {
  if (!run.state().checkpoints.wait_for_ranks(run.world(), "checkpoint_listener") && !is_last) return false;
  progress own;
  std::string own_error;
  if (pending_) {
    own.pending = pending_->step();
    report_removal_error();
    own_error = pending_->has_ended() ? pending_->trouble() : "the thread that writes it makes no progress";
    // If rank 0 has left or was lost after it had completed the checkpoint, the next rank 0 finds it.
    bool const is_successor = rank_ != 0 && run.world().rank() == 0;
    if (is_successor ? detail::is_complete(pending_->path()) : rank_ == 0 && own_error.empty()) {
      own.completed = saved_step_ = pending_->step();
      newest_ = pending_->path();
    }
  }
  own.saved = saved_step_;
  own.path_length = std::ssize(newest_);
  shared_outcome const all = outcome_of_all(run.world(), "checkpoint_listener", [&] {
    return std::string(reinterpret_cast<char const*>(&own), sizeof own) + newest_ + own_error;
  });
  bool const joins = !pending_ && saved_step_ < 0;
  std::int64_t pending = -1, completed = -1;
  std::string error;
  for (std::string const& received : all.texts) {
    progress of_rank;
    std::memcpy(&of_rank, received.data(), std::min(sizeof of_rank, received.size()));
    pending = std::max(pending, of_rank.pending);
    std::string const path = received.substr(sizeof of_rank, static_cast<std::size_t>(of_rank.path_length));
    if (error.empty()) error = received.substr(sizeof of_rank + path.size());
    completed = std::max(completed, of_rank.completed);
    if (of_rank.completed < 0 && !(joins && saved_step_ < 0)) continue;
    saved_step_ = of_rank.saved;
    newest_ = path;
  }
  if (pending >= 0 && completed == pending)
    last_error_.clear();
  else if (pending >= 0)
    fail(run, pending, error.empty() ? "the rank that wrote it was lost" : error);
  pending_.reset();
  return true;
}

void checkpoint_listener::fail(training const& run, std::int64_t step, std::string const& reason) {
  ++failures_;
  last_error_ = reason;
  if (run.world().rank() == 0) to_(detail::text_of({"no checkpoint at step ", step, ": ", reason}));
}

}  // namespace cohort
