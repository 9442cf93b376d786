// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/description.hpp>
#include <cohort/data/transform.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

/// Where the parts of one example are: each either in the data set's memory or written into this view's own.
class example_view {
 public:
  float weight = 1;
  std::string_view key;
  std::int64_t epoch = 0;  ///< told by who asks: the pass over the data that the example is for

  /// Part `part` lies at `where`, packed, until the next example is asked for.
  void point(std::size_t part, void const* where) { at_[part] = static_cast<std::byte const*>(where); }
  /// Memory for part `part`, to be written by the data set.
  template <class T = std::byte>
  T* fill(std::size_t part) {
    at_[part] = own_[part].data();
    return reinterpret_cast<T*>(own_[part].data());
  }
  std::byte const* at(std::size_t part) const { return at_[part]; }

  void fit(data_description const& what);

 private:
  std::vector<std::byte const*> at_;
  std::vector<reusable_buffer> own_;
};

/// A part whose examples lie in memory at equal distances: batches are gathered from it without a call.
struct example_rows {
  std::byte const* first = nullptr;
  std::size_t distance_bytes = 0;
};

/// A data set whose examples have numbers.
///
/// describe()     the parts of every example; never changes.
/// size()         how many examples.
/// get(i, out)    example i: each part is pointed to or filled; weight and key where described. May be called by
///                several threads, each with its own `out`. The same i and out.epoch give the same example.
/// rows()         optional, span<example_rows const>: one a part, for weightless, keyless data that lies in memory.
template <class D>
concept indexed_dataset = requires(D const& d, std::int64_t i, example_view& out) {
  { d.describe() } -> std::same_as<data_description const&>;
  { d.size() } -> std::convertible_to<std::int64_t>;
  d.get(i, out);
};

/// A data set that is read from front to back.
///
/// describe()                            the parts of every example; never changes.
/// open(shard, of, epoch, position)      a cursor over the part `shard` of `of`, standing before its example
///                                       `position` of that epoch; the cursors share nothing that changes.
/// cursor.next(out)                      the next example, or false at the shard's end.
template <class S>
concept stream_dataset = requires(S const& s, int shard, std::int64_t n, example_view& out) {
  { s.describe() } -> std::same_as<data_description const&>;
  { s.open(shard, shard, n, n).next(out) } -> std::convertible_to<bool>;
};

namespace detail {

/// Makes a batch's tensors what the description says, with room for `capacity` examples.
void fit(batch& b, data_description const& what, int capacity);

/// One part's way into the batch: resolved once, then used for every example.
struct part_writer {
  row_transform transform = nullptr;
  std::size_t elements = 0;
  std::size_t bytes = 0;
  double scale = 1;
  double offset = 0;

  explicit part_writer(tensor_description const& part);
  void operator()(std::byte const* source, std::byte* destination) const;
};

class batch_writer {
 public:
  explicit batch_writer(data_description const& what);

  static named_tensor& tensor(batch& b, std::size_t part);

  void begin(batch& b, std::size_t count) const;

  void write(example_view const& example, batch& b, std::size_t row) const;

  void gather(std::span<example_rows const> rows, std::span<std::int64_t const> indices, batch& b) const;

 private:
  std::vector<part_writer> writers_;
  bool weighted_;
  bool keyed_;
};

struct stream_cursor {
  virtual ~stream_cursor() = default;
  virtual bool next(example_view& out) = 0;
};

struct dataset_interface {
  virtual ~dataset_interface() = default;
  virtual data_description const& describe() const = 0;
  virtual bool indexed() const = 0;
  virtual std::int64_t size() const = 0;
  virtual void gather(std::span<std::int64_t const> indices, batch_writer const& writer,
                      example_view& scratch, batch& out) const = 0;
  virtual std::unique_ptr<stream_cursor> open(int shard, int of, std::int64_t epoch,
                                              std::int64_t position) const = 0;
};

/// `Held` is something that -> reads as a pointer to the user's data set.
template <class D, class Held>
struct dataset_model final : dataset_interface {
  explicit dataset_model(Held held) : held_(std::move(held)) {}

  data_description const& describe() const override { return held_->describe(); }
  bool indexed() const override { return indexed_dataset<D>; }
  std::int64_t size() const override {
    if constexpr (indexed_dataset<D>)
      return static_cast<std::int64_t>(held_->size());
    else
      return -1;
  }

  void gather([[maybe_unused]] std::span<std::int64_t const> indices,
              [[maybe_unused]] batch_writer const& writer, [[maybe_unused]] example_view& scratch,
              [[maybe_unused]] batch& out) const override {
    if constexpr (indexed_dataset<D>) {
      D const& data = *held_;
      if constexpr (requires { std::span<example_rows const>(data.rows()); }) {
        writer.gather(data.rows(), indices, out);
      } else {
        for (std::size_t row = 0; row < indices.size(); ++row) {
          data.get(indices[row], scratch);
          writer.write(scratch, out, row);
        }
      }
    }
  }

  std::unique_ptr<stream_cursor> open([[maybe_unused]] int shard, [[maybe_unused]] int of,
                                      [[maybe_unused]] std::int64_t epoch,
                                      [[maybe_unused]] std::int64_t position) const override {
    if constexpr (stream_dataset<D>) {
      struct model final : stream_cursor {
        decltype(std::declval<D const&>().open(0, 1, 0, 0)) cursor;
        explicit model(D const& data, int s, int o, std::int64_t e, std::int64_t p)
            : cursor(data.open(s, o, e, p)) {}
        bool next(example_view& view) override { return cursor.next(view); }
      };
      return std::make_unique<model>(*held_, shard, of, epoch, position);
    } else {
      return nullptr;
    }
  }

 private:
  Held held_;
};

}  // namespace detail

/// Any data set, as one type: what training, evaluation and the loader take. Copies share the data set.
///
/// Made of a data set by value (copied or moved in), of a shared_ptr to one, or of std::cref(one), which the
/// caller keeps alive for as long as any copy or loader of it.
class dataset {
 public:
  template <class D>
  requires(!std::same_as<D, dataset> && (indexed_dataset<D> || stream_dataset<D>)) dataset(D data)
      : dataset(std::make_shared<D const>(std::move(data))) {}

  template <class D>
  requires(indexed_dataset<std::remove_const_t<D>> || stream_dataset<std::remove_const_t<D>>)
      dataset(std::shared_ptr<D> data) {
    using model = detail::dataset_model<std::remove_const_t<D>, std::shared_ptr<D const>>;
    held_ = std::make_shared<model>(std::move(data));
  }

  template <class D>
  requires(indexed_dataset<D> || stream_dataset<D>) dataset(std::reference_wrapper<D const> data)
      : held_(std::make_shared<detail::dataset_model<D, D const*>>(&data.get())) {}

  data_description const& describe() const { return held_->describe(); }
  /// Whether examples have numbers; else it is a stream.
  bool indexed() const { return held_->indexed(); }
  /// Examples, or −1 for a stream.
  std::int64_t size() const { return held_->size(); }

  detail::dataset_interface const& model() const { return *held_; }

 private:
  std::shared_ptr<detail::dataset_interface const> held_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/dataset.ipp>
#endif
