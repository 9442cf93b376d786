// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/layer/embedding.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/prediction/detail/decoder_passes.hpp>
#include <cohort/prediction/token_decoder.hpp>
#include <cohort/training/detail/separate_steps.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {

inline bool adds_positions(kind const& what) {
  return what.name == learned_positions::kind_name || what.name == sinusoidal_positions::kind_name;
}

inline bool rectifies(kind const& what) {
  return what.name == relu::kind_name || what.name == leaky_relu::kind_name;
}

/// Returns why a node cannot run step by step; empty if it can.
std::string_view why_not_decoded(graph_view net, int id) {
  kind const& what = net.kind(id);
  if (what.role == layer_role::input) return {};
  if (net.input_mask(id) >= 0) return "a masked sequence";
  for (int const from : net.inputs(id))
    if (net[from].output.rank != (what.name == embedding::kind_name ? 1 : 2))
      return "an input of the wrong shape";
  if (what.name == attention::kind_name) {
    attention const l = decode<attention>(net.fields(id));
    if (net.inputs(id).size() != 1) return "attention with three inputs";
    return l.causal ? "" : "attention that is not causal";
  }
  if (what.name == embedding::kind_name)
    return decode<embedding>(net.fields(id)).mask_zero ? "an embedding with a mask" : "";
  bool const has_kernel = what.float_kernel.forward != nullptr || what.name == dense::kind_name
                          || what.name == concatenate::kind_name || rectifies(what);
  return (has_kernel && computes_steps_separately(net, id)) || adds_positions(what)
             ? ""
             : "a layer that reads several steps, or a user-defined layer";
}

std::string why_not_decoded(graph_view net) {
  std::vector<int> const inputs = net.with_role(layer_role::input);
  if (inputs.size() != 1 || net[inputs[0]].output.rank != 1)
    return inputs.size() != 1 ? text_of({inputs.size(), " inputs"})
                              : "an input " + to_string(net[inputs[0]].output);
  for (int id = 0; id <= net.outputs()[0]; ++id)
    if (std::string_view const why = why_not_decoded(net, id); !why.empty())
      return net.name(id) + ", " + std::string(why);
  return {};
}

}  // namespace detail

/// The network as a list of layers, and the cached keys and values of a sequence.
struct token_decoder::state {
  struct cache {
    std::vector<float> keys, values;  // heads × window × width
  };

  training const* model;
  graph_view net;
  int output;
  int window;
  int steps = 0;
  std::uint64_t version = 0;
  detail::decoder_passes passes = detail::decoder_passes_for(best_isa());
  team workers;
  std::vector<std::vector<float>> parameters;  // by index in the parameter table
  std::vector<std::vector<float>> outputs;     // by node id
  std::vector<cache> caches;                   // by node id
  std::vector<float> scores;

  explicit state(training const& of)
      : model(&of),
        net(of.network()),
        output(net.outputs()[0]),
        window(net[net.with_role(layer_role::input)[0]].output[0]),
        workers(of.settings().workers * of.settings().threads, {.deadline = of.settings().deadline}),
        outputs(static_cast<std::size_t>(net.size())),
        caches(static_cast<std::size_t>(net.size())) {
    for (int id = 0; id <= output; ++id) {
      if (net.kind(id).name != attention::kind_name) continue;
      auto const numbers = static_cast<std::size_t>(window) * static_cast<std::size_t>(net[id].output[1]);
      caches[static_cast<std::size_t>(id)] = {std::vector<float>(numbers), std::vector<float>(numbers)};
    }
    scores.resize(static_cast<std::size_t>(window) * static_cast<std::size_t>(workers.size()));
    refresh();
  }

  void refresh() {
    parameter_set const& from = model->parameters();
    if (version == from.version()) return;
    version = from.version();
    std::span<parameter const> const table = from.table();
    parameters.resize(table.size());
    std::vector<double> wide;
    for (std::size_t p = 0; p < table.size(); ++p) {
      auto const count = static_cast<std::size_t>(table[p].spec.dims.elements());
      parameters[p].resize(count);
      if (from.type() == element_type::f32) {
        from.read(static_cast<int>(p), from.master(), reinterpret_cast<std::byte*>(parameters[p].data()));
        continue;
      }
      wide.resize(count);
      from.read(static_cast<int>(p), from.master(), reinterpret_cast<std::byte*>(wide.data()));
      std::ranges::transform(wide, parameters[p].begin(), [](double x) { return static_cast<float>(x); });
    }
  }

  /// The parameters of a node.
  std::span<std::vector<float> const> parameters_of(int id) const {
    auto const& table = model->parameters().table();
    auto const first =
        std::ranges::find_if(table, [&](parameter const& one) { return one.node == net.owner(id); });
    return std::span(parameters)
        .subspan(static_cast<std::size_t>(first - table.begin()),
                 static_cast<std::size_t>(net.parameters(id).count));
  }
  std::vector<float> const& input_of(int id, std::size_t i = 0) const {
    return outputs[static_cast<std::size_t>(net.inputs(id)[i])];
  }
  int width_of(int id) const { return net[id].output[1]; }

  void embed(int id, std::span<std::int32_t const> tokens, std::vector<float>& to) const {
    auto const l = detail::decode<embedding>(net.fields(id));
    std::vector<float> const& weights = parameters_of(id)[0];
    auto const width = static_cast<std::size_t>(width_of(id));
    for (std::size_t r = 0; r < tokens.size(); ++r)
      std::copy_n(weights.begin()
                      + static_cast<std::ptrdiff_t>(l.row_of(static_cast<float>(tokens[r]), 0, r) * width),
                  width, to.begin() + static_cast<std::ptrdiff_t>(r * width));
  }

  void multiply(int id, std::size_t rows, std::vector<float>& to) {
    std::span<std::vector<float> const> const own = parameters_of(id);
    detail::dense_rows const a{.rows = rows,
                               .inputs = static_cast<std::size_t>(width_of(net.inputs(id)[0])),
                               .units = static_cast<std::size_t>(width_of(id)),
                               .x = input_of(id).data(),
                               .weights = own[0].data(),
                               .bias = own.size() > 1 ? own[1].data() : nullptr,
                               .y = to.data()};
    auto const all = static_cast<std::size_t>(workers.size());
    workers.run([&](int w) {
      auto const which = static_cast<std::size_t>(w);
      passes.multiply(a, a.units * which / all, a.units * (which + 1) / all);
    });
  }

  void add_positions(int id, std::size_t rows, std::vector<float>& to) const {
    auto const width = static_cast<std::size_t>(width_of(id));
    std::vector<float> const& x = input_of(id);
    bool const learned = net.kind(id).name == learned_positions::kind_name;
    sinusoidal_positions waves;
    if (!learned) waves = detail::decode<sinusoidal_positions>(net.fields(id));
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t k = 0; k < width; ++k) {
        auto const step = static_cast<std::size_t>(steps) + r;
        to[r * width + k] = x[r * width + k]
                            + (learned ? parameters_of(id)[0][step * width + k]
                                       : static_cast<float>(waves.wave(step, k, width)));
      }
  }

  void attend(int id, std::size_t rows, std::vector<float>& to) {
    auto const l = detail::decode<attention>(net.fields(id));
    auto const columns = static_cast<std::size_t>(width_of(id)),
               heads = static_cast<std::size_t>(l.heads.value), width = columns / heads,
               first = static_cast<std::size_t>(steps), kept = static_cast<std::size_t>(window) * width;
    std::vector<float> packed = input_of(id);
    cache& past = caches[static_cast<std::size_t>(id)];
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t h = 0; h < heads; ++h) {
        float* const query = packed.data() + r * 3 * columns + h * width;
        float *const key = query + columns, *const value = key + columns;
        if (l.rotary > 0)
          for (float* const row : {query, key})
            detail::rotate_rows<float>(l.rotary, 1, 1, width, row, width, row, width,
                                       static_cast<int>(first + r));
        std::size_t const at = h * kept + (first + r) * width;
        std::copy_n(key, width, past.keys.begin() + static_cast<std::ptrdiff_t>(at));
        std::copy_n(value, width, past.values.begin() + static_cast<std::ptrdiff_t>(at));
      }
    auto const all = static_cast<std::size_t>(workers.size());
    workers.run([&](int w) {
      auto const which = static_cast<std::size_t>(w);
      for (std::size_t h = heads * which / all; h < heads * (which + 1) / all; ++h)
        for (std::size_t r = 0; r < rows; ++r)
          passes.attend({.steps = first + r + 1,
                         .width = width,
                         .scale = 1 / std::sqrt(static_cast<float>(width)),
                         .query = packed.data() + r * 3 * columns + h * width,
                         .keys = past.keys.data() + h * kept,
                         .values = past.values.data() + h * kept,
                         .scores = scores.data() + which * static_cast<std::size_t>(window),
                         .output = to.data() + r * columns + h * width});
    });
  }

  /// Concatenates the columns of the inputs.
  void concatenate_columns(int id, std::size_t rows, std::vector<float>& to) const {
    auto const width = static_cast<std::size_t>(width_of(id));
    std::size_t column = 0;
    for (std::size_t i = 0; i < net.inputs(id).size(); ++i) {
      auto const columns = static_cast<std::size_t>(width_of(net.inputs(id)[i]));
      for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(input_of(id, i).data() + r * columns, columns, to.data() + r * width + column);
      column += columns;
    }
  }

  void rectify(int id, std::vector<float>& to) const {
    bool const leaks = net.kind(id).name == leaky_relu::kind_name;
    float const slope = leaks ? static_cast<float>(detail::decode<leaky_relu>(net.fields(id)).slope) : 0.0F;
    std::ranges::transform(input_of(id), to.begin(), [&](float x) { return x > 0 ? x : slope * x; });
  }

  /// Runs the host kernel of a layer that computes each step separately.
  void run_on_host(int id, int rows, std::vector<float>& to) const {
    std::vector<shape> shapes;
    std::vector<float const*> inputs, own;
    for (std::size_t i = 0; i < net.inputs(id).size(); ++i) {
      shapes.emplace_back(rows, width_of(net.inputs(id)[i]));
      inputs.push_back(input_of(id, i).data());
    }
    if (net.parameters(id).count > 0)
      for (std::vector<float> const& one : parameters_of(id)) own.push_back(one.data());
    host_arguments<float> const a{.batch = 1,
                                  .training = false,
                                  .input_shapes = shapes,
                                  .output_shape = {rows, width_of(id)},
                                  .inputs = inputs.data(),
                                  .output = to.data(),
                                  .parameters = own.data()};
    net.kind(id).float_kernel.forward(net.fields(id), a);
  }

  std::span<float const> advance(std::span<std::int32_t const> tokens) {
    std::size_t const rows = tokens.size();
    for (int id = 0; id <= output; ++id) {
      kind const& what = net.kind(id);
      if (what.role == layer_role::input) continue;
      std::vector<float>& to = outputs[static_cast<std::size_t>(id)];
      to.resize(rows * static_cast<std::size_t>(width_of(id)));
      if (what.name == embedding::kind_name)
        embed(id, tokens, to);
      else if (what.name == dense::kind_name)
        multiply(id, rows, to);
      else if (what.name == attention::kind_name)
        attend(id, rows, to);
      else if (detail::adds_positions(what))
        add_positions(id, rows, to);
      else if (what.name == concatenate::kind_name)
        concatenate_columns(id, rows, to);
      else if (detail::rectifies(what))
        rectify(id, to);
      else
        run_on_host(id, static_cast<int>(rows), to);
    }
    steps += static_cast<int>(rows);
    return std::span(outputs[static_cast<std::size_t>(output)])
        .last(static_cast<std::size_t>(width_of(output)));
  }
};

token_decoder::token_decoder(training const& net) {
  if (std::string const why = detail::why_not_decoded(net.network()); !why.empty())
    throw setting_error({.what = "token_decoder cannot run this network step by step",
                         .expected = "one input of T token indices, causal attention, and layers that "
                                     "process each step separately",
                         .got = why});
  state_ = std::make_unique<state>(net);
}
token_decoder::token_decoder(token_decoder&&) noexcept = default;
token_decoder& token_decoder::operator=(token_decoder&&) noexcept = default;
token_decoder::~token_decoder() = default;

int token_decoder::window() const { return state_->window; }
int token_decoder::steps() const { return state_->steps; }

std::span<float const> token_decoder::advance(std::span<std::int32_t const> tokens) {
  if (tokens.empty())
    throw setting_error(
        {.what = "token_decoder::advance got no tokens", .expected = "at least one token", .got = "none"});
  if (tokens.size() > static_cast<std::size_t>(state_->window - state_->steps))
    throw setting_error({.what = "token_decoder::advance exceeds the network's steps",
                         .where = {"after ", state_->steps, " steps"},
                         .expected = {"at most ", state_->window - state_->steps, " tokens"},
                         .got = {tokens.size()}});
  return state_->advance(tokens);
}

void token_decoder::reset() {
  state_->steps = 0;
  state_->refresh();
}

}  // namespace cohort
