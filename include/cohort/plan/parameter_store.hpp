// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/plan/detail/dense_reorders.hpp>
#include <cohort/plan/detail/folding.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Parameters of a network on one backend: master and working copies.
///
/// Order     the first plan made on the store fixes the layouts and allocates the arena. Later plans (other
///           batch sizes, inference) use these layouts or request working copies. Plans are made one at a
///           time; contexts of earlier plans may run at the same time.
/// `counts_only`  allocates nothing: plans on the store only report the memory that they would need.
template <tensor_backend B>
class parameter_store final : public parameter_set {
 public:
  using layout = typename B::layout;

  parameter_store(B backend, graph_view net, bool counts_only = false)
      : parameter_set(net, element_of<typename B::scalar>, passes_of(backend)),
        counts_only_(counts_only),
        backend_(std::move(backend)),
        layouts_(table_.size()),
        update_copies_(table_.size(), -1) {}

  B const& backend() const { return backend_; }

  /// Index of a node's first parameter in the table.
  int first_of(int node) const {
    int const owner = owners_[static_cast<std::size_t>(node)];
    auto const at =
        std::find_if(table_.begin(), table_.end(), [&](parameter const& p) { return p.node == owner; });
    return static_cast<int>(at - table_.begin());
  }
  /// Layout of parameter p, if it is fixed already.
  std::optional<layout> const& fixed_layout(int p) const { return layouts_[static_cast<std::size_t>(p)]; }
  /// Fixes the layout of parameter p, unless it is fixed already.
  void fix_layout(int p, layout const& wanted) {
    if (!layouts_[static_cast<std::size_t>(p)]) layouts_[static_cast<std::size_t>(p)] = wanted;
  }

  /// Assigns every parameter its offset and allocates the master, once. Parameters without a fixed layout
  /// become dense.
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
    if (!counts_only_) master_ = buffer(arena_bytes(), passes_->space());
    allocated_ = true;
  }

  /// Returns the index of the working copy of parameter p in this layout; creates the copy if necessary.
  /// `training`: the copy is refreshed after every update.
  int copy(int p, layout const& wanted, bool training) {
    std::lock_guard const lock(copies_mutex_);
    int const c = find_copy(p, {}, wanted);
    copies_[static_cast<std::size_t>(c)].training |= training;
    if constexpr (has_update_copies)
      if (auto const at = static_cast<std::size_t>(p);
          training && !table_[at].frozen && backend_.is_rounded_copy(*layouts_[at], wanted))
        update_copies_[at] = c;
    return c;
  }
  /// Like copy(), but for folded weights (which = 0) or their bias (1).
  int folded_copy(detail::folding const& how, int which, layout const& wanted) {
    std::lock_guard const lock(copies_mutex_);
    return find_copy(which, how, wanted);
  }
  std::byte* copy_data(int c) const {
    std::lock_guard const lock(copies_mutex_);
    return copies_[static_cast<std::size_t>(c)].data.data();
  }
  int parameter_of_copy(int c) const {
    std::lock_guard const lock(copies_mutex_);
    return copies_[static_cast<std::size_t>(c)].parameter;
  }
  std::byte* parameter_data(int p, std::byte* arena) const {
    return arena + table_[static_cast<std::size_t>(p)].offset * sizeof(typename B::scalar);
  }

  std::vector<std::span<std::byte const>> trained_copies(int p) const override {
    std::lock_guard const lock(copies_mutex_);
    std::vector<std::span<std::byte const>> found;
    for (working_copy const& c : copies_)
      if (is_trained_copy(c, p)) found.push_back({c.data.data(), c.data.bytes()});
    return found;
  }

  std::size_t copy_bytes() const override {
    std::lock_guard const lock(copies_mutex_);
    std::size_t bytes = 0;
    for (auto const& c : copies_) bytes += backend_.bytes(c.wanted);
    return bytes;
  }
  std::string updated_by() const override {
    return std::string(B::name).append(", ").append(passes_->name());
  }
  std::uint64_t layout_hash() const override {
    std::uint64_t hash = detail::purpose_of(name_of(type_), passes_->space() ? "device" : "host");
    for (std::size_t p = 0; p < table_.size(); ++p)
      hash = detail::purpose_of(backend_.describe(*layouts_[p]), std::to_string(table_[p].room),
                                std::to_string(hash));
    return hash;
  }

  void read(int p, std::byte const* arena, std::byte* dense) const override {
    if (arena == master()) require_whole(p);
    reorder(p, true, [&](auto const& run, std::byte* staging, std::size_t bytes) {
      std::byte* const from = parameter_data(p, const_cast<std::byte*>(arena));
      run(false, from, staging ? staging : dense);
      if (staging) passes_->download(staging, dense, bytes);
    });
  }
  void write(int p, std::byte const* dense, std::byte* arena) const override {
    if (arena == master()) mark_whole(p);
    reorder(p, true, [&](auto const& run, std::byte* staging, std::size_t bytes) {
      if (staging) passes_->upload(dense, staging, bytes);
      run(true, staging ? staging : const_cast<std::byte*>(dense), parameter_data(p, arena));
    });
  }

  void read_on_device(int p, std::byte const* arena, std::byte* dense) const override {
    reorder(p, false, [&](auto const& run, std::byte*, std::size_t) {
      run(false, parameter_data(p, const_cast<std::byte*>(arena)), dense);
    });
  }
  void write_on_device(int p, std::byte const* dense, std::byte* arena) const override {
    reorder(p, false, [&](auto const& run, std::byte*, std::size_t) {
      run(true, const_cast<std::byte*>(dense), parameter_data(p, arena));
    });
  }

  using parameter_set::refresh;
  void refresh(int worker, int workers, parameter_range const& which) override {
    int turn = 0;
    for (working_copy& c : copies_)
      if (c.training && which.has(c.parameter) && turn++ % workers == worker
          && (is_stale(c) || !(is_partial(c) || is_frozen(c) || was_written_by_update(c))))
        reorder_copy(c);
  }
  void refresh_stale() override {
    std::lock_guard const lock(copies_mutex_);
    for (working_copy& c : copies_)
      if (is_stale(c)) reorder_copy(c);
  }

  bool has_update_copy(int p) const override { return update_copies_[static_cast<std::size_t>(p)] >= 0; }
  void write_update_copy(int p, std::size_t begin, std::size_t n) override {
    if constexpr (has_update_copies) {
      working_copy const& c = copies_[static_cast<std::size_t>(update_copies_[static_cast<std::size_t>(p)])];
      std::size_t const first = begin - table_[static_cast<std::size_t>(p)].offset;
      std::size_t const elements = c.data.bytes() / bytes_of(backend_.element(c.wanted));
      auto const* const from = reinterpret_cast<typename B::scalar const*>(master()) + begin;
      backend_.round(from, c.data.data(), first, std::min(n, elements - first));
    }
  }
  void mark_update_copy(int p) override {
    copies_[static_cast<std::size_t>(update_copies_[static_cast<std::size_t>(p)])].updated_version = version_;
  }

 private:
  /// Whether the backend supports rounded copies that an update writes.
  static constexpr bool has_update_copies =
      requires(B const& backend, layout const& l, typename B::scalar const* from, std::byte* to) {
    backend.is_rounded_copy(l, l);
    backend.round(from, to, std::size_t{}, std::size_t{});
  };

  struct working_copy {
    int parameter;  // index; for folded weights: `which`
    std::optional<detail::folding> folds;
    layout wanted;
    bool training = false;
    buffer data;
    std::optional<typename B::call> reorder{};
    std::uint64_t version = 0;
    std::uint64_t updated_version = 0;  // version of the update that wrote the copy
  };

  int find_copy(int p, std::optional<detail::folding> const& folds, layout const& wanted) {
    for (std::size_t c = 0; c < copies_.size(); ++c)
      if (copies_[c].parameter == p && copies_[c].wanted == wanted && copies_[c].folds == folds)
        return static_cast<int>(c);
    copies_.push_back({.parameter = p,
                       .folds = folds,
                       .wanted = wanted,
                       .data = buffer(counts_only_ ? 0 : backend_.bytes(wanted), passes_->space())});
    return static_cast<int>(copies_.size()) - 1;
  }
  /// Returns whether updates leave the copy unchanged, because its layer is frozen. False for folded copies,
  /// because they also depend on running statistics.
  bool is_frozen(working_copy const& c) const {
    return !c.folds && table_[static_cast<std::size_t>(c.parameter)].frozen;
  }
  bool was_written_by_update(working_copy const& c) const {
    return c.updated_version == version_ && written_ < version_;
  }
  bool is_partial(working_copy const& c) const { return !c.folds && !is_whole(c.parameter); }
  static bool is_trained_copy(working_copy const& c, int p) {
    return !c.folds && c.training && c.parameter == p;
  }
  bool is_stale(working_copy const& c) const {
    if (is_partial(c)) return c.version < freed_version(c.parameter);
    return !was_written_by_update(c) && c.version < (is_frozen(c) ? written_ : version_);
  }
  /// Updates a copy from the master; `is_gathered`: the master is whole, although it is marked otherwise.
  void reorder_copy(working_copy& c, bool is_gathered = false) {
    if (is_partial(c) && !is_gathered) {
      working_copy& from = other_copy(c);
      void* const addresses[]{from.data.data(), c.data.data()};
      B::bind(backend_.reorder(from.wanted, c.wanted), addresses)();
    } else if (c.folds) {
      std::vector<typename B::scalar> dense =
          detail::folded<typename B::scalar>(*this, *c.folds, c.parameter);
      layout const& source_layout =
          c.parameter == 0 ? *layouts_[static_cast<std::size_t>(c.folds->weights)] : c.wanted;
      auto const space = passes_->space();
      buffer const uploaded(space ? dense.size() * sizeof(typename B::scalar) : 0, space);
      void* const addresses[]{space ? static_cast<void*>(uploaded.data()) : dense.data(), c.data.data()};
      if (space)
        passes_->upload(reinterpret_cast<std::byte*>(dense.data()), uploaded.data(), uploaded.bytes());
      B::bind(backend_.reorder(backend_.plain(source_layout), c.wanted), addresses)();
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
  /// Returns a fresh copy of the same parameter and element type.  Errors: setting_error if there is none.
  working_copy& other_copy(working_copy const& c) {
    auto const found = std::ranges::find_if(copies_, [&](working_copy const& from) {
      return !from.folds && from.parameter == c.parameter && !is_stale(from)
             && backend_.element(from.wanted) == backend_.element(c.wanted);
    });
    if (found == copies_.end()) require_whole(c.parameter);
    return *found;
  }
  void write_copies(int p) override {
    std::lock_guard const lock(copies_mutex_);
    for (working_copy& c : copies_)
      if (is_trained_copy(c, p)) {
        reorder_copy(c, true);
        c.version = version_ + 1;
      }
  }
  /// See dense_reorders::run.
  template <class Move>
  void reorder(int p, bool host_side, Move move) const {
    reorders_.run(backend_, *passes_, p, *layouts_[static_cast<std::size_t>(p)], host_side, move);
  }
  static std::shared_ptr<arena_passes> passes_of(B const& backend) {
    if constexpr (requires { backend.passes(); })
      return backend.passes();
    else
      return detail::passes_on_processor<typename B::scalar>();
  }

  bool counts_only_;
  B backend_;
  std::vector<std::optional<layout>> layouts_;
  mutable std::mutex copies_mutex_;  // a plan may be made while other contexts predict
  std::vector<working_copy> copies_;
  std::vector<int> update_copies_;  // per parameter: the copy that updates write, or -1
  mutable detail::dense_reorders<B> reorders_;
  bool allocated_ = false;
};

}  // namespace cohort
