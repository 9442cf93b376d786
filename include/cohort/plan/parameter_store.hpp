// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/detail/thread_scope.hpp>
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/folding.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/random/hash.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// The parameters of a network on one backend: master and working copies.
///
/// Order     the first plan made on the store settles the layouts; then the arena is allocated, and later plans
///           (other batch sizes, inference) take them as they are or ask for working copies: one at a time, while contexts of
///           earlier ones may run. One that only counts allocates nothing: its plans say what they would need.
template <tensor_backend B>
class parameter_store final : public parameter_set {
 public:
  using layout = typename B::layout;

  parameter_store(B backend, graph_view net, bool only_counts = false)
      : parameter_set(net, element_of<typename B::scalar>, passes_of(backend)),
        only_counts_(only_counts),
        backend_(std::move(backend)),
        layouts_(table_.size()),
        followers_(table_.size(), -1) {}

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
    if (!only_counts_) master_ = buffer(arena_bytes(), passes_->space());
    allocated_ = true;
  }

  /// The working copy of parameter p in that layout; `training` copies are refreshed after every update.
  int copy(int p, layout const& wanted, bool training) {
    std::lock_guard const lock(copying_);
    int const c = find_copy(p, {}, wanted);
    copies_[static_cast<std::size_t>(c)].training |= training;
    if constexpr (rounds)
      if (auto const at = static_cast<std::size_t>(p);
          training && !table_[at].frozen && backend_.lies_rounded(*layouts_[at], wanted))
        followers_[at] = c;
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
  int parameter_of_copy(int c) const {
    std::lock_guard const lock(copying_);
    return copies_[static_cast<std::size_t>(c)].parameter;
  }
  std::byte* parameter_data(int p, std::byte* arena) const {
    return arena + table_[static_cast<std::size_t>(p)].offset * sizeof(typename B::scalar);
  }

  std::size_t copy_bytes() const override {
    std::lock_guard const lock(copying_);
    std::size_t bytes = 0;
    for (auto const& c : copies_) bytes += backend_.bytes(c.wanted);
    return bytes;
  }
  std::uint64_t layout_hash() const override {
    std::uint64_t hash = purpose_of(name_of(type_), passes_->space() ? "elsewhere" : "here");
    for (std::size_t p = 0; p < table_.size(); ++p)
      hash =
          purpose_of(backend_.describe(*layouts_[p]), std::to_string(table_[p].room), std::to_string(hash));
    return hash;
  }

  void read(int p, std::byte const* arena, std::byte* dense) const override {
    crossing(p, true, [&](auto const& run, std::byte* outside, std::size_t bytes) {
      std::byte* const from = parameter_data(p, const_cast<std::byte*>(arena));
      run(false, from, outside ? outside : dense);
      if (outside) passes_->fetch(outside, dense, bytes);
    });
  }
  void write(int p, std::byte const* dense, std::byte* arena) const override {
    crossing(p, true, [&](auto const& run, std::byte* outside, std::size_t bytes) {
      if (outside) passes_->bring(dense, outside, bytes);
      run(true, outside ? outside : const_cast<std::byte*>(dense), parameter_data(p, arena));
    });
  }

  void read_beside(int p, std::byte const* arena, std::byte* dense) const override {
    crossing(p, false, [&](auto const& run, std::byte*, std::size_t) {
      run(false, parameter_data(p, const_cast<std::byte*>(arena)), dense);
    });
  }
  void write_beside(int p, std::byte const* dense, std::byte* arena) const override {
    crossing(p, false, [&](auto const& run, std::byte*, std::size_t) {
      run(true, const_cast<std::byte*>(dense), parameter_data(p, arena));
    });
  }

  using parameter_set::refresh;
  void refresh(int worker, int workers, parameter_range const& which) override {
    int turn = 0;
    for (working_copy& c : copies_)
      if (c.training && which.has(c.parameter) && turn++ % workers == worker
          && (is_stale(c) || !(is_frozen(c) || was_followed(c))))
        renew(c);
  }
  void refresh_stale() override {
    std::lock_guard const lock(copying_);
    for (working_copy& c : copies_)
      if (is_stale(c)) renew(c);
  }

  bool is_followed(int p) const override { return followers_[static_cast<std::size_t>(p)] >= 0; }
  void follow(int p, std::size_t begin, std::size_t n) override {
    if constexpr (rounds) {
      working_copy const& c = copies_[static_cast<std::size_t>(followers_[static_cast<std::size_t>(p)])];
      std::size_t const first = begin - table_[static_cast<std::size_t>(p)].offset;
      std::size_t const elements = c.data.bytes() / bytes_of(backend_.element(c.wanted));
      auto const* const from = reinterpret_cast<typename B::scalar const*>(master()) + begin;
      backend_.round(from, c.data.data(), first, std::min(n, elements - first));
    }
  }
  void followed(int p) override {
    copies_[static_cast<std::size_t>(followers_[static_cast<std::size_t>(p)])].followed = version_;
  }

 private:
  /// Whether the backend can write what follows an update.
  static constexpr bool rounds =
      requires(B const& backend, layout const& l, typename B::scalar const* from, std::byte* to) {
    backend.lies_rounded(l, l);
    backend.round(from, to, std::size_t{}, std::size_t{});
  };

  struct working_copy {
    int parameter;  // of what is folded: which
    std::optional<folding> folds;
    layout wanted;
    bool training = false;
    buffer data;
    std::optional<typename B::call> reorder{};
    std::uint64_t version = 0;
    std::uint64_t followed = 0;  // the version of an update that wrote it along
  };

  int find_copy(int p, std::optional<folding> const& folds, layout const& wanted) {
    for (std::size_t c = 0; c < copies_.size(); ++c)
      if (copies_[c].parameter == p && copies_[c].wanted == wanted && copies_[c].folds == folds)
        return static_cast<int>(c);
    copies_.push_back({.parameter = p,
                       .folds = folds,
                       .wanted = wanted,
                       .data = buffer(only_counts_ ? 0 : backend_.bytes(wanted), passes_->space())});
    return static_cast<int>(copies_.size()) - 1;
  }
  /// Of a layer that keeps its bits in updates. What is folded has its norm's statistics in it.
  bool is_frozen(working_copy const& c) const {
    return !c.folds && table_[static_cast<std::size_t>(c.parameter)].frozen;
  }
  bool was_followed(working_copy const& c) const { return c.followed == version_ && written_ < version_; }
  bool is_stale(working_copy const& c) const {
    return !was_followed(c) && c.version < (is_frozen(c) ? written_ : version_);
  }
  void renew(working_copy& c) {
    if (c.folds) {
      std::vector<typename B::scalar> dense =
          detail::folded<typename B::scalar>(*this, *c.folds, c.parameter);
      layout const& lies =
          c.parameter == 0 ? *layouts_[static_cast<std::size_t>(c.folds->weights)] : c.wanted;
      auto const space = passes_->space();
      buffer const beside(space ? dense.size() * sizeof(typename B::scalar) : 0, space);
      void* const addresses[]{space ? static_cast<void*>(beside.data()) : dense.data(), c.data.data()};
      if (space) passes_->bring(reinterpret_cast<std::byte*>(dense.data()), beside.data(), beside.bytes());
      B::bind(backend_.reorder(backend_.plain(lies), c.wanted), addresses)();
      passes_->wait();
    } else {
      if (!c.reorder) {
        void* const addresses[]{parameter_data(c.parameter, master()), c.data.data()};
        c.reorder.emplace(
            B::bind(backend_.reorder(*layouts_[static_cast<std::size_t>(c.parameter)], c.wanted), addresses));
      }
      (*c.reorder)();
    }
    c.version = version_;
  }
  static std::shared_ptr<arena_passes> passes_of(B const& backend) {
    if constexpr (requires { backend.passes(); })
      return backend.passes();
    else
      return detail::passes_on_processor<typename B::scalar>();
  }

  /// Lets `move` carry parameter p between an arena and a dense tensor: run(writes, from, to) by a call that is made once and
  /// bound anew, since an exchange does this in every step. Where arenas lie outside of the processor's memory, the dense
  /// tensor stops over at `outside` beside them, if it comes from the processor or goes there (`leaves`); else that is null. On
  /// one thread: a pool is not worth it.
  template <class Move>
  void crossing(int p, bool leaves, Move move) const {
    detail::thread_scope<B> const single(1);
    std::lock_guard const one_at_a_time(crossing_);
    layout const &lies = *layouts_[static_cast<std::size_t>(p)], dense = backend_.plain(lies);
    crossings_.resize(2 * table_.size());
    auto const run = [&](bool writes, std::byte* from, std::byte* to) {
      auto& call = crossings_[2 * static_cast<std::size_t>(p) + (writes ? 1 : 0)];
      if (!call) {
        void* const addresses[]{from, to};
        call.emplace(
            B::bind(writes ? backend_.reorder(dense, lies) : backend_.reorder(lies, dense), addresses));
      }
      call->set(0, from);
      call->set(1, to);
      (*call)();
    };
    std::size_t bytes = 0;
    if (auto const space = passes_->space(); space && leaves) {
      bytes = backend_.bytes(dense);
      outside_.resize(bytes, space);
    }
    move(run, leaves ? outside_.data() : nullptr, bytes);
  }

  bool only_counts_;
  B backend_;
  std::vector<std::optional<layout>> layouts_;
  mutable std::mutex copying_;  // a plan may be made while others predict
  std::vector<working_copy> copies_;
  std::vector<int> followers_;  // of each parameter: the copy that is written along, or -1
  mutable std::mutex crossing_;
  mutable std::vector<std::optional<typename B::call>> crossings_;
  mutable reusable_buffer outside_;
  bool allocated_ = false;
};

}  // namespace cohort
