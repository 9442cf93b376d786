// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/mapped.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <memory>
#include <utility>

namespace cohort::detail {

/// A data set whose examples are computed from the examples of another data set, with another description.
class mapped_examples : public dataset_interface {
 public:
  mapped_examples(dataset data, data_description description, example_mapper compute)
      : data_(std::move(data)), description_(std::move(description)), compute_(std::move(compute)) {}

  data_description const& describe() const override { return description_; }
  bool indexed() const override { return data_.indexed(); }
  std::int64_t size() const override { return data_.size(); }
  void get(std::int64_t i, example_view& out) const override {
    example_view& from = source_of(out);
    data_.model().get(i, from);
    compute(i, from, out);
  }
  bool locate(std::span<std::int64_t const>, std::size_t, std::byte const**) const override { return false; }
  std::unique_ptr<stream_cursor> open(int shard, int shards, std::int64_t epoch,
                                      std::int64_t position) const override {
    struct cursor final : stream_cursor {
      mapped_examples const& of;
      std::unique_ptr<stream_cursor> from;
      std::int64_t next_index;
      std::int64_t step;
      cursor(mapped_examples const& o, std::unique_ptr<stream_cursor> f, std::int64_t i, std::int64_t s)
          : of(o), from(std::move(f)), next_index(i), step(s) {}
      bool next(example_view& out) override {
        example_view& source = of.source_of(out);
        if (!from->next(source)) return false;
        of.compute(std::exchange(next_index, next_index + step), source, out);
        return true;
      }
    };
    if (indexed()) return nullptr;
    return std::make_unique<cursor>(*this, data_.model().open(shard, shards, epoch, position),
                                    position * shards + shard, shards);
  }

 private:
  example_view& source_of(example_view& out) const { return out.source(data_.describe()); }
  void compute(std::int64_t i, example_view const& from, example_view& out) const {
    out.weight = from.weight;
    out.key = from.key;
    for (std::size_t part = 0; part < description_.parts(); ++part) out.point(part, nullptr);
    compute_(i, from, out);
    for (std::size_t part = 0; part < description_.parts(); ++part)
      if (!out.at(part))
        throw data_error({.what = "the function of mapped did not set a tensor",
                          .where = {description_.part(part).name, ", example ", i},
                          .expected = "a call of point or fill for every part",
                          .got = {"none for part ", part}});
  }

  dataset data_;
  data_description description_;
  example_mapper compute_;
};

}  // namespace cohort::detail

namespace cohort {

dataset mapped(dataset const& data, data_description description, example_mapper compute) {
  return dataset(
      std::make_shared<detail::mapped_examples const>(data, std::move(description), std::move(compute)));
}

dataset mapped(dataset const& data, example_editor edit) {
  std::size_t const parts = data.describe().parts();
  return mapped(data, data.describe(),
                [edit = std::move(edit), parts](std::int64_t i, example_view const& from, example_view& to) {
                  for (std::size_t part = 0; part < parts; ++part) to.point(part, from.at(part));
                  edit(i, to);
                });
}

}  // namespace cohort
