// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/plan/bucket.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Initialisers of the parameters for which neither layer nor node sets an initialiser.
struct initial_parameters {
  initialiser weights = init::xavier{};
  initialiser bias = init::zeros{};
};

/// Master copy of a network's parameters, independent of the type of the backend.
///
/// Shapes    `master()` is one flat arena of f32 or f64 in the backend's layouts, padded with zeros.
///           Gradients and optimizer state are arenas of the same layouts, so one pass processes all of them.
///           `read` and `write` convert to and from dense tensors; padding is not visible outside.
/// Order     parameters are in the order of their layers. All workers share one set.
/// Exact     writing back the elements that were read changes no bit.
class parameter_set {
 public:
  virtual ~parameter_set() = default;
  parameter_set(parameter_set const&) = delete;
  parameter_set& operator=(parameter_set const&) = delete;

  std::span<parameter const> table() const;
  std::span<bucket const> buckets() const;
  element_type type() const { return type_; }
  std::int64_t elements() const { return elements_; }
  std::size_t arena_elements() const { return arena_elements_; }
  std::size_t arena_bytes() const { return arena_elements_ * bytes_of(type_); }
  std::byte* master() const { return master_.data(); }
  /// Memory space of the arenas, and passes over them.
  arena_passes& passes() const { return *passes_; }
  /// Elements of an arena that hold a bucket, with padding. A bucket's parameters are adjacent.
  struct arena_range {
    std::size_t offset, room;
  };
  arena_range range_of(bucket const& b) const;
  /// Offset of parameter p in an arena, in elements. If p is the number of parameters or higher, returns the
  /// arena's number of elements.
  std::size_t offset_of(int p) const;
  /// Bytes of the working copies that plans have requested.
  virtual std::size_t copy_bytes() const = 0;
  /// Hash of the arena's layouts. Sets with equal hashes have each element of each parameter at the same
  /// index, and all their arenas are in the processor's memory, or all are outside.  Before: a plan was made.
  virtual std::uint64_t layout_hash() const = 0;

  /// Name of the backend, and of the instruction set or device that updates the arenas: "onednn, avx512".
  /// If two ranks have equal names, parameters and gradients, their updates give the same bits.
  virtual std::string updated_by() const = 0;

  /// Copies parameter p from an arena with the master's layouts to a dense tensor in the processor's memory,
  /// and back.
  virtual void read(int p, std::byte const* arena, std::byte* dense) const = 0;
  virtual void write(int p, std::byte const* dense, std::byte* arena) const = 0;

  /// Like read and write, but the dense tensor is in the arenas' memory space.
  virtual void read_on_device(int p, std::byte const* arena, std::byte* dense) const {
    read(p, arena, dense);
  }
  virtual void write_on_device(int p, std::byte const* dense, std::byte* arena) const {
    write(p, dense, arena);
  }

  /// Updates working copies from the master. refresh updates the worker's share of the copies that training
  /// reads, for the parameters in `which`. refresh_stale updates all stale copies.
  /// Before    the master has changed; no kernel that uses the copies is running.
  /// After     when every worker has called refresh, the copies of these parameters that training reads are
  ///           fresh.
  virtual void refresh(int worker, int workers, parameter_range const& which) = 0;
  void refresh(int worker, int workers) { refresh(worker, workers, {}); }
  virtual void refresh_stale() = 0;
  /// Returns whether training reads a rounded copy of parameter p in the master's layout. If so, the update
  /// of p also writes this copy, while the updated elements are in the cache. Each worker calls
  /// write_update_copy for the ranges that it updates, and one worker calls mark_update_copy for the whole
  /// parameter, after mark_updated. When all workers are done, the copy is fresh until the next change of
  /// the master.
  virtual bool has_update_copy(int p) const { return (void)p, false; }
  virtual void write_update_copy(int p, std::size_t begin, std::size_t n) { (void)p, (void)begin, (void)n; }
  virtual void mark_update_copy(int p) { (void)p; }
  /// Returns whether kernels read parameter p only through copies of a narrower type, so that a rank needs
  /// the master's elements of p only to update them.
  bool has_only_copies(int p) const;
  /// Returns parameter p for a kernel that reads the master.  Errors: setting_error if p is not whole.
  int read_by_kernel(int p);
  /// The working copies of parameter p that training reads.
  virtual std::vector<std::span<std::byte const>> trained_copies(int) const { return {}; }
  /// Returns whether this rank has all elements of parameter p of the master. If not, reading p from the
  /// master throws setting_error; working copies are made from other copies.
  bool is_whole(int p) const { return freed_versions_.empty() || freed_version(p) == 0; }
  bool is_whole() const;
  /// Throws setting_error unless parameter p is whole.
  void require_whole(int p) const;
  /// Records that the other ranks' elements of parameter p were written to the master.
  void mark_whole(int p) const;
  /// Updates the working copies of parameter p that training reads. Then frees the master's elements of p
  /// outside `kept`, ascending ranges of an arena. mark_updated follows.
  void free_outside(int p, std::span<arena_range const> kept);

  /// Records a change of the master: `version` increases. mark_changed: any change. mark_updated: the change
  /// is an update, which leaves frozen layers unchanged.
  void mark_changed() { written_ = ++version_; }
  void mark_updated() { ++version_; }
  std::uint64_t version() const { return version_; }

  /// Excludes a layer from training if frozen(p) is true for the layer's first parameter p. Plans run such
  /// layers as at inference and do not compute gradients of their parameters. Buckets and updates exclude
  /// these layers.
  ///
  /// Before    no plan was made; `frozen` is not empty.
  /// Errors    setting_error if a plan was made.
  void freeze(std::function<bool(std::size_t)> const& frozen);

  /// Initialises every parameter from random streams keyed by (seed, layer name, parameter name): the same
  /// values on every backend.
  void initialise(std::uint64_t seed, initial_parameters const& defaults = {});

  /// Copies an arena to the canonical flat view (dense tensors in order), and back.  Before: `dense` has
  /// elements() elements of type().
  void read_all(std::byte const* arena, std::byte* dense) const;
  void write_all(std::byte const* dense, std::byte* arena) const;

 protected:
  parameter_set(graph_view net, element_type type, std::shared_ptr<arena_passes> passes);

  std::uint64_t freed_version(int p) const { return freed_versions_[static_cast<std::size_t>(p)]; }
  /// Writes trained_copies(p) from the master, for the next version.
  virtual void write_copies(int) {}

  element_type type_;
  std::shared_ptr<arena_passes> passes_;
  std::vector<int> owners_;  // per node: the node that owns its parameters
  std::vector<parameter> table_;
  std::vector<bucket> buckets_;
  std::int64_t elements_ = 0;
  std::size_t arena_elements_ = 0;
  buffer master_;
  std::uint64_t version_ = 1;  // version of the trained parameters
  std::uint64_t written_ = 1;  // version of the frozen parameters
  std::vector<bool> is_read_;  // per parameter: whether kernels read the master, or may do so
  mutable std::vector<std::uint64_t> freed_versions_;  // versions of the parameters that are not whole, or 0
};

}  // namespace cohort
