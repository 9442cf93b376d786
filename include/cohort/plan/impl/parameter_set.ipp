// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/view.hpp>
#include <utility>

namespace cohort {

parameter_set::arena_range parameter_set::range_of(bucket const& b) const {
  parameter const& front = table_[static_cast<std::size_t>(b.first_parameter)];
  parameter const& back = table_[static_cast<std::size_t>(b.first_parameter + b.parameters - 1)];
  return {front.offset, back.offset + back.room - front.offset};
}

std::size_t parameter_set::offset_of(int p) const {
  return p < static_cast<int>(table_.size()) ? table_[static_cast<std::size_t>(p)].offset : arena_elements_;
}

std::span<parameter const> parameter_set::table() const { return table_; }

std::span<bucket const> parameter_set::buckets() const { return buckets_; }

void parameter_set::freeze(std::function<bool(std::size_t)> const& frozen) {
  if (arena_elements_ > 0)
    throw setting_error({.what = "cannot freeze layers: a plan has already been made",
                         .expected = "parameter_set::freeze before the first plan"});
  for (std::size_t p = 0; p < table_.size(); ++p)
    table_[p].frozen = p > 0 && table_[p - 1].node == table_[p].node ? table_[p - 1].frozen : frozen(p);
  buckets_ = make_buckets(table_, bytes_of(type_));
}

void parameter_set::initialise(std::uint64_t seed, initial_parameters const& defaults) {
  std::vector<double> dense;
  std::vector<float> rounded;
  for (int p = 0; p < static_cast<int>(table_.size()); ++p) {
    parameter const& one = table_[static_cast<std::size_t>(p)];
    random_stream const stream(seed, detail::purpose_of("parameters", one.layer(), one.spec.name));
    initialiser const how = one.spec.initial.value_or(
        one.spec.role == parameter_role::weights ? defaults.weights : defaults.bias);
    dense.assign(static_cast<std::size_t>(one.spec.dims.elements()), 0);
    fill<double>(how, dense, one.spec.fan_in, one.spec.fan_out, one.spec.dims, stream);
    std::fill_n(dense.begin() + one.spec.part.first, one.spec.part.count, one.spec.part.value);
    if (type_ == element_type::f32) {
      rounded.assign(dense.begin(), dense.end());
      write(p, reinterpret_cast<std::byte const*>(rounded.data()), master());
    } else {
      write(p, reinterpret_cast<std::byte const*>(dense.data()), master());
    }
  }
  mark_changed();
}

void parameter_set::read_all(std::byte const* arena, std::byte* dense) const {
  for (int p = 0; p < static_cast<int>(table_.size()); ++p)
    read(p, arena,
         dense + static_cast<std::size_t>(table_[static_cast<std::size_t>(p)].first) * bytes_of(type_));
}

void parameter_set::write_all(std::byte const* dense, std::byte* arena) const {
  for (int p = 0; p < static_cast<int>(table_.size()); ++p)
    write(p, dense + static_cast<std::size_t>(table_[static_cast<std::size_t>(p)].first) * bytes_of(type_),
          arena);
}

parameter_set::parameter_set(graph_view net, element_type type, std::shared_ptr<arena_passes> passes)
    : type_(type), passes_(std::move(passes)) {
  for (int id = 0; id < net.size(); ++id) {
    owners_.push_back(net.owner(id));
    if (owners_.back() != id) continue;
    parameter_list const list = net.parameters(id);
    for (int i = 0; i < list.count; ++i) {
      parameter one;
      one.spec = list.specs[static_cast<std::size_t>(i)];
      one.name = net.name(id) + '.' + std::string(one.spec.name);
      one.node = id;
      one.index = i;
      one.first = elements_;
      elements_ += one.spec.dims.elements();
      table_.push_back(std::move(one));
    }
  }
  buckets_ = make_buckets(table_, bytes_of(type));
}

}  // namespace cohort
