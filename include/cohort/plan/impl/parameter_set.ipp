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

bool parameter_set::is_whole() const {
  return std::ranges::all_of(freed_versions_, [](std::uint64_t version) { return version == 0; });
}

void parameter_set::require_whole(int p) const {
  if (!is_whole(p))
    throw setting_error({.what = "this rank has only a part of a parameter",
                         .where = table_[static_cast<std::size_t>(p)].name,
                         .expected =
                             "a call of training::gather_parameters on all ranks since the last step; or "
                             "shard::optimizer_state",
                         .got = "shard::gradients and a backend with working copies"});
}

void parameter_set::mark_whole(int p) const {
  if (!freed_versions_.empty()) freed_versions_[static_cast<std::size_t>(p)] = 0;
}

int parameter_set::read_by_kernel(int p) {
  require_whole(p);
  is_read_[static_cast<std::size_t>(p)] = true;
  return p;
}

bool parameter_set::has_only_copies(int p) const {
  parameter const& wanted = table_[static_cast<std::size_t>(p)];
  if (!wanted.trains() || is_read_[static_cast<std::size_t>(p)] || passes_->space()) return false;
  return std::ranges::any_of(trained_copies(p), [&](std::span<std::byte const> copy) {
    return copy.size() < wanted.room * bytes_of(type_);
  });
}

void parameter_set::free_outside(int p, std::span<arena_range const> kept) {
  write_copies(p);
  if (freed_versions_.empty()) {
    freed_versions_.resize(table_.size());
    detail::request_small_pages(master_.data(), master_.bytes());
  }
  freed_versions_[static_cast<std::size_t>(p)] = version_ + 1;
  parameter const& wanted = table_[static_cast<std::size_t>(p)];
  std::size_t const end = wanted.offset + wanted.room, width = bytes_of(type_);
  std::size_t begin = wanted.offset;
  auto const free_until = [&](std::size_t to) {
    if (to > begin) detail::free_pages(master() + begin * width, (to - begin) * width);
  };
  for (arena_range const& part : kept) {
    free_until(std::min(part.offset, end));
    begin = std::max(begin, part.offset + part.room);
  }
  free_until(end);
}

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
  is_read_.resize(table_.size());
  auto const mark = [&](int id) {
    for (std::size_t p = 0; p < table_.size(); ++p)
      if (table_[p].node == owners_[static_cast<std::size_t>(id)]) is_read_[p] = true;
  };
  for (int id = 0; id < net.size(); ++id) {
    if (!net.kind(id).at_inference) continue;
    mark(id);  // inference may fold this layer's parameters into those of the layer before
    for (int const before : net.inputs(id)) mark(before);
  }
}

}  // namespace cohort
