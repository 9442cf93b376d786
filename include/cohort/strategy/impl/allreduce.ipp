// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/allreduce_parts.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/low_precision_sum.hpp>
#include <cohort/strategy/detail/parameter_hashes.hpp>
#include <cohort/strategy/detail/replicas.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/strategy/merge_statistics.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

static_assert(block_of_parts == arena_passes::chunk, "parts contain whole blocks of norms");

class allreduce_strategy final : public strategy, public shard_exchange {
 public:
  allreduce_strategy(std::unique_ptr<communicator> world, allreduce settings)
      : world_(std::move(world)), how_(settings) {}
  ~allreduce_strategy() override { abandon("the strategy was destroyed during a step"); }

  std::string describe() const override;

  void begin(step_info const& info, replica const& own) override;

  void ready(step_info const& info, bucket const& one, gradient_parts& gradients) override;

  bool before_update(step_info const& info, gradient_parts& gradients) override;

  void after_update(step_info const&, replica const&, bool) override {
    in_flight_ = in_flight_ && (!is_sharded() || late_buckets_ > 0);
  }
  int late_buckets() const override { return late_buckets_; }
  void finish_late(gradient_parts& gradients) override;

  std::optional<state_shard> shard(parameter_set const& parameters, int rank) const override;
  shard_exchange* shard_ranks() override { return is_sharded() ? this : nullptr; }
  void set_workers(int workers) override { workers_ = workers; }
  std::size_t freed_gradients(parameter_set const& parameters) const override;
  void find_maxima(std::span<double> numbers) override;
  std::size_t freed_parameters(parameter_set const& parameters) const override;
  void gather(parameter_set& parameters, bool frees) override;
  void collect(parameter_set const& parameters, parameter_set::arena_range const& which, std::byte* arena,
               bool on_all_ranks) override;

  void abandon(std::string_view why) noexcept override;
  agreement const* agreed() const override { return &agreed_; }
  std::size_t bytes(replica const& own) const override;
  std::vector<measurement> report() const override;
  exchange_times last_exchange() const override { return meter_.last(); }

  strategy_state state() const override;
  void restore(strategy_state const& saved) override;
  /// Divides the sum of all previous ranks' rounding errors evenly among the current ranks.
  void restore_from_ranks(strategy_state const& had, int former, int) override;
  std::function<std::unique_ptr<strategy>(communicator&)> renewal() const override {
    if (how_.overlap_next_forward || how_.shard != cohort::shard::nothing) return {};
    return [settings = how_](communicator& world) { return settings.on(world); };
  }

 private:
  static constexpr char const* kept_name = "rounded_away";

  /// Discards the state of an earlier run.
  void forget();

  bool is_single_rank() const { return world_->size() == 1; }
  bool frees_gradients() const {
    return is_sharded() && how_.shard == cohort::shard::gradients && workers_ == 1;
  }
  bool frees_parameters() const {
    return is_sharded() && how_.shard == cohort::shard::gradients && !how_.overlap_next_forward;
  }
  bool is_sharded() const { return how_.shard != cohort::shard::nothing && !is_single_rank(); }
  /// Returns whether the ranks can have shards.  Order: collective.
  bool can_shard(parameter_set const& parameters) const;
  [[noreturn]] void refuse_shards();
  /// The slices of a bucket's arena range that a rank has after the sum; one slice if they are not divided.
  std::vector<index_slice> parts_in(parameter_set const& parameters, bucket const& layers, int rank) const;
  bool is_divided(parameter_set const& parameters, bucket const& layers) const;
  /// Waits until at most the last sum before bucket `last` is in flight, and frees the gradients of the
  /// others.
  void free_gradients(gradient_parts& gradients, int last);
  bool is_step_valid() const { return agreed_.weight > 0 && !agreed_.all.not_finite; }

  bool overlaps(step_info const& info) const {
    return how_.overlap_next_forward && same_layout_ && !low_precision_ && info.max_late_buckets > 0;
  }
  /// Reports a non-finite number that was found after the votes were sent: sets the first element of `last`,
  /// a bucket that is not late, to NaN.
  static void mark_not_finite(bucket const& last, gradient_parts& gradients);

  bool uses_wire_type(parameter_set const& parameters) const;
  /// Returns whether a bucket is reduced in place, provided that all ranks have the same layout. A bucket on
  /// a device is reduced in place if the communicator sums in the device's memory. A bucket on the processor
  /// is reduced in place if the bucket's padding costs less than packing.
  bool reduces_in_place(parameter_set const& parameters, bucket const& one) const;

  void make_sums(parameter_set const& parameters);
  void make_sum_in_place(parameter_set const& parameters, bucket const& layers);
  weighted_sum& sum_of(bucket const& one) { return sums_[static_cast<std::size_t>(one.index)]; }

  /// Copies this rank's gradient of a bucket to the bucket's sum, unless the sum is in place. Returns the
  /// number of bytes to send.
  std::size_t load_gradient(bucket const& one, gradient_parts& gradients);

  void wait_for_gathers(std::size_t first, std::size_t last);
  void free_parameters(parameter_set& parameters, bucket const& layers);

  /// Waits for the sums of buckets [first, last) and writes their means back.
  void finish_buckets(gradient_parts& gradients, std::size_t first, std::size_t last);
  void end_exchange();

  /// Waits for the low-precision sums and writes their means back. Returns whether the step is taken;
  /// otherwise the step's rounding errors are discarded.
  bool finish_low_precision(step_info const& info, gradient_parts& gradients);

  void resync(step_info const& info, replica const& own);
  /// Throws the error that names the ranks and the first parameter that differ.  Order: collective.
  [[noreturn]] void report_divergence(step_info const& info, parameter_set const& parameters,
                                      std::vector<std::uint64_t> const& own) const;

  std::unique_ptr<communicator> world_;
  allreduce how_;
  std::vector<weighted_sum> sums_;     // one per bucket
  std::optional<weighted_sum> votes_;  // exists if the first bucket's sum has no votes
  std::optional<low_precision_sum> low_precision_;
  buffer saved_;
  element_type saved_type_ = element_type::f32;
  agreement agreed_;
  exchange_meter meter_;
  std::int64_t expected_ = 0;
  bool same_layout_ = false;              // whether all ranks have the same parameter layout
  std::int64_t repairs_ = 0;              // number of resyncs that broadcast rank 0's state
  std::vector<split_allreduce> gathers_;  // one per bucket
  state_shard own_;                       // shard() of this rank, if parameters are freed
  std::size_t freed_ = 0;                 // number of buckets whose gradients were freed in this step
  int workers_ = 1;
  int late_gathers_ = 0;  // number of buckets whose parameters are gathered in the next forward
  int late_buckets_ = 0;
  bool started_ = false;
  bool in_flight_ = false;
  bool restored_ = false;
};

std::string allreduce_strategy::describe() const {
  return text_of({"allreduce, resync ", how_.resync, how_.diverged == when_diverged::repair ? ", repair" : "",
                  how_.wire ? ", wire type " : "", how_.wire ? name_of(*how_.wire) : std::string_view(),
                  how_.overlap_next_forward ? ", overlap with the next forward" : "",
                  how_.shard == cohort::shard::nothing     ? ""
                  : how_.shard == cohort::shard::gradients ? ", sharded gradients and optimizer state"
                                                           : ", sharded optimizer state"});
}

void allreduce_strategy::begin(step_info const& info, replica const& own) {
  if (is_single_rank()) return;
  if (!std::exchange(started_, true)) {
    make_sums(own.parameters);
    if (is_sharded() && !can_shard(own.parameters)) refuse_shards();
    if (!restored_) broadcast_replica(*world_, own);
  } else if (how_.resync > 0 && info.step % how_.resync == 0) {
    resync(info, own);
  }
}

void allreduce_strategy::ready(step_info const& info, bucket const& one, gradient_parts& gradients) {
  if (is_single_rank()) return;
  weighted_sum::contribution const own{info.examples, info.weight};
  std::size_t sent = 0;
  if (overlaps(info) && info.mine.not_finite && &one == &gradients.parameters().buckets().back())
    mark_not_finite(one, gradients);
  meter_.encode([&] { sent = load_gradient(one, gradients); });
  meter_.start(sent, static_cast<std::size_t>(one.elements) * bytes_of(gradients.parameters().type()));
  in_flight_ = true;
  if (votes_ && one.index == 0) votes_->start(*world_, own, info.expected, info.mine);
  if (low_precision_)
    low_precision_->start(*world_, one, info.weight, info.expected);
  else
    sum_of(one).start(*world_, own, info.expected, info.mine);
  if (frees_gradients()) free_gradients(gradients, one.index - 1);
  world_->note({info.step, one.index});
}

bool allreduce_strategy::before_update(step_info const& info, gradient_parts& gradients) {
  agreed_ = {agreed_.meetings + 1, info.expected, static_cast<double>(info.expected), info.mine};
  if (is_single_rank()) {
    agreed_.examples = info.examples;
    agreed_.weight = info.weight;
    return is_step_valid();
  }
  if (votes_) {
    meter_.measure_wait([&] { return votes_->wait(); });
    agreed_ = votes_->read_agreement(agreed_.meetings);
  }
  expected_ = info.expected;
  if (!votes_ && !sums_.empty()) {
    meter_.measure_wait([&] { return sums_[0].wait(); });
    agreed_ = sums_[0].read_agreement(agreed_.meetings);
  }
  if (is_step_valid() && gradients.statistics().channels() > 0)
    meter_.measure_wait([&] {
      meter_.count_dense(merge_statistics(*world_, gradients.statistics()));
      return exchange_meter::clock::now();
    });
  if (low_precision_) return finish_low_precision(info, gradients);
  bool const resyncs = how_.resync > 0 && (info.step + 1) % how_.resync == 0;
  int const late = overlaps(info) && is_step_valid() && !resyncs ? info.max_late_buckets : 0;
  late_gathers_ = is_sharded() ? late : 0;
  late_buckets_ = late - late_gathers_;
  finish_buckets(gradients, static_cast<std::size_t>(late_buckets_), sums_.size());
  if (frees_gradients()) free_gradients(gradients, static_cast<int>(sums_.size()));
  freed_ = 0;
  if (late_buckets_ == 0) end_exchange();
  return is_step_valid();
}

void allreduce_strategy::finish_late(gradient_parts& gradients) {
  if (is_sharded()) {
    wait_for_gathers(0, static_cast<std::size_t>(std::exchange(late_buckets_, 0)));
    in_flight_ = false;
    return;
  }
  meter_.end_wait();
  finish_buckets(gradients, 0, static_cast<std::size_t>(late_buckets_));
  end_exchange();
}

void allreduce_strategy::abandon(std::string_view why) noexcept {
  if (std::exchange(in_flight_, false)) world_->abort(std::string(why));
}

std::size_t allreduce_strategy::bytes(replica const& own) const {
  if (is_single_rank()) return 0;
  parameter_set const& parameters = own.parameters;
  element_type const type = parameters.type();
  if (uses_wire_type(parameters))
    return static_cast<std::size_t>(parameters.elements()) * (2 * bytes_of(type) + bytes_of(*how_.wire));
  std::size_t packed = 0;
  for (bucket const& one : parameters.buckets())
    if (!reduces_in_place(parameters, one)) packed += static_cast<std::size_t>(one.elements);
  return packed * bytes_of(type);
}

std::vector<measurement> allreduce_strategy::report() const {
  if (is_single_rank()) return {};
  std::vector<measurement> all = meter_.report();
  if (repairs_ > 0) all.push_back({"repairs_of_parameters", static_cast<double>(repairs_), true});
  return all;
}

strategy_state allreduce_strategy::state() const {
  strategy_state all;
  if (low_precision_) all.arrays.push_back({kept_name, low_precision_->type(), low_precision_->kept()});
  if (saved_.bytes() > 0) all.arrays.push_back({kept_name, saved_type_, {saved_.data(), saved_.bytes()}});
  return all;
}

void allreduce_strategy::restore(strategy_state const& saved) {
  restored_ = true;
  forget();
  for (strategy_state::array const& one : saved.arrays)
    if (one.name == kept_name) {
      saved_ = copy_of(one.values);
      saved_type_ = one.type;
    }
}

void allreduce_strategy::restore_from_ranks(strategy_state const& had, int former, int) {
  restored_ = true;
  if (former == 0) forget();
  for (strategy_state::array const& one : had.arrays) {
    if (one.name != kept_name) continue;
    require_real(one);
    buffer const theirs = copy_of(one.values);
    if (saved_.bytes() != theirs.bytes()) saved_ = buffer(theirs.bytes());
    saved_type_ = one.type;
    weighted_sum::add(one.type, saved_.data(), theirs.data(), one.values.size() / bytes_of(one.type),
                      1.0 / world_->size());
  }
}

void allreduce_strategy::forget() {
  started_ = false;
  sums_.clear();
  votes_.reset();
  low_precision_.reset();
  saved_ = {};
  own_ = {};
}

void allreduce_strategy::mark_not_finite(bucket const& last, gradient_parts& gradients) {
  parameter_set const& parameters = gradients.parameters();
  parameters.passes().fill(gradients.first(), parameters.range_of(last).offset, 1,
                           std::numeric_limits<double>::quiet_NaN());
}

bool allreduce_strategy::uses_wire_type(parameter_set const& parameters) const {
  return how_.wire && bytes_of(*how_.wire) < bytes_of(parameters.type()) && !parameters.buckets().empty();
}

bool allreduce_strategy::reduces_in_place(parameter_set const& parameters, bucket const& one) const {
  std::shared_ptr<memory_space> const there = parameters.passes().space();
  if (there) return world_->sums_in(*there);
  return is_nearly_packed(static_cast<std::size_t>(one.elements), parameters.range_of(one).room);
}

void allreduce_strategy::make_sums(parameter_set const& parameters) {
  element_type const type = parameters.type();
  same_layout_ = is_same_on_all_ranks(*world_, parameters.layout_hash());
  if (uses_wire_type(parameters)) {
    votes_.emplace(type, 0, true);  // low precision cannot count examples exactly
    low_precision_.emplace(parameters, *how_.wire);
    low_precision_->restore({saved_.data(), saved_.bytes()}, saved_type_);
  } else {
    for (bucket const& one : parameters.buckets()) {
      if (same_layout_ && reduces_in_place(parameters, one))
        make_sum_in_place(parameters, one);
      else
        sums_.emplace_back(type, static_cast<std::size_t>(one.elements),
                           one.index == 0 && !how_.overlap_next_forward);
    }
    if (!sums_.empty() && (sums_[0].is_in_place() || how_.overlap_next_forward))
      votes_.emplace(type, 0, true);
  }
  saved_ = {};
}

void allreduce_strategy::make_sum_in_place(parameter_set const& parameters, bucket const& layers) {
  weighted_sum& sum =
      sums_.emplace_back(parameters.passes(), parameters.type(), parameters.range_of(layers).room);
  if (is_sharded() && is_divided(parameters, layers))
    sum.set_parts(parts_in(parameters, layers, world_->rank()));
}

std::vector<index_slice> allreduce_strategy::parts_in(parameter_set const& parameters, bucket const& layers,
                                                      int rank) const {
  std::size_t const room = parameters.range_of(layers).room;
  if (!reduces_in_place(parameters, layers)) return {{0, static_cast<std::int64_t>(room)}};
  return split_allreduce::parts(parameters.type(), room, rank, world_->size());
}

bool allreduce_strategy::is_divided(parameter_set const& parameters, bucket const& layers) const {
  std::vector<index_slice> const parts = parts_in(parameters, layers, world_->rank());
  return parts.size() != 1 || static_cast<std::size_t>(parts[0].count) != parameters.range_of(layers).room;
}

std::optional<state_shard> allreduce_strategy::shard(parameter_set const& parameters, int rank) const {
  if (!is_sharded()) return std::nullopt;
  state_shard ranges;
  for (std::size_t b = parameters.buckets().size(); b-- > 0;) {  // in the order of the arena
    bucket const& layers = parameters.buckets()[b];
    for (index_slice const& part : parts_in(parameters, layers, rank)) {
      std::size_t const offset = parameters.range_of(layers).offset + static_cast<std::size_t>(part.first);
      auto const room = static_cast<std::size_t>(part.count);
      if (!ranges.empty() && ranges.back().offset + ranges.back().room == offset)
        ranges.back().room += room;
      else
        ranges.push_back({offset, room});
    }
  }
  return ranges;
}

bool allreduce_strategy::can_shard(parameter_set const& parameters) const {
  bool const same = is_same_on_all_ranks(*world_, fnv1a(parameters.updated_by(), parameters.layout_hash()));
  return same && !parameters.passes().space();
}

void allreduce_strategy::refuse_shards() {
  forget();
  throw setting_error(
      {.what = "the optimizers' state cannot be sharded over these ranks",
       .where = "allreduce.shard",
       .expected = "the same backend, instruction set and layouts on all ranks, with parameters in the "
                   "processor's memory; or shard::nothing",
       .got = "parameters on a device, or ranks that differ"});
}

void allreduce_strategy::find_maxima(std::span<double> numbers) {
  world_->allreduce(numbers, reduction::maximum);
}

void allreduce_strategy::gather(parameter_set& parameters, bool frees) {
  gathers_.resize(sums_.size());
  frees = frees && frees_parameters();
  if (frees && own_.empty()) own_ = *shard(parameters, world_->rank());
  bucket const* last = nullptr;
  std::size_t const width = bytes_of(parameters.type());
  for (std::size_t b = gathers_.size(); b-- > 0;) {  // the first layers first
    bucket const& layers = parameters.buckets()[b];
    if (sum_of(layers).parts().empty()) continue;
    parameter_set::arena_range const range = parameters.range_of(layers);
    gathers_[b].start_allgather(*world_,
                                {parameters.master() + range.offset * width, parameters.type(), range.room});
    if (!frees) continue;
    if (last) free_parameters(parameters, *last);  // at most two gathers are in flight
    last = &layers;
  }
  if (last) free_parameters(parameters, *last);
  late_buckets_ = late_gathers_;
  wait_for_gathers(static_cast<std::size_t>(late_buckets_), gathers_.size());
}

void allreduce_strategy::wait_for_gathers(std::size_t first, std::size_t last) {
  for (split_allreduce& pending : std::span(gathers_).subspan(first, last - first)) pending.wait();
}

void allreduce_strategy::free_parameters(parameter_set& parameters, bucket const& layers) {
  gathers_[static_cast<std::size_t>(layers.index)].wait();
  for (int p = layers.first_parameter; p < layers.first_parameter + layers.parameters; ++p)
    if (parameters.has_only_copies(p)) parameters.free_outside(p, own_);
}

void allreduce_strategy::collect(parameter_set const& parameters, parameter_set::arena_range const& which,
                                 std::byte* arena, bool on_all_ranks) {
  constexpr int tag = 0;
  std::size_t const width = bytes_of(parameters.type());
  for (bucket const& layers : parameters.buckets()) {
    if (!is_divided(parameters, layers)) continue;
    std::size_t const offset = parameters.range_of(layers).offset;
    for (int rank = 0; rank < world_->size(); ++rank)
      for (index_slice const& part : parts_in(parameters, layers, rank)) {
        std::size_t const first = offset + static_cast<std::size_t>(part.first),
                          begin = std::max(which.offset, first),
                          end = std::min(which.offset + which.room,
                                         first + static_cast<std::size_t>(part.count));
        if (begin >= end) continue;
        elements const values{arena + begin * width, parameters.type(), end - begin};
        if (on_all_ranks)
          world_->broadcast(values, rank);
        else if (rank != 0 && rank == world_->rank())
          world_->send({values.data, values.bytes()}, 0, tag);
        else if (rank != 0 && world_->rank() == 0)
          world_->receive({values.data, values.bytes()}, rank, tag);
      }
  }
}

void allreduce_strategy::free_gradients(gradient_parts& gradients, int last) {
  for (; static_cast<int>(freed_) < last; ++freed_) {
    weighted_sum& sum = sums_[freed_];
    meter_.measure_wait([&] { return sum.wait(); });
    gradients.free_others(gradients.parameters().buckets()[freed_], sum.parts());
  }
}

/// Returns the elements that are free at any time, if each bucket frees these elements, and at most `whole`
/// adjacent buckets are whole.
std::size_t always_free(std::span<std::size_t const> buckets, std::size_t whole) {
  std::size_t all = 0, most = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    all += buckets[b];
    auto const adjacent = buckets.subspan(b, std::min(whole, buckets.size() - b));
    most = std::max(most, std::accumulate(adjacent.begin(), adjacent.end(), std::size_t{0}));
  }
  return all - most;
}

std::size_t allreduce_strategy::freed_gradients(parameter_set const& parameters) const {
  if (!frees_gradients()) return 0;
  std::vector<std::size_t> of_other_ranks;
  for (bucket const& layers : parameters.buckets()) {
    of_other_ranks.push_back(parameters.range_of(layers).room);
    for (index_slice const& part : parts_in(parameters, layers, world_->rank()))
      of_other_ranks.back() -= static_cast<std::size_t>(part.count);
  }
  if (of_other_ranks.empty()) return 0;
  // The largest bucket may be whole during the whole backward, if it has a shared parameter.
  *std::ranges::max_element(of_other_ranks) = 0;
  return always_free(of_other_ranks, 3) * bytes_of(parameters.type());  // two in flight, and the next one
}

std::size_t allreduce_strategy::freed_parameters(parameter_set const& parameters) const {
  if (!frees_parameters()) return 0;
  std::vector<std::size_t> of_other_ranks;
  for (bucket const& layers : parameters.buckets()) {
    std::size_t& bytes = of_other_ranks.emplace_back();
    std::size_t const offset = parameters.range_of(layers).offset;
    std::vector<index_slice> const parts = parts_in(parameters, layers, world_->rank());
    for (int p = layers.first_parameter; p < layers.first_parameter + layers.parameters; ++p) {
      if (!parameters.has_only_copies(p)) continue;
      parameter const& divided = parameters.table()[static_cast<std::size_t>(p)];
      bytes += divided.room;
      for (index_slice const& part : parts) {
        std::size_t const first = offset + static_cast<std::size_t>(part.first),
                          begin = std::max(divided.offset, first),
                          end = std::min(divided.offset + divided.room,
                                         first + static_cast<std::size_t>(part.count));
        bytes -= begin < end ? end - begin : 0;
      }
    }
  }
  return always_free(of_other_ranks, 2) * bytes_of(parameters.type());
}

std::size_t allreduce_strategy::load_gradient(bucket const& one, gradient_parts& gradients) {
  if (low_precision_) {
    gradients.pack(one, low_precision_->data(one));
    return static_cast<std::size_t>(one.elements) * bytes_of(*how_.wire);
  }
  weighted_sum& sum = sum_of(one);
  if (sum.is_in_place()) {
    gradients.sum(one);
    parameter_set const& parameters = gradients.parameters();
    sum.set_data(gradients.first() + parameters.range_of(one).offset * bytes_of(parameters.type()));
  } else {
    gradients.pack(one, sum.data());
  }
  return sum.bytes();
}

void allreduce_strategy::finish_buckets(gradient_parts& gradients, std::size_t first, std::size_t last) {
  for (bucket const& one : gradients.parameters().buckets().subspan(first, last - first)) {
    weighted_sum& sum = sum_of(one);
    meter_.measure_wait([&] { return sum.wait(); });
    if (agreed_.weight == 0) continue;
    meter_.apply([&] {
      sum.make_mean(agreed_.weight, expected_);
      if (!sum.is_in_place()) gradients.unpack(one, sum.data());
    });
  }
}

void allreduce_strategy::end_exchange() {
  meter_.finish();
  late_buckets_ = 0;
  in_flight_ = is_sharded();  // until after_update
}

bool allreduce_strategy::finish_low_precision(step_info const& info, gradient_parts& gradients) {
  meter_.measure_wait([&] { return low_precision_->wait(); });
  meter_.finish();
  in_flight_ = false;
  if (agreed_.weight == 0) return is_step_valid();
  meter_.apply([&] {
    if (low_precision_->is_finite() && is_step_valid()) low_precision_->keep();
    for (bucket const& one : gradients.parameters().buckets())
      gradients.unpack(one, low_precision_->mean(one, agreed_.weight, info.expected));
  });
  return is_step_valid();
}

void allreduce_strategy::resync(step_info const& info, replica const& own) {
  parameter_set const& parameters = own.parameters;
  std::vector<std::uint64_t> const hashes = parameter_hashes(parameters, same_layout_);
  if (is_same_on_all_ranks(*world_, hash_of_bytes(std::as_bytes(std::span(hashes))))) return;
  bool const same_bits_expected =
      is_same_on_all_ranks(*world_, fnv1a(parameters.updated_by(), parameters.layout_hash()));
  if (same_bits_expected && how_.diverged == when_diverged::stop) report_divergence(info, parameters, hashes);
  broadcast_replica(*world_, own);
  ++repairs_;
}

void allreduce_strategy::report_divergence(step_info const& info, parameter_set const& parameters,
                                           std::vector<std::uint64_t> const& own) const {
  gathered const all = world_->allgatherv(std::as_bytes(std::span(own)));
  divergence const found = find_divergence(all, world_->size());
  throw numeric_error(
      {.what = "the parameters of the ranks differ",
       .where = {"step ", info.step, ", first in ", parameters.table()[found.parameter].name},
       .expected = {"the same bits, because all ranks compute with ", parameters.updated_by()},
       .got = {"other bits on ", text_of_ranks(found.others), " than on ", text_of_ranks(found.most),
               ". Memory is damaged, or the program changes parameters or gradients on some ranks only; "
               "allreduce{.diverged = when_diverged::repair} continues with rank 0's parameters"}});
}

}  // namespace cohort::detail

namespace cohort {

std::unique_ptr<strategy> allreduce::on(communicator& world) const {
  if (resync < 0)
    throw setting_error({.what = "the period of resync is negative",
                         .where = "allreduce.resync",
                         .expected = "0 (never) or a number of steps",
                         .got = {resync}});
  if (wire && *wire != element_type::f32 && *wire != element_type::bf16)
    throw setting_error({.what = "gradients cannot be sent in this type",
                         .where = "allreduce.wire",
                         .expected = "f32 or bf16",
                         .got = {name_of(*wire)}});
  if (overlap_next_forward && wire == element_type::bf16)
    throw setting_error({.what = "bf16 sums cannot overlap with the next forward",
                         .where = "allreduce.overlap_next_forward",
                         .expected = "wire: none or f32",
                         .got = "bf16"});
  if (shard != cohort::shard::nothing && wire)
    throw setting_error({.what = "sharded state cannot be combined with this setting",
                         .where = "allreduce.wire",
                         .expected = "no wire, or shard::nothing",
                         .got = {name_of(*wire)}});
  if (shard != cohort::shard::nothing && diverged == when_diverged::repair)
    throw setting_error({.what = "sharded state cannot be repaired from rank 0, which has only its own part",
                         .where = "allreduce.diverged",
                         .expected = "stop, or shard::nothing",
                         .got = "repair"});
  return std::make_unique<detail::allreduce_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
