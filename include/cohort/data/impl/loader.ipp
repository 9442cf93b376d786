// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/detail/batch_readers.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/order.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <string>
#include <utility>

namespace cohort::detail {

COHORT_CORE_INLINE batch_source::batch_source(dataset data, loader_settings settings)
    : data_(std::move(data)), settings_(settings), writer_(data_.describe()) {
  if (settings_.readers > 1 && !data_.model().in_memory())
    readers_ = std::make_unique<batch_readers>(data_, settings_.readers, settings_.deadline);
  else
    example_.allocate(data_.describe());
}

COHORT_CORE_INLINE batch_source::~batch_source() = default;

COHORT_CORE_INLINE void batch_source::start(std::int64_t epoch, std::int64_t position) {
  epoch_ = epoch;
  position_ = position;
  example_.epoch = epoch;
  bool const local = settings_.is_local();
  if (data_.indexed())
    epoch_order(order_, settings_.seed, epoch, data_.size(), settings_.shuffle, local ? settings_.rank : 0);
  else
    cursor_ = data_.model().open(local ? 0 : settings_.rank, local ? 1 : settings_.ranks, epoch, position);
}

COHORT_CORE_INLINE bool batch_source::fill(batch& out) {
  detail::resize_batch(out, data_.describe(), settings_.batch);
  out.epoch = epoch_;
  if (!data_.indexed()) return fill_stream(out);
  return settings_.is_local() ? fill_local(out) : fill_indexed(out);
}

COHORT_CORE_INLINE bool batch_source::fill_local(batch& out) {
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
  auto const first = order_.begin() + std::min(position_, data_.size());
  out.indices.assign(first, first + mine);
  out.count = static_cast<int>(mine);
  out.first_index = before + std::min(position_, data_.size());
  out.global_count = whole;
  gather(out);
  for (std::int64_t& index : out.indices) index += before;
  position_ = std::min(position_ + settings_.batch, longest);
  out.next_position = position_;
  return true;
}

COHORT_CORE_INLINE bool batch_source::fill_indexed(batch& out) {
  index_slice const whole = global_batch(data_.size(), position_, settings_.batch, settings_.ranks);
  std::int64_t const full = static_cast<std::int64_t>(settings_.batch) * settings_.ranks;
  if (whole.count == 0 || (settings_.drop_last && whole.count < full)) return false;
  index_slice const mine = part_of(whole, settings_.rank, settings_.ranks);
  auto const first = order_.begin() + mine.first;
  out.indices.assign(first, first + mine.count);
  out.count = static_cast<int>(mine.count);
  out.first_index = mine.first;
  out.global_count = whole.count;
  gather(out);
  position_ = whole.first + whole.count;
  out.next_position = position_;
  return true;
}

COHORT_CORE_INLINE void batch_source::gather(batch& out) {
  writer_.begin(out, out.indices.size());
  if (readers_)
    readers_->gather(out.indices, out);
  else
    writer_.gather(data_.model(), out.indices, example_, out);
}

COHORT_CORE_INLINE bool batch_source::fill_stream(batch& out) {
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

COHORT_CORE_INLINE batch_queue::batch_queue(dataset data, loader_settings settings)
    : source_(std::move(data), settings), slots_(static_cast<std::size_t>(settings.prefetch) + 1) {}

COHORT_CORE_INLINE void batch_queue::start(std::int64_t epoch, std::int64_t position) {
  std::lock_guard const lock(mutex_);
  ++generation_;
  epoch_ = epoch;
  position_ = position;
  ready_ = 0;
  ended_ = false;
  failure_ = nullptr;
  changed_.notify_all();
}

COHORT_CORE_INLINE bool batch_queue::pop(std::chrono::milliseconds deadline, batch const*& out) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, deadline, [&] { return ready_ > 0 || ended_; })) return false;
  if (ready_ == 0) {
    if (failure_) std::rethrow_exception(failure_);
    out = nullptr;
    return true;
  }
  out = &slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  --ready_;
  changed_.notify_all();
  return true;
}

COHORT_CORE_INLINE bool batch_queue::stop(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, deadline, [&] { return stopped_; });
}

COHORT_CORE_INLINE void batch_queue::run() {
  std::unique_lock lock(mutex_);
  std::uint64_t mine = 0;
  while (!stopping_) {
    bool const restart = mine != generation_;
    if (!restart && (mine == 0 || ended_ || ready_ + 1 >= slots_.size())) {
      changed_.wait_for(lock, std::chrono::seconds(1));
      continue;
    }
    mine = generation_;
    std::int64_t const epoch = epoch_;
    std::int64_t const position = position_;
    batch& slot = slots_[(next_ + ready_) % slots_.size()];
    std::exception_ptr failure;
    bool more = false;
    lock.unlock();
    try {
      if (restart) source_.start(epoch, position);
      more = source_.fill(slot);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (mine != generation_) continue;
    if (more) ++ready_;
    ended_ = !more;
    failure_ = failure;
    changed_.notify_all();
  }
  stopped_ = true;
  changed_.notify_all();
}

COHORT_CORE_INLINE loader_settings checked_settings(loader_settings s, dataset const& data) {
  auto const refuse = [](char const* field, std::string expected, std::int64_t got) {
    throw setting_error(
        {.what = "invalid loader settings", .where = field, .expected = std::move(expected), .got = {got}});
  };
  if (s.batch < 1) refuse("batch", "at least 1", s.batch);
  if (s.ranks < 1) refuse("ranks", "at least 1", s.ranks);
  if (s.rank < 0 || s.rank >= s.ranks) refuse("rank", "0 to " + std::to_string(s.ranks - 1), s.rank);
  if (s.prefetch < 0 || s.prefetch > 1024) refuse("prefetch", "0 to 1024", s.prefetch);
  if (s.readers < 1 || s.readers > 256) refuse("readers", "1 to 256", s.readers);
  if (s.readers > 1 && !data.indexed())
    refuse("readers", "1, because a stream is read in sequence", s.readers);
  if (s.deadline.count() < 1) refuse("deadline", "at least 1 ms", s.deadline.count());
  if (s.is_local()) {
    if (s.local_sizes.size() != static_cast<std::size_t>(s.ranks))
      refuse("local_sizes", text_of({s.ranks, ", one per rank"}), std::ssize(s.local_sizes));
    std::int64_t const own_size = s.local_sizes[static_cast<std::size_t>(s.rank)];
    if (own_size != data.size())
      refuse("local_sizes", text_of({data.size(), " examples on this rank"}), own_size);
    if (std::ranges::count(s.local_sizes, 0) == s.ranks) refuse("data", "at least 1 example on some rank", 0);
  } else if (data.indexed() && data.size() < 1) {
    refuse("data", "at least 1 example", data.size());
  }
  return s;
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE loader::loader(dataset data, loader_settings settings)
    : settings_(detail::checked_settings(settings, data)),
      size_(settings.is_local() ? std::ranges::max(settings.local_sizes) : data.size()) {
  if (settings.prefetch == 0) {
    source_ = std::make_unique<detail::batch_source>(std::move(data), settings);
    return;
  }
  queue_ = std::make_shared<detail::batch_queue>(std::move(data), settings);
  thread_ = std::thread([queue = queue_] { queue->run(); });
}

COHORT_CORE_INLINE loader::~loader() {
  if (!queue_) return;
  if (queue_->stop(settings_.deadline))
    thread_.join();
  else
    thread_.detach();
}

COHORT_CORE_INLINE void loader::start(std::int64_t epoch, std::int64_t position) {
  if (position < 0 || (size_ >= 0 && position > size_))
    throw setting_error({.what = "the start position is out of range",
                         .where = "loader::start, position",
                         .expected = {"0 to ", size_},
                         .got = {position}});
  epoch_ = epoch;
  position_ = position;
  started_ = true;
  ended_ = false;
  failure_ = nullptr;
  if (queue_)
    queue_->start(epoch, position);
  else
    source_->start(epoch, position);
}

COHORT_CORE_INLINE batch const* loader::next() {
  if (!started_) start(0);
  if (ended_) return nullptr;
  batch const* result = nullptr;
  if (!queue_) {
    result = make_batch();
  } else if (!queue_->pop(settings_.deadline, result)) {
    throw deadline_error({.what = "the data set did not provide a batch in time",
                          .where = {"epoch ", epoch_, ", position ", position_, ", rank ", settings_.rank},
                          .expected = {"a batch within ", settings_.deadline.count(), " ms"},
                          .got = "no batch"});
  }
  if (result) position_ = result->next_position;
  ended_ = result == nullptr;
  return result;
}

COHORT_CORE_INLINE std::int64_t loader::batches() const {
  if (size_ < 0) return -1;
  bool const local = settings_.is_local();
  std::int64_t const full = static_cast<std::int64_t>(settings_.batch) * (local ? 1 : settings_.ranks);
  if (settings_.drop_last) return (local ? std::ranges::min(settings_.local_sizes) : size_) / full;
  return (size_ + full - 1) / full;
}

COHORT_CORE_INLINE batch const* loader::make_batch() {
  if (failure_) std::rethrow_exception(failure_);
  try {
    return source_->fill(batch_) ? &batch_ : nullptr;
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

}  // namespace cohort
