// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/element.hpp>
#include <memory>
#include <optional>

namespace cohort {

/// Reaction to parameters that differ between ranks. stop: end the run with an exception on all ranks.
/// repair: continue with rank 0's parameters.
enum class when_diverged { stop, repair };

/// Arrays of which each rank has only a part. optimizer_state: the optimizers' state; each rank updates its
/// part of the parameters. gradients: also the gradients, after the ranks' sums.
enum class shard { nothing, optimizer_state, gradients };

/// Uses the mean of all ranks' gradients for every update.
///
///     P = 4         rank 0    rank 1    rank 2    rank 3
///     backward        g_0       g_1       g_2       g_3     bucket 0: the last layers
///        |            <------- allreduce 0 -------->        in flight during the rest of backward
///        |            g_0       g_1       g_2       g_3     bucket 1
///        v            <------- allreduce 1 -------->
///     wait             g         g         g         g      of each bucket: g = Σ m_r·g_r / Σ m_r
///     update           w         w         w         w      the same bits
///
/// Shapes    buckets, from the last layer to the first. If all ranks have the same parameter layout, these
///           buckets are reduced in place: buckets on a device in whose memory the communicator sums, and
///           buckets on the processor with padding of at most 1/64. All other buckets are packed, as in the
///           canonical flat view.
/// Units     `resync`: ranks compare a checksum of their parameters every `resync` steps; never if `resync`
///           is 0. If checksums differ between ranks of the same backend, instruction set and layout, memory
///           is damaged, or the program has changed parameters or gradients on some ranks only. `diverged`
///           selects the reaction. Ranks with different backends, instruction sets or layouts diverge by
///           rounding, so rank 0's parameters and optimizer state are broadcast. report counts the
///           broadcasts. `wire`: the type in which gradients are sent and summed, bf16 or f32. If `wire` is
///           none or not narrower than the gradients' type, gradients are sent in their own type. A rank adds
///           its rounding error to its next gradient. Parameters and votes are sent in their own type.
///           `overlap_next_forward`: the sums of the last layers may be late, that is, still pending while
///           the next step's forward runs on the layers below. These last layers have at least half of all
///           parameters. Requires the same layout on all ranks. step_info::max_late_buckets limits the number
///           of late buckets. `shard`: the update is between the two phases of each allreduce. Each rank sums
///           its parts of the gradients (parts_of_allreduce), updates these parts of the parameters, and
///           gathers the parts of the other ranks. Requires the same backend, instruction set and layouts on
///           all ranks, with parameters in the processor's memory. Buckets that are packed, or whose
///           allreduce has no parts, are not divided. With `overlap_next_forward`, the parameters of the late
///           buckets are gathered in the next forward. With one worker and without micro-batches, `gradients`
///           frees the other ranks' parts of a bucket when the bucket's sum is complete; at most two sums are
///           in flight. `gradients` also frees the other ranks' parts of parameters that kernels read through
///           bf16 copies only, without `overlap_next_forward`, constraints and an average of the parameters
///           (training::gather_parameters).
/// Order     a bucket's allreduce starts while backward still runs on the layers below the bucket's layers.
/// Before    rank r has the gradient g_r of the mean loss over its examples, whose total weight is m_r (the
///           number of examples without weights).
/// After     all ranks have Σ m_r·g_r / Σ m_r. With `wire`, all ranks have Σ round(m_r·g_r / Σ m + e_r),
///           where e_r is the sum of rank r's rounding errors so far.
/// Moves     per step an allreduce of each bucket: in total n elements and the padding of buckets that are
///           reduced in place. Five words of votes are appended to the first bucket. With `wire` or
///           `overlap_next_forward`, or if the first bucket is reduced in place, a separate allreduce sends
///           the votes. If layers have running statistics, two allreduces of 2·C + L f64 in total, for C
///           channels in L layers (merge_statistics), before the wait for the buckets. At the start of a new
///           run, a broadcast of n elements per array (parameters and optimizer state); a rank sends at most
///           ⌈log2 P⌉ copies. At the start and at a resync, an allreduce of 16 bytes. If the checksums differ
///           at a resync, also a second such allreduce, and a broadcast as at the start. A single rank sends,
///           packs and waits for nothing. With `shard`, also one allreduce per phase of norms, at least one:
///           8 bytes, and 8 for each block of 4,096 elements and norm. Sharded state is not broadcast, so
///           every rank must load the same file. A resync hashes the parameters in place, or the
///           copies of those that are freed; ranks with different layouts copy one parameter at a time.
/// Errors    communicator_error on all ranks if a rank is lost. With `overlap_next_forward` the layers whose
///           sums were late may then lack the last step; with `shard` some parameters may lack it.
///           setting_error on all ranks that cannot have shards. numeric_error on all ranks if `diverged` is
///           stop, and ranks of the same backend, instruction set and layout differ at a resync. This error
///           names the step, the ranks and the first parameter that differs.
/// Exact     ranks of one backend and instruction set have the same bits after each step, also with `wire`
///           and different numbers of workers. P ranks with batch B give the same parameters as one rank with
///           batch P·B, up to rounding, for networks without batch statistics. Running statistics are those
///           of the batch of all ranks, merged in f64, also with `wire`. With one rank, the result is bitwise
///           equal to training without a strategy. With `wire`, the rounding errors of the sent gradients are
///           fed back; the rounding errors of the partial sums (one per rank) are lost. `shard` changes no
///           bit of parameters, state and files, except that frozen layers have initial state in files.
/// Source    CaffeOnSpark over MPI. Buckets during backward: Li et al., PyTorch Distributed, VLDB 2020. Error
///           feedback: Seide et al., Interspeech 2014, Karimireddy et al., ICML 2019. Overlap with the next
///           forward: Jayarajan et al., P3, MLSys 2019, and BytePS's cross-barrier. Shards: Rajbhandari et
///           al., ZeRO, SC 2020.
struct allreduce {
  int resync = 100;
  when_diverged diverged = when_diverged::stop;
  std::optional<element_type> wire{};
  bool overlap_next_forward = false;
  cohort::shard shard = cohort::shard::nothing;

  /// Returns the strategy of this rank.  Order: collective.  Errors: setting_error for an invalid setting.
  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort
