// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/batch_readers.hpp>
#include <cohort/data/detail/batch_source.hpp>
#include <cohort/data/order.hpp>
#include <utility>

namespace cohort::detail {

batch_source::batch_source(dataset data, loader_settings settings)
    : data_(std::move(data)), settings_(settings), writer_(data_.describe()) {
  if (settings_.readers > 1 && !data_.model().in_memory())
    readers_ = std::make_unique<batch_readers>(data_, settings_.readers, settings_.deadline);
  else
    example_.allocate(data_.describe());
}

batch_source::~batch_source() = default;

void batch_source::start(std::int64_t epoch, std::int64_t position) {
  epoch_ = epoch;
  position_ = position;
  example_.epoch = epoch;
  bool const local = settings_.is_local();
  if (data_.indexed())
    order_examples(local ? settings_.rank : 0);
  else
    cursor_ = data_.model().open(local ? 0 : settings_.rank, local ? 1 : settings_.ranks, epoch, position);
}

void batch_source::order_examples(int rank) {
  if (settings_.bucket > 0)
    for (std::int64_t i = std::ssize(lengths_); i < data_.size(); ++i)
      lengths_.push_back(data_.length(i).value_or(0));
  order_.start({.seed = settings_.seed,
                .epoch = epoch_,
                .size = data_.size(),
                .rank = rank,
                .shuffle = settings_.shuffle,
                .blocks = settings_.blocks,
                .bucket = settings_.bucket,
                .lengths = lengths_});
}

bool batch_source::fill(batch& out) {
  bool const is_divided = data_.indexed() && !settings_.is_local();
  std::int64_t const most =
      is_divided ? part_of({0, settings_.examples_per_step()}, 0, settings_.ranks).count : settings_.batch;
  detail::resize_batch(out, data_.describe(), static_cast<int>(most));
  out.epoch = epoch_;
  out.ranks = settings_.ranks;
  out.even = settings_.ranks == 1 || is_divided;
  if (!data_.indexed()) return fill_stream(out);
  return settings_.is_local() ? fill_local(out) : fill_indexed(out);
}

bool batch_source::fill_local(batch& out) {
  auto const part = [&](std::int64_t size) {
    return global_batch(size, position_, settings_.batch, 1).count;
  };
  std::int64_t whole = 0, longest = 0, before = 0;
  for (std::size_t r = 0; r < settings_.local_sizes.size(); ++r) {
    std::int64_t const size = settings_.local_sizes[r];
    whole += part(size);
    longest = std::max(longest, size);
    if (r < static_cast<std::size_t>(settings_.rank)) before += size;
  }
  std::int64_t const full = static_cast<std::int64_t>(settings_.batch) * settings_.ranks;
  if (whole == 0 || (settings_.drop_last && whole < full)) return false;
  std::int64_t const mine = part(data_.size());
  order_.copy({std::min(position_, data_.size()), mine}, out.indices);
  out.count = static_cast<int>(mine);
  out.first_index = before + std::min(position_, data_.size());
  out.global_count = whole;
  gather(out);
  for (std::int64_t& index : out.indices) index += before;
  position_ = std::min(position_ + settings_.batch, longest);
  out.next_position = position_;
  return true;
}

bool batch_source::fill_indexed(batch& out) {
  index_slice const whole = global_batch(data_.size(), position_, settings_.batch, settings_.ranks_of_step());
  if (whole.count == 0 || (settings_.drop_last && whole.count < settings_.examples_per_step())) return false;
  index_slice const mine = part_of(whole, settings_.rank, settings_.ranks);
  order_.copy(mine, out.indices);
  out.count = static_cast<int>(mine.count);
  out.first_index = mine.first;
  out.global_count = whole.count;
  gather(out);
  position_ = whole.first + whole.count;
  out.next_position = position_;
  return true;
}

void batch_source::gather(batch& out) {
  writer_.begin(out, out.indices.size());
  if (readers_)
    readers_->gather(out.indices, out);
  else
    writer_.gather(data_.model(), out.indices, example_, out);
}

bool batch_source::fill_stream(batch& out) {
  auto const wanted = static_cast<std::size_t>(settings_.batch);
  std::size_t row = 0;
  writer_.begin(out, wanted);
  out.indices.resize(wanted);
  for (; row < wanted && cursor_->next(example_); ++row) {
    out.indices[row] = (position_ + static_cast<std::int64_t>(row)) * settings_.ranks + settings_.rank;
    writer_.write(example_, out, row);
  }
  if (row == 0 || (settings_.drop_last && row < wanted)) return false;
  writer_.begin(out, row);
  out.indices.resize(row);
  out.count = static_cast<int>(row);
  out.first_index = position_;
  out.global_count = settings_.ranks == 1 ? out.count : -1;
  position_ += out.count;
  out.next_position = position_;
  return true;
}

}  // namespace cohort::detail
