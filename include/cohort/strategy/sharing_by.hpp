// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/compressor.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/detail/asynchronous_sharing.hpp>
#include <cohort/strategy/detail/gradient_sharing.hpp>
#include <cohort/strategy/detail/update_sharing.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cohort {

/// As a `max_staleness`: what a step has sent is taken when it comes, however old it is then.
inline constexpr int unbounded = -1;

/// Ranks send of their gradients what a compressor selects, and keep the rest for later steps.
///
///     r += x    s of r    r −= s    share::gradient   all take a step with Σ m_r·s_r / Σ m_r
///                                   share::update     x is rank r's own step:  w −= Σ s_r  (`mean`: Σ s_r / P)
///
/// Shapes    x, s, r: the n trained elements of the canonical flat view, f32 whatever the backend's type. Running statistics are
///           never encoded: they are each rank's own, and their mean at evaluation, at an epoch's end and every `sync_buffers`
///           steps (0: not).
/// Units     make(tensor_table) gives the compressor, or make(tensor_table, team*): the threads that may share its work, or null;
///           or make(tensor_table, team*, std::shared_ptr<threshold_device>): who works on its arrays on the arenas' device:
///           then its elsewhere() gives them as long as its arrays lie there;
///           `name` says it with its settings. The first `warm_up` steps are exchanged
///           densely, and leave no residual.
///           `max_staleness` s: what step i has sent is taken in step i + s, so that no rank is more than s steps ahead of
///           another, and messages travel while s steps are computed; with `slower_if_stale` divided by s. Messages go to all.
///           `unbounded`: a rank takes its own step at once, as decoded, and others' when they come, without waiting for them, as
///           Deeplearning4j does; with `slower_if_stale` as s / τ, τ = how many steps old it is. A rank waits only for one
///           that is 32 steps behind: so what is under way has an end, and votes are heard as many steps later.
///           group::process: the ranks of one process send one message, of their weighted mean, or Σ of their steps; `unbounded`
///           each rank sends its own.
/// Order     a message is written when all buckets are complete. At an epoch's end all that was sent has been taken; of late
///           gradients, which would need steps of their own, it is in the residuals again.
/// Before    rank r has the gradient g_r of the mean over its examples, which weigh m_r.
/// After     all have taken the same step, with constraints. What rank r has not sent is in its residual: over a run Σ s + r = Σ x,
///           to rounding. A rank without examples sends nothing, and its residual stays. Where a number is not finite the step
///           is left out on all ranks, the residual of that rank is untouched, and what others had sent comes later.
/// Moves     inside a group an allreduce and a broadcast of n. P groups, to all: 8 bytes and a message of each, P−1 times round a ring. Merged: at most 2⌈log2 P⌉ messages a
///           group, sent or received. In the beginning rank 0's parameters and state once to all. One rank writes and reads its
///           message all the same.
/// Errors    communicator_error on all ranks if one is lost; data_error for a damaged message; setting_error.
/// Exact     ranks of one backend hold the same bits after each step, running statistics and, with share::update, the updaters'
///           state apart; two runs have the same bits. What is sent and what stays add up to the gradient exactly, for each
///           message and element. `unbounded`: the clock decides the bits, and ranks differ until an epoch's end, where all hold
///           the mean of what they have added up in different orders; evaluations and checkpoints show that mean.
/// Source    Strom, Interspeech 2015; Deeplearning4j's gradient sharing, which is share::update.
template <class Make>
struct sharing_by {
  std::string_view name;
  Make make;
  sharing_settings how{};

  std::unique_ptr<strategy> on(communicator& world) const {
    static_assert(compressor<std::invoke_result_t<Make const&, tensor_table>>,
                  "cohort: make(tensor_table) must give a compressor");
    detail::require_setting(how.warm_up >= 0, "sharing", "warm_up", "0 or a number of steps", how.warm_up);
    detail::require_setting(how.sync_buffers >= 0, "sharing", "sync_buffers", "0 (not) or a number of steps",
                            how.sync_buffers);
    detail::require_setting(how.max_staleness >= unbounded && how.max_staleness < 100, "sharing",
                            "max_staleness", "0 to 99, or unbounded", how.max_staleness);
    if (how.max_staleness == unbounded && how.share != share::update)
      throw setting_error({.what = "gradients cannot be shared without a bound",
                           .where = "sharing.max_staleness",
                           .expected = "share::update, or 0 to 99",
                           .got = "unbounded"});
    if (how.max_staleness != 0 && how.way == route::merged)
      throw setting_error({.what = "messages that are merged cannot come late",
                           .where = "sharing.max_staleness",
                           .expected = "0, or messages to all",
                           .got = {how.max_staleness}});
    bool const gradients = how.share == share::gradient;
    constexpr std::string_view ways[]{"by size", "to all", "merged"};
    bool const waits = how.max_staleness != unbounded;
    std::string text =
        detail::text_of({name, " of ",
                         gradients  ? "gradients"
                         : how.mean ? "steps, their mean"
                                    : "steps",
                         ", warm-up ", how.warm_up, ", buffers every ", how.sync_buffers, ", messages ",
                         ways[static_cast<std::size_t>(how.way)],
                         how.group == group::process && waits ? ", one a process" : ", one a rank",
                         ", staleness ", waits ? detail::text_of({how.max_staleness}) : "unbounded",
                         how.slower_if_stale ? ", slower for it" : ""});
    if (gradients)
      return std::make_unique<detail::gradient_sharing<Make>>(world.duplicate(), how, std::move(text), make);
    if (how.max_staleness == unbounded)
      return std::make_unique<detail::asynchronous_sharing<Make>>(world.duplicate(), how, std::move(text),
                                                                  make);
    return std::make_unique<detail::update_sharing<Make>>(world.duplicate(), how, std::move(text), make);
  }
};

template <class Make, class... How>
sharing_by(std::string_view, Make, How...) -> sharing_by<Make>;

}  // namespace cohort
