// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/checkpoint/detail/array_pieces.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/checkpoint_codec.hpp>
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/scoped_consensus.hpp>
#include <cohort/training/detail/stateful_layers.hpp>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Keys of a checkpoint's metadata. `loss` and `weight` are sums over the epoch so far.
namespace checkpoint_key {
inline constexpr char const* strategy = "strategy/description";
inline constexpr char const* position = "strategy/position";
inline constexpr char const* loss = "strategy/loss";
inline constexpr char const* weight = "strategy/weight";
inline constexpr char const* counts = "strategy/count/";
inline constexpr char const* arrays = "strategy/array/";
inline constexpr char const* state_rows = "strategy/state_rows";
inline constexpr char const* states = "strategy/states";
inline constexpr char const* fingerprint = "data/fingerprint";
inline constexpr char const* order = "data/order";
inline constexpr char const* listeners = "listener/";
inline constexpr char const* listener_arrays = "strategy/listener/";
}  // namespace checkpoint_key

/// Returns the text of a metadata key; "" if the file has no such key.
std::string text_in(model_file const& file, std::string const& key) {
  auto const found = file.file().metadata().find(key);
  return found == file.file().metadata().end() ? std::string() : found->second;
}

/// Returns the number under a metadata key.  Errors: data_error unless the whole text is a number of type T.
template <class T>
T number_in(model_file const& file, std::string const& key, char const* expected) {
  std::string const text = text_in(file, key);
  T number = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size())
    throw data_error({.what = "cannot read the checkpoint",
                      .where = {file.file().name(), ", ", key},
                      .expected = expected,
                      .got = text});
  return number;
}

std::int64_t integer_in(model_file const& file, std::string const& key) {
  return number_in<std::int64_t>(file, key, "an integer");
}

/// Like number_in, but returns 0 if the file has no such key, because older checkpoints lack some keys.
double real_in(model_file const& file, std::string const& key) {
  return text_in(file, key).empty() ? 0 : number_in<double>(file, key, "a number");
}

/// The strategy's state in a rank's file. The result refers to the file's memory.
strategy_state strategy_state_in(model_file const& file) {
  strategy_state state;
  std::string_view const counts = checkpoint_key::counts, arrays = checkpoint_key::arrays;
  for (auto const& [key, text] : file.file().metadata())
    if (key.rfind(counts, 0) == 0)
      state.counts.push_back({std::string_view(key).substr(counts.size()), integer_in(file, key)});
  for (stored_tensor const& one : file.file().tensors()) {
    if (one.name.rfind(arrays, 0) != 0) continue;
    std::string_view const name = std::string_view(one.name).substr(arrays.size());
    if (name.find('/') == name.npos)  // a name with '/' is a piece of an array
      state.arrays.push_back({name, one.view.type, pieces_in(file.file(), one.name)});
  }
  return state;
}

epoch_data epoch_data_in(model_file const& file) {
  epoch_data made{.order = text_in(file, checkpoint_key::order)};
  if (!text_in(file, checkpoint_key::fingerprint).empty())
    made.fingerprint = number_in<std::uint64_t>(file, checkpoint_key::fingerprint, "a hash of 64 bits");
  return made;
}

/// The listeners' states.
std::vector<saved_listener> listeners_in(model_file const& shared) {
  std::string_view const prefix = checkpoint_key::listeners;
  std::vector<saved_listener> found;
  for (auto const& [key, text] : shared.file().metadata()) {
    if (key.rfind(prefix, 0) != 0) continue;
    saved_listener one{.key = key.substr(prefix.size()), .state = text};
    if (std::string const name = checkpoint_key::listener_arrays + one.key; shared.file().find(name)) {
      std::span<std::byte const> const values = pieces_in(shared.file(), name);
      one.type = shared.file().at(name).type;
      one.array = buffer(values.size());
      std::memcpy(one.array.data(), values.data(), values.size());
    }
    found.push_back(std::move(one));
  }
  return found;
}

/// Returns a source that reads copies of this rank's parameters and state. Arenas on a device are not copied:
/// their tensors are read at once.
tensor_source source_of_copies(training_state& run, std::shared_ptr<snapshot_memory> const& copies) {
  std::shared_ptr<parameter_set> const parameters = run.workers->backend().parameters;
  if (!copies || parameters->passes().space()) return {};
  std::vector<std::pair<std::byte const*, std::byte const*>> arenas;  // with their copies
  auto const copy = [&](std::byte const* arena) {
    arenas.emplace_back(arena, copies->copy({arena, parameters->arena_bytes()}).data());
  };
  copy(parameters->master());
  for (int k = 0; k < run.update().state_arrays(); ++k) copy(run.update().state(k));
  auto const read = [arenas, copies, parameters](model_tensor const& wanted, std::byte* dense) {
    auto const arena =
        std::ranges::find_if(arenas, [&](auto const& pair) { return pair.first == wanted.arena; });
    parameters->read(wanted.p, arena->second, dense);
    copies->count_progress();
    return true;
  };
  return {.read = read, .is_deferred = true};
}

checkpoint_content checkpoint_codec::content(std::shared_ptr<snapshot_memory> const& copies) {
  check_common_steps(run_, "save_checkpoint");
  copies_ = copies.get();
  if (run_.network_metadata.empty()) run_.network_metadata = model_content::network_metadata(run_.net);
  replica const replica_of_rank = run_.current_replica();
  bool const has_diverged = run_.exchange_strategy->diverged();
  checkpoint_content all{
      .position = run_.position,
      .rank_local = model_content(run_.net, has_diverged ? source_of_copies(run_, copies) : tensor_source(),
                                  run_.network_metadata),
      .settings_hash = fnv1a(describe(run_.settings)),
      .seed = run_.settings.seed};
  if (has_diverged) add_replica(run_, all.rank_local);
  add_strategy(all.rank_local);
  if (run_.is_within_epoch()) add_epoch_data(all.rank_local);
  {
    scoped_consensus const consensus(*run_.exchange_strategy, replica_of_rank, replica_of_rank.arrays(),
                                     false);
    tensor_source source = source_of_ranks(run_, false);
    if (!source.read && run_.world->rank() == 0) source = source_of_copies(run_, copies);
    if (run_.world->rank() == 0 || source.read)
      add_replica(run_, all.shared.emplace(run_.net, std::move(source), run_.network_metadata));
  }
  if (run_.world->rank() == 0) add_listeners(*all.shared);
  return all;
}

bool checkpoint_codec::has_changed_ranks() const {
  auto const* const elastic = dynamic_cast<elastic_communicator const*>(run_.world.get());
  return elastic && elastic->membership() > 1;
}

std::string checkpoint_codec::save(checkpoint_target target) {
  activity_scope const saving(run_, rank_progress::activity::saving);
  run_.checkpoints.wait_for_ranks(*run_.world, "save_checkpoint");
  target.is_shared = has_changed_ranks();
  return save_checkpoint(*run_.world, target, content(nullptr));
}

void checkpoint_codec::reserve() {
  parameter_update const& update = run_.update();
  parameter_set const& parameters = run_.parameters();
  bool const is_copied = run_.world->rank() == 0 && !update.is_sharded() && !parameters.passes().space();
  std::size_t const arenas = is_copied ? 1 + static_cast<std::size_t>(update.state_arrays()) : 0;
  run_.checkpoints.reserve(std::vector(arenas, parameters.arena_bytes()));
}

std::shared_ptr<checkpoint_job> checkpoint_codec::start(checkpoint_target target) {
  activity_scope const saving(run_, rank_progress::activity::saving);
  target.is_shared = has_changed_ranks();
  return run_.checkpoints.start(*run_.world, target, content(run_.checkpoints.next_snapshot()));
}

void checkpoint_codec::add_array(model_content& to, std::string const& name, element_type type,
                                 std::span<std::byte const> values) const {
  add_pieces(to, name, type, copies_ ? copies_->copy(values) : values);
}

std::optional<std::string> checkpoint_codec::resume(std::string const& directory) {
  activity_scope const loading(run_, rank_progress::activity::loading);
  std::optional<checkpoint_reader> const found = find_newest_checkpoint(*run_.world, directory);
  if (!found) return std::nullopt;
  bool const same_ranks = found->ranks() == run_.world->size();
  all_or_none(*run_.world, "resume", "cannot resume from the checkpoint", [&] {
    std::optional<model_file> own;
    if (same_ranks) own = found->rank_file(run_.world->rank());
    model_file const shared = found->shared_on_demand();
    bool const same_run =
        own && text_in(*own, checkpoint_key::strategy) == run_.exchange_strategy->describe();
    if (same_run && own->has_parameters())
      load_model(run_, *own);
    else
      load_model(run_, shared);
    run_.saved_listeners = listeners_in(shared);
    run_.position = found->position();
    if (own) {
      run_.position.position = integer_in(*own, checkpoint_key::position);
      run_.epoch_sums = {real_in(*own, checkpoint_key::loss), real_in(*own, checkpoint_key::weight)};
    }
    if (own) restore_states(*own);
    run_.interrupted = own ? epoch_data_in(*own) : epoch_data_in(found->rank_file(0));
    if (same_run) run_.exchange_strategy->restore(strategy_state_in(*own));
    if (!same_ranks) restore_from_ranks(*found);
  });
  run_.has_resumed = true;
  log_differences(*found);
  return found->path();
}

std::string checkpoint_codec::shared_bytes() {
  model_content content(run_.net);
  add_replica(run_, content);
  add_listeners(content);
  std::ostringstream out;
  write_model(out, content);
  return std::move(out).str();
}

model_file file_of(std::string bytes) {
  std::istringstream in(std::move(bytes));
  return model_file::read(in, "the state of another rank");
}

void checkpoint_codec::load_shared(std::string const& bytes) {
  model_file const file = file_of(bytes);
  load_model(run_, file);
  run_.saved_listeners = listeners_in(file);
}

std::string checkpoint_codec::strategy_bytes() const {
  model_content content(run_.net);
  add_strategy(content);
  std::ostringstream out;
  write_model(out, content);
  return std::move(out).str();
}

void checkpoint_codec::restore_strategy(strategy& into, std::string const& bytes, bool joins) {
  model_file const file = file_of(bytes);
  strategy_state const state = strategy_state_in(file);
  joins ? into.join(state) : into.restore(state);
}

void checkpoint_codec::log_differences(checkpoint_reader const& from) const {
  sink const& log = run_.settings.log;
  if (!log) return;
  if (from.manifest().settings_hash != fnv1a(describe(run_.settings)))
    log("the settings differ from those of the run that wrote " + from.path());
}

void checkpoint_codec::add_epoch_data(model_content& to) const {
  epoch_data const data = run_.active_fit ? run_.active_fit->data_of_epoch() : run_.interrupted;
  if (data.fingerprint) to.add_metadata(checkpoint_key::fingerprint, std::to_string(*data.fingerprint));
  if (!data.order.empty()) to.add_metadata(checkpoint_key::order, data.order);
}

void checkpoint_codec::add_strategy(model_content& to) const {
  to.add_metadata(checkpoint_key::strategy, run_.exchange_strategy->describe());
  to.add_metadata(checkpoint_key::position, std::to_string(run_.position.position));
  to.add_metadata(checkpoint_key::loss, text_of({run_.epoch_sums.loss}));
  to.add_metadata(checkpoint_key::weight, text_of({run_.epoch_sums.weight}));
  if (layer_states* const states = run_.workers->states();
      states && run_.states_step == run_.position.step && run_.is_within_epoch()) {
    to.add_metadata(checkpoint_key::state_rows, std::to_string(states->rows()));
    add_array(to, checkpoint_key::states, element_type::u8, states->bytes());
  }
  strategy_state const state = run_.exchange_strategy->state();
  for (strategy_state::count const& one : state.counts)
    to.add_metadata(checkpoint_key::counts + std::string(one.name), std::to_string(one.value));
  for (strategy_state::array const& one : state.arrays)
    add_array(to, checkpoint_key::arrays + std::string(one.name), one.type, one.values);
}

/// Restores the states of stateful layers within an epoch.
void checkpoint_codec::restore_states(model_file const& from) {
  run_.states_step = -1;
  if (!from.file().find(checkpoint_key::states)) return;
  std::vector<layer_states::layer> layers = stateful_layers(run_.net);
  std::size_t row = 0;  // size of a row in bytes
  for (layer_states::layer const& one : layers) row += one.numbers * bytes_of(run_.element());
  std::int64_t const rows = integer_in(from, checkpoint_key::state_rows);
  std::span<std::byte const> const stored = pieces_in(from.file(), checkpoint_key::states);
  if (rows < 1 || row == 0 || stored.size() % row != 0
      || stored.size() / row != static_cast<std::size_t>(rows))
    throw data_error({.what = "cannot read the states of stateful layers",
                      .where = {from.file().name(), ", ", checkpoint_key::states},
                      .expected = {row, " bytes for each row"},
                      .got = {rows, " rows, ", stored.size(), " bytes"}});
  run_.workers->carry_states(std::move(layers), static_cast<int>(rows));
  std::copy(stored.begin(), stored.end(), run_.workers->states()->bytes().begin());
  run_.states_step = run_.position.step;
}

void checkpoint_codec::add_listeners(model_content& to) const {
  if (!run_.active_fit) return;
  std::span<listener* const> const listeners = run_.active_fit->listeners();
  std::vector<std::string> const keys = keys_of(listeners);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) continue;
    to.add_metadata(checkpoint_key::listeners + keys[i], listeners[i]->state());
    if (listener_array const numbers = listeners[i]->array(); !numbers.values.empty())
      add_array(to, checkpoint_key::listener_arrays + keys[i], numbers.type, numbers.values);
  }
}

void checkpoint_codec::restore_from_ranks(checkpoint_reader const& from) {
  for (int rank = 0; rank < from.ranks(); ++rank) {
    model_file const file = from.rank_file(rank);
    if (text_in(file, checkpoint_key::strategy) == run_.exchange_strategy->describe())
      run_.exchange_strategy->restore_from_ranks(strategy_state_in(file), rank, from.ranks());
  }
}

}  // namespace cohort::detail
