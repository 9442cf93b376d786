// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/description.hpp>
#include <cohort/data/detail/batch_writer.hpp>
#include <cohort/data/example_view.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

/// One part of every example, stored with a constant stride, so that batches are gathered without calls of
/// get().
struct example_rows {
  std::byte const* first = nullptr;  ///< example 0
  std::size_t stride_bytes = 0;      ///< from one example to the next
};

/// A data set with random access to its examples.
///
/// describe()     returns the parts of every example; constant.
/// size()         returns the number of examples.
/// get(i, out)    sets every part of `out` to example i by point or fill, and weight and key if described.
///                Several threads may call it, each with its own `out`. The same i and out.epoch give the
///                same example.
/// rows()         optional: returns a span<example_rows const>, one per part, for data in memory without
///                weights and keys. Views of the data set (split, select, concat, …) use it, too.
/// label(i)       optional: returns the class label of the first target of example i, so that splits need not
///                read the example; nullopt if only get can determine it.
/// length(i)      optional: returns the number of steps of example i without padding, for
///                loader_settings::bucket. Views forward it, except for mix and mapped.
template <class D>
concept indexed_dataset = requires(D const& d, std::int64_t i, example_view& out) {
  { d.describe() } -> std::same_as<data_description const&>;
  { d.size() } -> std::convertible_to<std::int64_t>;
  d.get(i, out);
};

/// A data set that is read sequentially.
///
/// describe()                               returns the parts of every example; constant.
/// open(shard, shards, epoch, position)     returns a cursor over shard `shard` of `shards` in that epoch.
///                                          Its first example has index `position` in the shard. Cursors
///                                          share no mutable state.
/// cursor.next(out)                         sets `out` to the next example; returns false at the end of the
///                                          shard.
template <class S>
concept stream_dataset = requires(S const& s, int shard, std::int64_t n, example_view& out) {
  { s.describe() } -> std::same_as<data_description const&>;
  { s.open(shard, shard, n, n).next(out) } -> std::convertible_to<bool>;
};

namespace detail {

/// Returns data.label(i), the class label of an example; nullopt if D has no such member.
template <class D>
std::optional<std::int64_t> label_in(D const& data, std::int64_t i) {
  if constexpr (requires { std::optional<std::int64_t>(data.label(i)); })
    return data.label(i);
  else
    return {};
}

/// Returns data.length(i), the number of steps of an example; nullopt if D has no such member.
template <class D>
std::optional<int> length_in(D const& data, std::int64_t i) {
  if constexpr (requires { std::optional<int>(data.length(i)); })
    return data.length(i);
  else
    return {};
}

/// Interface of a stream_dataset's cursor.
struct stream_cursor {
  virtual ~stream_cursor() = default;
  virtual bool next(example_view& out) = 0;
};

/// Interface of a data set: get and locate are for indexed data sets, open for streams.
struct dataset_interface {
  static constexpr std::size_t max_located = 128;

  virtual ~dataset_interface() = default;
  virtual data_description const& describe() const = 0;
  virtual bool indexed() const = 0;
  virtual std::int64_t size() const = 0;
  virtual void get(std::int64_t i, example_view& out) const = 0;
  /// Writes the addresses of part `part` of the examples `indices` (at most max_located examples). Returns
  /// false, for any indices, if examples are available only through get, because they are not in memory or
  /// have weights or keys.
  virtual bool locate(std::span<std::int64_t const> indices, std::size_t part,
                      std::byte const** addresses) const = 0;
  virtual std::unique_ptr<stream_cursor> open(int shard, int shards, std::int64_t epoch,
                                              std::int64_t position) const = 0;
  /// See indexed_dataset.
  virtual std::optional<std::int64_t> label(std::int64_t) const { return {}; }
  virtual std::optional<int> length(std::int64_t) const { return {}; }
  /// See dataset::rows_that_continue.
  virtual int rows_that_continue() const { return 0; }

  /// Returns whether every example is in memory, without weights and keys.
  bool in_memory() const { return locate({}, 0, nullptr); }
};

/// Implements dataset_interface for a data set of type D, to which `Pointer` is a raw or smart pointer.
template <class D, class Pointer>
struct dataset_model final : dataset_interface {
  explicit dataset_model(Pointer data) : data_(std::move(data)) {}

  data_description const& describe() const override { return data_->describe(); }
  bool indexed() const override { return indexed_dataset<D>; }
  std::int64_t size() const override {
    if constexpr (indexed_dataset<D>)
      return static_cast<std::int64_t>(data_->size());
    else
      return -1;
  }

  void get([[maybe_unused]] std::int64_t i, [[maybe_unused]] example_view& out) const override {
    if constexpr (indexed_dataset<D>) get_example(*data_, i, out);
  }

  bool locate([[maybe_unused]] std::span<std::int64_t const> indices, [[maybe_unused]] std::size_t part,
              [[maybe_unused]] std::byte const** addresses) const override {
    if constexpr (requires(D const& data) { std::span<example_rows const>(data.rows()); }) {
      if (indices.empty()) return true;
      example_rows const rows = std::span<example_rows const>(std::as_const(*data_).rows())[part];
      for (std::size_t k = 0; k < indices.size(); ++k)
        addresses[k] = rows.first + static_cast<std::size_t>(indices[k]) * rows.stride_bytes;
      return true;
    } else {
      return false;
    }
  }

  std::unique_ptr<stream_cursor> open([[maybe_unused]] int shard, [[maybe_unused]] int shards,
                                      [[maybe_unused]] std::int64_t epoch,
                                      [[maybe_unused]] std::int64_t position) const override {
    if constexpr (stream_dataset<D>) {
      struct model final : stream_cursor {
        D const& data;
        decltype(std::declval<D const&>().open(0, 1, 0, 0)) cursor;
        std::int64_t position;
        explicit model(D const& from, int s, int o, std::int64_t e, std::int64_t p)
            : data(from), cursor(from.open(s, o, e, p)), position(p) {}
        bool next(example_view& view) override {
          example_parts::reset(view);
          if (!cursor.next(view)) return false;
          example_parts::require_all(view, data.describe(), position++, " of the shard");
          return true;
        }
      };
      return std::make_unique<model>(*data_, shard, shards, epoch, position);
    } else {
      return nullptr;
    }
  }

  std::optional<std::int64_t> label(std::int64_t i) const override { return label_in(*data_, i); }
  std::optional<int> length(std::int64_t i) const override { return length_in(*data_, i); }

 private:
  Pointer data_;
};

}  // namespace detail

class dataset;

namespace detail {

/// A type from which a dataset is constructed: it models one of the two concepts, and is neither a dataset
/// nor derived from dataset_interface.
template <class D>
concept erasable_dataset =
    !std::same_as<
        D, dataset> && !std::derived_from<D, dataset_interface> && (indexed_dataset<D> || stream_dataset<D>);

/// A type that has describe() and models neither concept.
template <class D>
concept nearly_dataset = !indexed_dataset<D> && !stream_dataset<D> && requires(D const& d) {
  { d.describe() } -> std::convertible_to<data_description>;
};

/// Does not compile: the error names the member that D lacks, or declares differently.
template <class D>
void explain_missing_dataset_member() {
  static_assert(std::same_as<decltype(std::declval<D const&>().describe()), data_description const&>,
                "cohort: describe() of a data set returns a data_description const&, not a copy");
  static_assert(
      requires(D const& d) {
        { d.size() } -> std::convertible_to<std::int64_t>;
      } || requires(D const& d) { d.open(0, 0, 0, 0); },
      "cohort: a data set has size() const, its number of examples; a stream has open instead");
  static_assert(
      requires(D const& d, std::int64_t i, example_view& out) { d.get(i, out); },
      "cohort: a data set has get(std::int64_t i, cohort::example_view& out) const; a stream has "
      "open(shard, shards, epoch, position) const, whose result has next(out)");
}

}  // namespace detail

/// A type-erased data set, for training, evaluation and the loader. Copies share the data set.
///
/// Constructed from a data set by value (copied or moved), from a shared_ptr, or from std::cref.
///
/// Before    a data set passed by std::cref outlives all copies and loaders of it.
class dataset {
 public:
  template <detail::erasable_dataset D>
  dataset(D data) : dataset(std::make_shared<D const>(std::move(data))) {}

  template <class D>
  requires detail::erasable_dataset<std::remove_const_t<D>> dataset(std::shared_ptr<D> data) {
    using model = detail::dataset_model<std::remove_const_t<D>, std::shared_ptr<D const>>;
    model_ = std::make_shared<model>(std::move(data));
  }

  template <detail::erasable_dataset D>
  dataset(std::reference_wrapper<D const> data)
      : model_(std::make_shared<detail::dataset_model<D, D const*>>(&data.get())) {}

  explicit dataset(std::shared_ptr<detail::dataset_interface const> model) : model_(std::move(model)) {}

  /// Does not compile: the error names the member that the type lacks.
  template <detail::nearly_dataset D>
  dataset(D const&) {
    detail::explain_missing_dataset_member<D>();
  }

  /// Returns the parts of every example.
  data_description const& describe() const& { return model_->describe(); }
  data_description describe() && { return model_->describe(); }  // outlives the temporary
  /// Returns whether the data set is an indexed_dataset; otherwise it is a stream_dataset.
  bool indexed() const { return model_->indexed(); }
  /// Returns the number of examples; −1 for a stream.
  std::int64_t size() const { return model_->size(); }
  /// Sets `out` to example i.  Errors: setting_error for a stream.
  void get(std::int64_t i, example_view& out) const {
    require_random_access("get");
    model_->get(i, out);
  }

  /// Returns the class label of the first target of example i; nullopt if only get can determine it.
  ///
  /// Before    indexed().
  std::optional<std::int64_t> label(std::int64_t i) const { return model_->label(i); }
  /// Returns the number of steps of example i without padding. Returns nullopt if the examples are not
  /// sequences of different lengths, and for views by mix and mapped.
  ///
  /// Before    indexed().
  std::optional<int> length(std::int64_t i) const { return model_->length(i); }

  /// Throws setting_error if the data set is a stream; `user` is the name of the caller in the message.
  void require_random_access(char const* user) const;

  /// Returns the argument `rows` of continued_crops if the data set is a result of continued_crops, or a view
  /// of such a result by with_keys. Example i then continues example i − rows. Otherwise returns 0.
  int rows_that_continue() const { return model_->rows_that_continue(); }

  detail::dataset_interface const& model() const { return *model_; }

 private:
  std::shared_ptr<detail::dataset_interface const> model_;
};

}  // namespace cohort
