// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/compressor.hpp>
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/strategy/detail/asynchronous_sharing.hpp>
#include <cohort/strategy/detail/gradient_sharing.hpp>
#include <cohort/strategy/detail/update_sharing.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

namespace detail {

/// Returns the text of a sharing strategy: its compressor and settings. The text's hash identifies the run in
/// messages and in checkpoints with pending messages, so the format of the text must not change.
std::string sharing_text(std::string_view compressor, sharing_settings const& settings);

}  // namespace detail

/// Exchanges only those entries of the accumulated gradients that a compressor selects. The rest stays in
/// each rank's residual for later steps.
///
///     r += x    s of r    r −= s    share::gradient   all apply one step with Σ m_r·s_r / Σ m_r
///                                   share::update     x is rank r's own step: w −= Σ s_r (`mean`: Σ s_r / P)
///
///     P = 4       rank 0     rank 1     rank 2     rank 3
///     to_all       s_0   ->   s_1   ->   s_2   ->   s_3  ->  rank 0     P − 1 rounds of a ring
///     merged       s_0   <-   s_1        s_2   <-   s_3                 pairs, up a tree to rank 0
///                   s   <---------------  s
///                   s   --------------->  s                             and back down
///                   s   ->     s          s   ->     s
///
/// Shapes    x, s, r: the n trained elements of the canonical flat view, f32 for every backend. Running
///           statistics are never encoded. Each rank updates its running statistics separately; the
///           statistics are averaged for evaluations and checkpoints, at an epoch's end and, if
///           `sync_buffers` > 0, every `sync_buffers` steps.
/// Units     `make` returns the compressor; it is called with one of these argument lists:
///             (tensor_table)
///             (tensor_table, team*): threads that may share the compressor's work, or null
///             (tensor_table, team*, std::shared_ptr<threshold_device>): passes over arrays on the device of
///             the arenas. The compressor's device_passes() returns these passes if its arrays are on that
///             device, otherwise null.
///           `name`: text of the compressor and its settings, equal on all ranks.
///           `settings`: with `max_staleness` s no rank is more than s steps ahead of another, and messages
///           are in flight while s steps are computed. If s > 0, messages are not merged. `unbounded`: a
///           rank applies its own decoded step at once and other ranks' steps when they arrive, as
///           Deeplearning4j does. With `slower_if_stale`, other ranks' steps are applied as s_r / τ, where τ
///           is the message's age in steps. A rank waits only for a rank that is 32 steps behind. This bounds
///           the number of messages in flight; votes take effect 32 steps later. sharing_group::process: the
///           ranks of one process send one message that contains their weighted mean gradient or the sum of
///           their steps. With `unbounded` each rank sends a separate message.
/// Order     a message is encoded when all buckets are complete. At an epoch's end all sent messages have
///           been applied, with one exception: gradients that would be applied in a later epoch are returned
///           to the residuals.
/// Before    rank r has the gradient g_r of the mean loss over its examples, whose total weight is m_r.
/// After     all ranks have applied the same step, with constraints. The residual of rank r contains the
///           unsent rest: over a run Σ s + r = Σ x, up to rounding. A rank without examples sends nothing,
///           and its residual is unchanged. If a rank has a number that is not finite, all ranks skip the
///           step, and that rank's residual is unchanged. The values that other ranks sent are applied later.
/// Moves     inside a group: an allreduce and a broadcast of n elements. Between P groups with route::to_all:
///           a ring of P − 1 rounds; in each round a group sends 8 bytes and one message. Between P groups
///           with route::merged: at most 2⌈log2 P⌉ messages per group, sent or received. At the start of a
///           new run: one broadcast of rank 0's parameters and state. A single rank sends nothing, but
///           encodes and decodes its message.
/// Errors    communicator_error on all ranks if a rank is lost; data_error for a damaged message;
///           setting_error for an invalid setting.
/// Exact     ranks of one backend have the same bits after each step, except running statistics and, with
///           share::update, the optimizers' state. Two runs have the same bits. For each message and element,
///           the sent part and the residual add up to the gradient exactly. `unbounded`: the bits depend on
///           timing, and ranks differ until an epoch's end. All ranks then have applied the same steps in
///           different orders, and take the mean of their parameters. Evaluations and checkpoints also use
///           the mean of the ranks' parameters.
/// Source    Strom, Interspeech 2015; Deeplearning4j's gradient sharing is share::update.
template <class Make>
struct sharing_by {
  std::string_view name;
  Make make;
  sharing_settings settings{};

  /// Returns the strategy of this rank.  Order: collective.
  std::unique_ptr<strategy> on(communicator& world) const {
    static_assert(compressor<detail::codec_of<Make>>, "cohort: make(tensor_table) must return a compressor");
    settings.check();
    std::string text = detail::sharing_text(name, settings);
    if (settings.share == share::gradient)
      return made<detail::gradient_sharing<Make>>(world, std::move(text));
    if (settings.max_staleness == unbounded)
      return made<detail::asynchronous_sharing<Make>>(world, std::move(text));
    return made<detail::update_sharing<Make>>(world, std::move(text));
  }

 private:
  template <class Strategy>
  std::unique_ptr<strategy> made(communicator& world, std::string text) const {
    auto sharing = std::make_unique<Strategy>(world.duplicate(), settings, std::move(text), make);
    if (dynamic_cast<elastic_communicator*>(&world)) sharing->set_elastic();
    return sharing;
  }
};

template <class Make, class... Settings>
sharing_by(std::string_view, Make, Settings...) -> sharing_by<Make>;

}  // namespace cohort
