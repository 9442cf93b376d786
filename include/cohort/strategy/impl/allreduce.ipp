// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/detail/hash.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/parameter_hashes.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/merge_statistics.hpp>
#include <limits>

namespace cohort::detail {

bool is_same_on_all_ranks(communicator& world, std::uint64_t number) {
  std::uint64_t both[2]{number,
                        ~number};  // their maxima: the largest number, and the complement of the smallest
  world.allreduce(std::span<std::uint64_t>(both), reduction::maximum);
  return both[0] == ~both[1];
}

void broadcast_replica(communicator& world, replica const& mine) {
  buffer const dense(mine.bytes());
  for (int array = 0; array < mine.arrays(); ++array) {
    mine.read(array, dense.data());
    world.broadcast(
        {dense.data(), mine.parameters.type(), static_cast<std::size_t>(mine.parameters.elements())}, 0);
    mine.write(array, dense.data());
  }
  mine.parameters.mark_changed();
}

std::string allreduce_strategy::describe() const {
  return text_of({"allreduce, resync ", how_.resync, how_.diverged == when_diverged::repair ? ", repair" : "",
                  how_.wire ? ", wire type " : "", how_.wire ? name_of(*how_.wire) : std::string_view(),
                  how_.overlap_next_forward ? ", overlap with the next forward" : ""});
}

void allreduce_strategy::begin(step_info const& now, replica const& mine) {
  if (is_single_rank()) return;
  if (!std::exchange(started_, true)) {
    make_sums(mine.parameters);
    if (!restored_) broadcast_replica(*world_, mine);
  } else if (how_.resync > 0 && now.step % how_.resync == 0) {
    resync(now, mine);
  }
}

void allreduce_strategy::ready(step_info const& now, bucket const& one, gradient_parts& gradients) {
  if (is_single_rank()) return;
  weighted_sum::contribution const mine{now.examples, now.weight};
  std::size_t sent = 0;
  if (overlaps(now) && now.mine.not_finite && &one == &gradients.parameters().buckets().back())
    mark_not_finite(one, gradients);
  meter_.encode([&] { sent = load_gradient(one, gradients); });
  meter_.start(sent, static_cast<std::size_t>(one.elements) * bytes_of(gradients.parameters().type()));
  in_flight_ = true;
  if (votes_ && one.index == 0) votes_->start(*world_, mine, now.expected, now.mine);
  if (low_precision_)
    low_precision_->start(*world_, one, now.weight, now.expected);
  else
    sum_of(one).start(*world_, mine, now.expected, now.mine);
  world_->note({now.step, one.index});
}

bool allreduce_strategy::before_update(step_info const& now, gradient_parts& gradients) {
  agreed_ = {agreed_.meetings + 1, now.expected, static_cast<double>(now.expected), now.mine};
  if (is_single_rank()) {
    agreed_.examples = now.examples;
    agreed_.weight = now.weight;
    return is_step_valid();
  }
  if (votes_) {
    meter_.measure_wait([&] { return votes_->wait(); });
    agreed_ = votes_->read_agreement(agreed_.meetings);
  }
  expected_ = now.expected;
  if (!votes_ && !sums_.empty()) {
    meter_.measure_wait([&] { return sums_[0].wait(); });
    agreed_ = sums_[0].read_agreement(agreed_.meetings);
  }
  if (is_step_valid() && gradients.statistics().channels() > 0)
    meter_.measure_wait([&] {
      meter_.count_dense(merge_statistics(*world_, gradients.statistics()));
      return exchange_meter::clock::now();
    });
  if (low_precision_) return finish_low_precision(now, gradients);
  bool const resyncs = how_.resync > 0 && (now.step + 1) % how_.resync == 0;
  late_buckets_ = overlaps(now) && is_step_valid() && !resyncs ? now.max_late_buckets : 0;
  finish_buckets(gradients, static_cast<std::size_t>(late_buckets_), sums_.size());
  if (late_buckets_ == 0) end_exchange();
  return is_step_valid();
}

void allreduce_strategy::finish_late(gradient_parts& gradients) {
  meter_.end_wait();
  finish_buckets(gradients, 0, static_cast<std::size_t>(late_buckets_));
  end_exchange();
}

void allreduce_strategy::abandon(std::string_view why) noexcept {
  if (std::exchange(in_flight_, false)) world_->abort(std::string(why));
}

std::size_t allreduce_strategy::bytes(replica const& mine) const {
  if (is_single_rank()) return 0;
  parameter_set const& parameters = mine.parameters;
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
        sums_.emplace_back(parameters.passes(), type, parameters.range_of(one).room);
      else
        sums_.emplace_back(type, static_cast<std::size_t>(one.elements),
                           one.index == 0 && !how_.overlap_next_forward);
    }
    if (!sums_.empty() && (sums_[0].is_in_place() || how_.overlap_next_forward))
      votes_.emplace(type, 0, true);
  }
  saved_ = {};
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
  in_flight_ = false;
}

bool allreduce_strategy::finish_low_precision(step_info const& now, gradient_parts& gradients) {
  meter_.measure_wait([&] { return low_precision_->wait(); });
  meter_.finish();
  in_flight_ = false;
  if (agreed_.weight == 0) return is_step_valid();
  meter_.apply([&] {
    if (low_precision_->is_finite() && is_step_valid()) low_precision_->keep();
    for (bucket const& one : gradients.parameters().buckets())
      gradients.unpack(one, low_precision_->mean(one, agreed_.weight, now.expected));
  });
  return is_step_valid();
}

void allreduce_strategy::resync(step_info const& now, replica const& mine) {
  parameter_set const& parameters = mine.parameters;
  std::vector<std::uint64_t> const hashes = parameter_hashes(parameters, same_layout_);
  if (is_same_on_all_ranks(*world_, hash_of_bytes(std::as_bytes(std::span(hashes))))) return;
  bool const same_bits_expected =
      is_same_on_all_ranks(*world_, fnv1a(parameters.updated_by(), parameters.layout_hash()));
  if (same_bits_expected && how_.diverged == when_diverged::stop) report_divergence(now, parameters, hashes);
  broadcast_replica(*world_, mine);
  ++repairs_;
}

void allreduce_strategy::report_divergence(step_info const& now, parameter_set const& parameters,
                                           std::vector<std::uint64_t> const& mine) const {
  gathered const all = world_->allgatherv(std::as_bytes(std::span(mine)));
  divergence const found = find_divergence(all, world_->size());
  throw numeric_error(
      {.what = "the parameters of the ranks differ",
       .where = {"step ", now.step, ", first in ", parameters.table()[found.parameter].name},
       .expected = {"the same bits on all ranks, which compute with ", parameters.updated_by(),
                    ". Memory is damaged, or the program changes parameters or gradients on some ranks only; "
                    "allreduce{.diverged = when_diverged::repair} continues with rank 0's"},
       .got = {text_of_ranks(found.others), " unlike ", text_of_ranks(found.most)}});
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
  return std::make_unique<detail::allreduce_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
