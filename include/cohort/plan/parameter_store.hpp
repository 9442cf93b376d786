// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/backend/thread_scope.hpp>
#include <cohort/plan/folding.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// The parameters of a network on one backend: master and working copies.
///
/// Order     the first plan made on the store settles the layouts; then the arena is allocated, and later plans
///           (other batch sizes, inference) take them as they are or ask for working copies: one at a time, while contexts of
///           earlier ones may run.
template <tensor_backend B>
class parameter_store final : public parameter_set {
 public:
  using layout = typename B::layout;

  parameter_store(B backend, graph_view net)
      : parameter_set(net, element_of<typename B::scalar>),
        backend_(std::move(backend)),
        layouts_(table_.size()) {}

  B const& backend() const { return backend_; }

  /// The index of a node's first parameter in the table, and the layouts settled for it so far.
  int first_of(int node) const {
    int const owner = owners_[static_cast<std::size_t>(node)];
    auto const at =
        std::find_if(table_.begin(), table_.end(), [&](parameter const& p) { return p.node == owner; });
    return static_cast<int>(at - table_.begin());
  }
  std::optional<layout> const& settled(int p) const { return layouts_[static_cast<std::size_t>(p)]; }
  void settle(int p, layout const& wanted) {
    if (!layouts_[static_cast<std::size_t>(p)]) layouts_[static_cast<std::size_t>(p)] = wanted;
  }

  /// Gives every parameter its place, once. Parameters that no plan touches lie dense.
  void allocate() {
    if (allocated_) return;
    constexpr std::size_t unit = buffer::alignment / sizeof(float);
    for (std::size_t p = 0; p < table_.size(); ++p) {
      if (!layouts_[p]) layouts_[p] = backend_.plain(table_[p].spec.dims);
      std::size_t const elements = backend_.bytes(*layouts_[p]) / sizeof(typename B::scalar);
      table_[p].offset = arena_elements_;
      table_[p].room = (elements + unit - 1) / unit * unit;
      arena_elements_ += table_[p].room;
    }
    master_ = buffer(arena_bytes());
    allocated_ = true;
  }

  /// The working copy of parameter p in that layout; `training` copies are refreshed after every update.
  int copy(int p, layout const& wanted, bool training) {
    std::lock_guard const lock(copying_);
    int const c = find_copy(p, {}, wanted);
    copies_[static_cast<std::size_t>(c)].training |= training;
    return c;
  }
  /// The working copy of folded weights (which = 0) or their bias (1) in that layout.
  int folded_copy(folding const& how, int which, layout const& wanted) {
    std::lock_guard const lock(copying_);
    return find_copy(which, how, wanted);
  }
  std::byte* copy_data(int c) const {
    std::lock_guard const lock(copying_);
    return copies_[static_cast<std::size_t>(c)].data.data();
  }
  std::byte* parameter_data(int p, std::byte* arena) const {
    return arena + table_[static_cast<std::size_t>(p)].offset * sizeof(typename B::scalar);
  }

  std::size_t copy_bytes() const override {
    std::lock_guard const lock(copying_);
    std::size_t bytes = 0;
    for (auto const& c : copies_) bytes += c.data.bytes();
    return bytes;
  }

  void read(int p, std::byte const* arena, std::byte* dense) const override {
    run(p, false, parameter_data(p, const_cast<std::byte*>(arena)), dense);
  }
  void write(int p, std::byte const* dense, std::byte* arena) const override {
    run(p, true, const_cast<std::byte*>(dense), parameter_data(p, arena));
  }

  void refresh(int worker, int workers) override {
    int turn = 0;
    for (working_copy& c : copies_)
      if (c.training && turn++ % workers == worker) renew(c);
  }
  void refresh_stale() override {
    std::lock_guard const lock(copying_);
    for (working_copy& c : copies_)
      if (c.version != version_) renew(c);
  }

 private:
  struct working_copy {
    int parameter;  // of what is folded: which
    std::optional<folding> folds;
    layout wanted;
    bool training = false;
    buffer data;
    std::optional<typename B::call> reorder{};
    std::uint64_t version = 0;
  };

  int find_copy(int p, std::optional<folding> const& folds, layout const& wanted) {
    for (std::size_t c = 0; c < copies_.size(); ++c)
      if (copies_[c].parameter == p && copies_[c].wanted == wanted && copies_[c].folds == folds)
        return static_cast<int>(c);
    copies_.push_back(
        {.parameter = p, .folds = folds, .wanted = wanted, .data = buffer(backend_.bytes(wanted))});
    return static_cast<int>(copies_.size()) - 1;
  }
  void renew(working_copy& c) {
    c.version = version_;
    if (c.folds) {
      std::vector<typename B::scalar> dense =
          detail::folded<typename B::scalar>(*this, *c.folds, c.parameter);
      void* const addresses[]{dense.data(), c.data.data()};
      layout const& lies =
          c.parameter == 0 ? *layouts_[static_cast<std::size_t>(c.folds->weights)] : c.wanted;
      return B::bind(backend_.reorder(backend_.plain(lies), c.wanted), addresses)();
    }
    if (!c.reorder) {
      void* const addresses[]{parameter_data(c.parameter, master()), c.data.data()};
      c.reorder.emplace(
          B::bind(backend_.reorder(*layouts_[static_cast<std::size_t>(c.parameter)], c.wanted), addresses));
    }
    (*c.reorder)();
  }
  /// Between an arena and a dense tensor, by a call that is made once and bound anew: an exchange does this in every
  /// step. On one thread: a pool is not worth it.
  void run(int p, bool writes, std::byte* from, std::byte* to) const {
    detail::thread_scope<B> const single(1);
    std::lock_guard const one_at_a_time(crossing_);
    crossings_.resize(2 * table_.size());
    auto& call = crossings_[2 * static_cast<std::size_t>(p) + (writes ? 1 : 0)];
    if (!call) {
      layout const &arena = *layouts_[static_cast<std::size_t>(p)], dense = backend_.plain(arena);
      void* const addresses[]{from, to};
      call.emplace(
          B::bind(writes ? backend_.reorder(dense, arena) : backend_.reorder(arena, dense), addresses));
    }
    call->set(0, from);
    call->set(1, to);
    (*call)();
  }

  B backend_;
  std::vector<std::optional<layout>> layouts_;
  mutable std::mutex copying_;  // a plan may be made while others predict
  std::vector<working_copy> copies_;
  mutable std::mutex crossing_;
  mutable std::vector<std::optional<typename B::call>> crossings_;
  bool allocated_ = false;
};

}  // namespace cohort
