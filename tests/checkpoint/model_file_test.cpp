// SPDX-License-Identifier: Apache-2.0
// covers: checkpoint/model_content checkpoint/training_position
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "scratch_folder.hpp"
#include "small_disk.hpp"

namespace model_file_test {

using namespace cohort;

graph small(int units = 3, char const* name = "fc") {
  return graph::build([=](builder& net) {
    return net.input({1, 6, 6}) | conv2d{.filters = 2, .kernel = 3} | relu{}
           | dense{.units = units, .name = name} | softmax_cross_entropy{};
  });
}

template <class T>
class stored {
 public:
  explicit stored(graph_view net) : store_({}, net) { store_.allocate(); }
  operator parameter_set&() { return store_; }
  operator parameter_set const&() const { return store_; }
  void initialise(std::uint64_t seed) { store_.initialise(seed); }
  std::span<parameter const> table() const { return store_.table(); }

 private:
  parameter_store<reference<T>> store_;
};

/// Parameters of another backend: each reversed, with gaps in between.
class reversed : public parameter_set {
 public:
  explicit reversed(graph_view net)
      : parameter_set(net, element_type::f32, detail::passes_on_processor<float>()) {
    for (parameter& p : table_) {
      p.offset = arena_elements_ + 3;
      p.room = static_cast<std::size_t>(p.spec.dims.elements());
      arena_elements_ += 3 + p.room;
    }
    master_ = buffer(arena_bytes());
  }
  std::size_t copy_bytes() const override { return 0; }
  std::uint64_t layout_hash() const override { return 0; }
  std::string updated_by() const override { return "reversed"; }
  void read(int p, std::byte const* arena, std::byte* dense) const override {
    each(p, [&](std::size_t in, std::size_t out) { std::memcpy(dense + out, arena + in, 4); });
  }
  void write(int p, std::byte const* dense, std::byte* arena) const override {
    each(p, [&](std::size_t in, std::size_t out) { std::memcpy(arena + in, dense + out, 4); });
  }
  void refresh(int, int, parameter_range const&) override {}
  void refresh_stale() override {}

 private:
  template <class Move>
  void each(int p, Move move) const {
    parameter const& one = table_[static_cast<std::size_t>(p)];
    for (std::size_t i = 0; i < one.room; ++i) move((one.offset + one.room - 1 - i) * 4, i * 4);
  }
};

template <class T>
std::vector<T> numbers(parameter_set const& from, std::byte const* arena = nullptr) {
  std::vector<T> dense(static_cast<std::size_t>(from.elements()));
  from.read_all(arena ? arena : from.master(), reinterpret_cast<std::byte*>(dense.data()));
  return dense;
}

/// The optimizers' state of a trial: arrays with distinct numbers.
struct trial_state {
  std::vector<buffer> memory;
  std::vector<std::byte*> arrays;
  trial_state(parameter_set const& layouts, int count, bool filled = true) {
    for (int k = 0; k < count; ++k) {
      arrays.push_back(memory.emplace_back(layouts.arena_bytes()).data());
      for (std::size_t i = 0; filled && i < layouts.arena_elements(); ++i) {
        double const value = 100 * (k + 1) + 0.25 * static_cast<double>(i);
        if (layouts.type() == element_type::f64)
          memory.back().template as<double>()[i] = value;
        else
          memory.back().template as<float>()[i] = static_cast<float>(value);
      }
    }
  }
};

std::string written(graph_view net, parameter_set const& from,
                    std::optional<optimizer_state_view> const& state = {}) {
  std::ostringstream out;
  write_model(out, net, from, state);
  return out.str();
}

model_file opened(std::string const& bytes) {
  std::istringstream in(bytes);
  return model_file::read(in, "model");
}

TEST(model_file, round_trips_network_and_parameters) {
  scratch_folder folder;
  graph const net = small();
  stored<float> from(net);
  from.initialise(7);
  save_model(folder / "m", net, from);
  model_file const saved = model_file::open(folder / "m");
  graph const again = saved.network();
  EXPECT_EQ(again.hash(), net.hash());
  stored<float> to(again);
  saved.read_parameters(again, to);
  EXPECT_EQ(numbers<float>(to), numbers<float>(from));
  EXPECT_FALSE(saved.optimizer());
  EXPECT_EQ(saved.file().tensors().size(), 4u);
  EXPECT_EQ(saved.file().at("conv2d_1.weights").dims, (shape{2, 1, 3, 3}));
  EXPECT_EQ(saved.file().at("fc.bias").dims, shape{3});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
}

/// Files may come from a build that computed negative variances.
TEST(model_file, refuses_a_running_variance_below_0) {
  graph const net = graph::build([](builder& b) {
    return b.input({3}) | batch_norm{.name = "norm"} | dense{.units = 2} | softmax_cross_entropy{};
  });
  for (float const wrong : {-0.5F, std::nanf("")}) {
    stored<float> from(net), to(net);
    from.initialise(7);
    to.initialise(8);
    float const variances[]{1, 0, wrong};
    static_cast<parameter_set&>(from).write(3, reinterpret_cast<std::byte const*>(variances),
                                            static_cast<parameter_set&>(from).master());
    std::vector<float> const before = numbers<float>(to);
    model_file const saved = opened(written(net, from));
    try {
      saved.read_parameters(net, to);
      FAIL() << wrong;
    } catch (data_error const& why) {
      std::string const text = why.what();
      for (char const* const part : {"running variance", "model", "norm.running_variance", "channel 2"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
    EXPECT_EQ(numbers<float>(to), before);
  }
}

TEST(model_file, is_independent_of_the_backends_layouts) {
  graph const net = small();
  stored<float> plain(net);
  reversed other(net);
  plain.initialise(7);
  other.initialise(7);
  std::string const bytes = written(net, plain);
  EXPECT_EQ(written(net, other), bytes);
  std::memset(other.master(), 0, other.arena_bytes());
  opened(bytes).read_parameters(net, other);
  EXPECT_EQ(numbers<float>(other), numbers<float>(plain));
}

TEST(model_file, converts_between_float_and_double) {
  graph const net = small();
  stored<float> narrow(net), narrow_again(net);
  stored<double> wide(net);
  narrow.initialise(7);
  opened(written(net, narrow)).read_parameters(net, wide);
  std::vector<float> const given = numbers<float>(narrow);
  EXPECT_EQ(numbers<double>(wide), std::vector<double>(given.begin(), given.end()));
  opened(written(net, wide)).read_parameters(net, narrow_again);
  EXPECT_EQ(numbers<float>(narrow_again), given);
  wide.initialise(8);
  std::vector<double> const exact = numbers<double>(wide);
  opened(written(net, wide)).read_parameters(net, narrow);
  EXPECT_EQ(numbers<float>(narrow), std::vector<float>(exact.begin(), exact.end()));
}

TEST(model_file, round_trips_the_optimizers_state_across_layouts_and_types) {
  graph const net = small();
  stored<float> from(net);
  from.initialise(7);
  optimizer_settings const settings{
      .rule = adam{.learning_rate = schedule::step{.initial = 0.01, .factor = 0.5, .every = 3}},
      .bias_rule = nesterov{.learning_rate = 0.02, .momentum = schedule::map{.values = {{0, 0.8}, {2, 0.9}}}},
      .l2 = 5e-4,
      .normalisation = normalise::clip_global_norm{3}};
  trial_state const state(from, 2);
  std::string const bytes = written(net, from, optimizer_state_view{settings, {1234, 5}, state.arrays});
  model_file const saved = opened(bytes);
  ASSERT_TRUE(saved.optimizer());
  EXPECT_EQ(*saved.optimizer(), settings);
  EXPECT_EQ(saved.position(), (training_position{1234, 5}));
  std::string names;
  for (stored_tensor const& one : saved.file().tensors()) names += one.name + '\n';
  EXPECT_EQ(names,
            "conv2d_1.weights\nconv2d_1.bias\nfc.weights\nfc.bias\n"
            "state/mean/conv2d_1.weights\nstate/mean_square/conv2d_1.weights\nstate/velocity/conv2d_1.bias\n"
            "state/mean/fc.weights\nstate/mean_square/fc.weights\nstate/velocity/fc.bias\n");

  stored<double> wide(net);
  trial_state wide_state(wide, 2, false);
  EXPECT_EQ(saved.read_state(wide, settings, wide_state.arrays), (training_position{1234, 5}));
  reversed other(net);
  trial_state other_state(other, 2, false);
  saved.read_state(other, settings, other_state.arrays);
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<float> expected = numbers<float>(from, state.arrays[k]);
    for (parameter const& p : from.table())  // biases have only one array
      if (k == 1 && p.spec.role == parameter_role::biases)
        std::fill_n(expected.begin() + p.first, p.spec.dims.elements(), 0.0f);
    EXPECT_EQ(numbers<float>(other, other_state.arrays[k]), expected) << k;
    EXPECT_EQ(numbers<double>(wide, wide_state.arrays[k]),
              std::vector<double>(expected.begin(), expected.end()))
        << k;
  }
  saved.read_parameters(net, other);
  EXPECT_EQ(numbers<float>(other), numbers<float>(from));
}

TEST(model_file, reads_the_same_values_on_demand) {
  scratch_folder const folder;
  graph const net = small();
  stored<float> from(net), to(net);
  from.initialise(7);
  optimizer_settings const settings{.rule = adam{}};
  trial_state const state(from, 2);
  std::string bytes = written(net, from, optimizer_state_view{settings, {10, 2}, state.arrays});
  std::string const path = folder / "model.safetensors";
  io::write_file(path, bytes);
  model_file const saved = model_file::open_on_demand(path);
  EXPECT_EQ(saved.file().at("fc.weights").data, nullptr);
  saved.read_parameters(net, to);
  EXPECT_EQ(numbers<float>(to), numbers<float>(from));
  parameter_update update(to, settings);
  EXPECT_EQ(saved.read_state(to, update), (training_position{10, 2}));
  for (int k = 0; k < 2; ++k)
    EXPECT_EQ(numbers<float>(to, update.state(k)),
              numbers<float>(from, state.arrays[static_cast<std::size_t>(k)]));
  bytes.back() ^= 1;
  io::write_file(path, bytes);
  EXPECT_NE(refusal_of<data_error>([&] { model_file::open_on_demand(path); }).find("damaged"),
            std::string::npos);
}

TEST(model_file, refuses_a_file_that_changes_between_the_reads_on_demand) {
  scratch_folder const folder;
  graph const net = small();
  stored<float> from(net), to(net);
  from.initialise(7);
  std::string const bytes = written(net, from), path = folder / "model.safetensors";
  auto const open = [&] {
    io::write_file(path, bytes);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type());
    return model_file::open_on_demand(path);
  };
  model_file const replaced = open();
  io::write_file(path, std::string(bytes.size(), ' '));  // another file of this name
  replaced.read_parameters(net, to);
  EXPECT_EQ(numbers<float>(to), numbers<float>(from));
  model_file const rewritten = open();
  std::ofstream(path, std::ios::in | std::ios::out) << bytes;  // the same file, of equal length
  EXPECT_NE(refusal_of<data_error>([&] { rewritten.read_parameters(net, to); }).find("the file has changed"),
            std::string::npos);
  std::uint64_t const version = static_cast<parameter_set&>(to).version();
  EXPECT_THROW(rewritten.read_parameters(to), data_error);
  EXPECT_NE(static_cast<parameter_set&>(to).version(), version);
}

TEST(model_content, that_is_deferred_fails_on_all_ranks_if_one_cannot_read_it) {
  scratch_folder const folder;
  auto const save = [&](communicator& world) {
    graph const net = small();
    stored<float> from(net);
    auto const read = [&](detail::model_tensor const&, std::byte*) -> bool {
      if (world.rank() == 0) throw std::bad_alloc();
      world.barrier();
      return false;
    };
    model_content content(net, {.read = read, .is_deferred = true, .is_collective = true});
    content.add_parameters(from);
    if (world.rank() == 1) {
      EXPECT_THROW(detail::save_model_of_ranks(world, std::nullopt, content), communicator_error);
      return;
    }
    EXPECT_THROW(detail::save_model_of_ranks(world, folder / "model.safetensors", content), std::bad_alloc);
    EXPECT_THROW(world.barrier(), communicator_error);  // would end the other rank's wait
  };
  communicator_settings const patient{.deadline = std::chrono::minutes(10)};
  EXPECT_THROW(launch<threads>(2, patient, save), communicator_error);  // the communicator was aborted
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(model_file, contains_the_position_in_the_epoch_which_older_files_lack) {
  graph const net = small();
  stored<float> from(net);
  std::string bytes =
      written(net, from, optimizer_state_view{.settings = {.rule = sgd{}}, .position = {9, 1, 640}});
  EXPECT_EQ(opened(bytes).position(), (training_position{9, 1, 640}));
  model_file const whole = opened(bytes);
  safetensors_metadata metadata = whole.file().metadata();
  metadata.erase("position");
  metadata.erase("content_hash");
  std::ostringstream out;
  write_safetensors(out, whole.file().tensors(), metadata);
  EXPECT_EQ(opened(out.str()).position(), (training_position{9, 1, 0}));
}

TEST(model_file, ignores_the_state_of_a_strategy) {
  graph const net = small();
  stored<float> from(net), to(net);
  from.initialise(7);
  std::vector<float> const residual{1, 2, 3};
  model_content content(net);
  content.add_parameters(from).add("strategy/residual", tensor_view(residual.data(), {3}));
  content.add_metadata("strategy/kind", "sharing");
  std::ostringstream out;
  write_model(out, content);
  model_file const saved = opened(out.str());
  saved.read_parameters(net, to);
  EXPECT_EQ(numbers<float>(to), numbers<float>(from));
  EXPECT_EQ(saved.file().at("strategy/residual").as<float>()[2], 3);
  EXPECT_EQ(saved.file().metadata().at("strategy/kind"), "sharing");
  EXPECT_TRUE(saved.has_parameters());
  std::string const why =
      refusal_of<setting_error>([&] { content.add("residual", tensor_view(residual.data(), {3})); });
  EXPECT_EQ(why,
            "cannot add the entry to a model (\"residual\"): expected a name that begins with strategy/");
  EXPECT_NE(refusal_of<setting_error>([&] { content.add_metadata("graph", "{}"); }), "");

  model_content alone(net);
  alone.add("strategy/residual", tensor_view(residual.data(), {3}));
  std::ostringstream nothing_else;
  write_model(nothing_else, alone);
  EXPECT_FALSE(opened(nothing_else.str()).has_parameters());
}

TEST(model_file, writes_the_state_of_an_optimizer_without_arrays) {
  graph const net = small();
  stored<float> from(net);
  model_file const saved =
      opened(written(net, from, optimizer_state_view{.settings = {.rule = sgd{}}, .position = {9, 1}}));
  EXPECT_EQ(saved.file().tensors().size(), 4u);
  EXPECT_EQ(saved.read_state(from, {.rule = sgd{.learning_rate = 3}}, {}), (training_position{9, 1}));
}

TEST(model_file, refuses_parameters_of_another_network_and_reports_the_first_difference) {
  graph const net = small(), larger = small(4), renamed = small(3, "head");
  stored<float> from(net), to(larger), other(renamed);
  from.initialise(7);
  to.initialise(8);
  std::vector<float> const before = numbers<float>(to);
  model_file const saved = opened(written(net, from));
  std::string const hash = detail::hash_text(net.hash());
  EXPECT_EQ(refusal_of<data_error>([&] { saved.read_parameters(larger, to); }),
            "the model belongs to another network (model, tensor \"fc.weights\"): expected 4x32 in network "
                + detail::hash_text(larger.hash()) + ", got 3x32 in network " + hash);
  EXPECT_EQ(refusal_of<data_error>([&] { saved.read_parameters(to); }),
            "the model belongs to another network (model, tensor \"fc.weights\"): expected 4x32, got 3x32");
  EXPECT_EQ(numbers<float>(to), before) << "something was written";
  EXPECT_EQ(
      refusal_of<data_error>([&] { saved.read_parameters(other); }),
      "the model belongs to another network (model, tensor \"head.weights\"): expected 3x32, got no such "
      "tensor");

  auto const half = [](int units) {
    return graph::build([=](builder& b) {
      tensor const x = b.input({1, 6, 6}) | conv2d{.filters = 2, .kernel = 3};
      if (units > 0) x | dense{.units = units, .name = "fc"};
    });
  };
  graph const part = half(0), alike = half(3);
  stored<float> fewer(part), same(alike);
  EXPECT_EQ(refusal_of<data_error>([&] { saved.read_parameters(fewer); }),
            "the model belongs to another network (model, tensor \"fc.weights\"): expected no tensor of "
            "this name, got 3x32");
  EXPECT_EQ(refusal_of<data_error>([&] { saved.read_parameters(alike, same); }),
            "the model belongs to another network (model): expected network "
                + detail::hash_text(alike.hash()) + ", got network " + hash
                + " with the same parameters but different layers");
  saved.read_parameters(same);
  EXPECT_EQ(numbers<float>(same), numbers<float>(from));
}

TEST(model_file, refuses_missing_state_and_state_of_another_optimizer) {
  graph const net = small();
  stored<float> from(net);
  trial_state state(from, 2);
  optimizer_settings const momentum_for_all{.rule = momentum{}};
  model_file const without = opened(written(net, from));
  EXPECT_EQ(refusal_of<data_error>([&] { without.read_state(from, momentum_for_all, state.arrays); }),
            "cannot read the optimizers' state (model): expected a model saved with optimizer state, got "
            "parameters only");
  model_file const saved =
      opened(written(net, from, optimizer_state_view{momentum_for_all, {}, state.arrays}));
  EXPECT_EQ(
      refusal_of<data_error>([&] { saved.read_state(from, {.rule = adagrad{}}, state.arrays); }),
      "cannot read the optimizers' state (model, conv2d_1.weights): expected state of adagrad, got state "
      "of momentum");
  EXPECT_EQ(refusal_of<setting_error>([&] { saved.read_state(from, momentum_for_all, {}); }),
            "too few arrays of optimizer state (conv2d_1.weights): expected 1 for momentum, got 0");
  EXPECT_NE(refusal_of<setting_error>(
                [&] { written(net, from, optimizer_state_view{.settings = {.rule = adam{}}}); }),
            "");
  stored<float> larger(small(4));
  EXPECT_EQ(refusal_of<shape_error>([&] { written(net, larger); }),
            "the parameters belong to another network (fc.weights): expected 3x32, got fc.weights 4x32");
}

TEST(model_file, detects_every_changed_byte) {
  graph const net = small();
  stored<float> from(net), to(net);
  from.initialise(7);
  trial_state const state(from, 1);
  std::string const bytes =
      written(net, from, optimizer_state_view{{.rule = momentum{}}, {10, 2}, state.arrays});
  ASSERT_EQ(refusal_of<error>([&] { opened(bytes).read_parameters(net, to); }), "");
  std::size_t const hash_key = bytes.find("content_hash");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == ' ') continue;  // the header's padding
    if (i >= hash_key && i < hash_key + sizeof "content_hash")
      continue;  // a file without the hash is accepted too
    std::string damaged = bytes;
    damaged[i] ^= 1;
    EXPECT_NE(refusal_of<error>([&] { opened(damaged).read_parameters(net, to); }), "") << "byte " << i;
  }
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_NE(refusal_of<error>([&] { opened(bytes.substr(0, size)); }), "") << size;
}

TEST(model_file, refuses_invalid_metadata) {
  std::vector<float> one(1);
  auto const refused = [&](safetensors_metadata const& metadata) {
    std::ostringstream out;
    write_safetensors(out, std::vector<stored_tensor>{{"a", tensor_view(one.data(), shape{1})}}, metadata);
    return refusal_of<data_error>([&] { opened(out.str()); });
  };
  EXPECT_EQ(
      refused({}),
      "cannot read the model (model, metadata): expected a file that training::save has written, with an "
      "entry \"format\", got no such entry");
  EXPECT_EQ(refused({{"format", "pt"}}),
            "cannot read the model (model, metadata \"format\"): expected \"cohort model\", got \"pt\"");
  safetensors_metadata good{
      {"format", "cohort model"}, {"format_version", "3"}, {"graph", "{}"}, {"graph_hash", "0"}};
  EXPECT_EQ(refused(good), "");
  auto const with = [&](char const* key, std::string value) {
    auto changed = good;
    changed[key] = std::move(value);
    return refused(changed);
  };
  EXPECT_EQ(
      with("format_version", "2"),
      "cannot read the model (model, metadata \"format_version\"): expected \"3\", the version that this "
      "library reads; read the file with the library version that wrote it, or train the model again, "
      "got \"2\"");
  EXPECT_NE(with("content_hash", "12").find("metadata \"content_hash\"): expected the content's hash "),
            std::string::npos);
  EXPECT_NE(with("optimizer", "{}").find("model optimizer:1:1, $): expected a field \"rule\""),
            std::string::npos);
  std::string const rule = to_json(optimizer_settings{.rule = adam{.learning_rate = 0.1}});
  auto const changed = [&](std::string const& from, std::string const& to) {
    std::string text = rule;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(with("optimizer", rule),
            "cannot read the model (model, metadata): expected an entry \"step\", got no such entry");
  std::string const misspelt = with("optimizer", changed("adam", "adem"));
  EXPECT_NE(misspelt.find("$.rule): expected one of the optimizers sgd, momentum, nesterov, adam, "),
            std::string::npos)
      << misspelt;
  EXPECT_NE(misspelt.find("the nearest name is adam, got \"adem\""), std::string::npos) << misspelt;
  EXPECT_NE(with("optimizer", changed("beta1", "beta9"))
                .find("$.rule.adam.beta9): expected one of the fields learning_rate, beta1, beta2"),
            std::string::npos);
  EXPECT_NE(with("optimizer", changed("0.9,", "1.9,"))
                .find("$.rule.adam.beta1): expected at least 0 and below 1, got 1.9"),
            std::string::npos);
  EXPECT_NE(with("optimizer", changed("0.1", "-1"))
                .find("$.rule.adam.learning_rate): expected a finite number, at least 0, got rate.value -1"),
            std::string::npos);
  EXPECT_NE(with("optimizer", changed("\"l1\":0", "\"l1\":-2"))
                .find("$.l1): expected a number of at least 0, got -2"),
            std::string::npos);
  good["optimizer"] = rule;
  good["epoch"] = "0";
  EXPECT_NE(with("step", "-1").find("metadata \"step\"): expected an integer of at least 0, got \"-1\""),
            std::string::npos);
  EXPECT_NE(with("step", "1x").find("an integer of at least 0"), std::string::npos);
  EXPECT_EQ(with("step", "9223372036854775807"), "");
}

TEST(model_file, refuses_a_graph_of_another_hash) {
  std::vector<float> one(1);
  graph const net = small();
  std::string text = to_json(net);
  text.erase(text.find("\"hash\""), text.find("\"layers\"") - text.find("\"hash\""));
  safetensors_metadata const metadata{
      {"format", "cohort model"}, {"format_version", "3"}, {"graph", text}, {"graph_hash", "00"}};
  std::ostringstream out;
  write_safetensors(out, std::vector<stored_tensor>{}, metadata);
  model_file const saved = opened(out.str());
  EXPECT_EQ(refusal_of<data_error>([&] { saved.network(); }),
            "cannot read the model (model, metadata \"graph_hash\"): expected the graph's hash "
                + detail::hash_text(net.hash()) + ", got \"00\"");
  EXPECT_NE(refusal_of<data_error>([&] {
              stored<float> to(net);
              saved.read_parameters(net, to);
            }).find("tensor \"conv2d_1.weights\""),
            std::string::npos);
}

TEST(model_file, keeps_the_old_file_if_the_disk_is_full) {
  scratch_folder folder;
  graph const net = small();
  stored<float> old(net), fresh(net);
  old.initialise(1);
  fresh.initialise(2);
  save_model(folder / "m", net, old);
  std::string why;
  {
    small_disk disk(100);
    why = refusal_of<file_error>([&] { save_model(folder / "m", net, fresh); });
  }
  EXPECT_NE(why.find("cannot write the file"), std::string::npos);
  stored<float> to(net);
  model_file::open(folder / "m").read_parameters(net, to);
  EXPECT_EQ(numbers<float>(to), numbers<float>(old));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
}

}  // namespace model_file_test
