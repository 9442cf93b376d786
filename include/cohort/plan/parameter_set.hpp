// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/node.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/plan/bucket.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohort {

/// What a network's parameters are initialised with where neither layer nor node says otherwise.
struct initial_parameters {
  initialiser weights = init::xavier{};
  initialiser bias = init::zeros{};
};

/// One master copy of a network's parameters, seen without its backend.
///
/// Shapes    `master()` is one flat arena of f32 or f64 in the backend's layouts, padded with zeros; gradients and
///           updater state are arenas of the same layouts, so one pass walks through all of them.
///           Dense tensors leave and enter by `read` and `write` only: nothing outside sees padding.
/// Order     parameters stand in the order of their layers; workers share one set.
/// Exact     writing what was read changes no bit.
class parameter_set {
 public:
  virtual ~parameter_set() = default;
  parameter_set(parameter_set const&) = delete;
  parameter_set& operator=(parameter_set const&) = delete;

  std::span<parameter const> table() const { return table_; }
  std::span<bucket const> buckets() const { return buckets_; }
  element_type type() const { return type_; }
  std::int64_t elements() const { return elements_; }
  std::size_t arena_elements() const { return arena_elements_; }
  std::size_t arena_bytes() const { return arena_elements_ * bytes_of(type_); }
  std::byte* master() const { return master_.data(); }
  /// Where its arenas lie, and who runs passes over them.
  arena_passes& passes() const { return *passes_; }
  /// The elements of an arena in which a bucket lies, with its padding: its parameters stand together.
  struct arena_range {
    std::size_t offset, room;
  };
  arena_range range_of(bucket const& b) const;
  /// Where parameter p begins in an arena, in elements; where the last one ends, if there are not so many.
  std::size_t place_of(int p) const;
  /// Memory of the working copies that plans asked for.
  virtual std::size_t copy_bytes() const = 0;
  /// Sets in which it is equal have each element of each parameter in the same place of their arenas, which lie in the
  /// processor's memory in all of them or in none.  Before: a plan was made.
  virtual std::uint64_t layout_hash() const = 0;

  /// Parameter p of an arena with the master's layouts → dense in the processor's memory, and back.
  virtual void read(int p, std::byte const* arena, std::byte* dense) const = 0;
  virtual void write(int p, std::byte const* dense, std::byte* arena) const = 0;

  /// The same with a dense tensor that lies where arenas do.
  virtual void read_beside(int p, std::byte const* arena, std::byte* dense) const { read(p, arena, dense); }
  virtual void write_beside(int p, std::byte const* dense, std::byte* arena) const { write(p, dense, arena); }

  /// Derives the working copies anew: worker's share of those that training reads of some parameters, or all that are stale.
  /// Before    the master has changed; no kernel runs that uses them.  After refresh by every worker: training's copies of
  ///           these parameters are fresh.
  virtual void refresh(int worker, int workers, parameter_range const& which) = 0;
  void refresh(int worker, int workers) { refresh(worker, workers, {}); }
  virtual void refresh_stale() = 0;
  /// Whether training reads a rounded copy of parameter p that lies as the master does. Who updates p then writes it along, while
  /// what was updated is in the cache: follow for each range, and followed, by one worker, for all of it: then the copy is fresh
  /// until the master changes again, if `updated` was said before.
  virtual bool is_followed(int p) const { return (void)p, false; }
  virtual void follow(int p, std::size_t begin, std::size_t n) { (void)p, (void)begin, (void)n; }
  virtual void followed(int p) { (void)p; }
  /// Says that the master has changed: another version from now on; or that an update changes it, which leaves frozen layers as
  /// they are.
  void changed() { written_ = ++version_; }
  void updated() { ++version_; }
  std::uint64_t version() const { return version_; }

  /// Takes layers out of training, those of whose first parameter p frozen(p) says so: plans run them as at inference and
  /// make no gradients of theirs, buckets and updates leave them out.
  ///
  /// Before    no plan was made.
  /// Errors    setting_error if one was.
  template <class Frozen>
  void freeze(Frozen frozen) {
    if (arena_elements_ > 0) throw setting_error({.what = "layers are frozen before the first plan is made"});
    for (std::size_t p = 0; p < table_.size(); ++p)
      table_[p].frozen = p > 0 && table_[p - 1].node == table_[p].node ? table_[p - 1].frozen : frozen(p);
    buckets_ = make_buckets(table_, bytes_of(type_));
  }

  /// Fills every parameter from streams keyed by (seed, layer name, parameter name): the same on any backend.
  void initialise(std::uint64_t seed, initial_parameters const& defaults = {});

  /// The canonical flat view of an arena: dense tensors in order.  Before: `dense` has elements() of type().
  void read_all(std::byte const* arena, std::byte* dense) const;
  void write_all(std::byte const* dense, std::byte* arena) const;

 protected:
  parameter_set(graph_view net, element_type type, std::shared_ptr<arena_passes> passes);

  element_type type_;
  std::shared_ptr<arena_passes> passes_;
  std::vector<int> owners_;  // of each node's parameters: a node
  std::vector<parameter> table_;
  std::vector<bucket> buckets_;
  std::int64_t elements_ = 0;
  std::size_t arena_elements_ = 0;
  buffer master_;
  std::uint64_t version_ = 1;  // of what is trained
  std::uint64_t written_ = 1;  // of what is frozen
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/parameter_set.ipp>
#endif
