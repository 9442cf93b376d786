// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/checkpoint/detail/array_pieces.hpp>
#include <cohort/communicator/detail/shared_outcome.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/trainer/checkpoints.hpp>
#include <cohort/trainer/detail/scoped_consensus.hpp>
#include <cstring>
#include <string_view>

namespace cohort {

COHORT_CORE_INLINE std::string checkpoint_io::save(training& run, std::string const& directory, int keep) {
  run.require_common_steps("save_checkpoint");
  checkpoint_content content{.position = run.position_,
                             .own = model_content(run.network()),
                             .settings_hash = fnv1a(detail::describe(run.settings())),
                             .seed = run.settings().seed};
  replica const mine = run.own();
  if (run.strategy_->diverged()) add_replica(run, content.own);
  add_strategy(run, content.own);
  {
    detail::scoped_consensus const agreed(*run.strategy_, mine, mine.arrays());
    if (run.world().rank() == 0) add_replica(run, content.shared.emplace(run.network()));
  }
  if (content.shared) {
    std::vector<std::string> const keys = detail::keys_of(run.listeners_);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!keys[i].empty()) content.shared->note(listener_key + keys[i], run.listeners_[i]->state());
  }
  return save_checkpoint(run.world(), directory, content, keep);
}

COHORT_CORE_INLINE std::optional<std::string> checkpoint_io::resume(training& run,
                                                                    std::string const& directory) {
  std::optional<checkpoint_reader> const found = find_newest_checkpoint(run.world(), directory);
  if (!found) return std::nullopt;
  bool const same_ranks = found->ranks() == run.world().size();
  detail::all_or_none(run.world(), "cannot go on from the checkpoint", [&] {
    std::optional<model_file> own;
    if (same_ranks) own = found->rank_file(run.world().rank());
    bool const same_run = own && text_in(*own, strategy_key) == run.strategy_->describe();
    if (same_run && own->has_parameters())
      run.load(*own);
    else
      run.load(found->shared());
    run.knew_ = listeners_in(found->shared());
    run.position_ = found->position();
    if (own) {
      run.position_.position = number_in(*own, position_key);
      run.so_far_ = {real_in(*own, loss_key), real_in(*own, weight_key)};
    }
    if (same_run) run.strategy_->restore(state_in(*own));
    if (!same_ranks) restore_from_ranks(run, *found);
  });
  say_differences(run, *found);
  return found->path();
}

COHORT_CORE_INLINE void checkpoint_io::say_differences(training& run, checkpoint_reader const& from) {
  sink const& say = run.settings().log;
  if (!say) return;
  if (from.manifest().settings_hash != fnv1a(detail::describe(run.settings())))
    say("the settings are others than those of the run that wrote " + from.path());
  if (from.manifest().seed != run.settings().seed)
    say(detail::text_of(
        {"the seed is ", run.settings().seed, ", that of the run that wrote ", from.path(), " was ",
         from.manifest().seed,
         ": what is left of its epoch comes in another order, some examples twice and some not"}));
}

COHORT_CORE_INLINE void checkpoint_io::add_replica(training& run, model_content& to) {
  std::vector<std::byte*> const arrays = run.state_arrays();
  to.add_parameters(run.parameters());
  to.add_state(run.parameters(), {.settings = run.settings().optimizer(),
                                  .position = run.position_,
                                  .arrays = arrays,
                                  .plateau = run.plateau_});
}

COHORT_CORE_INLINE void checkpoint_io::add_strategy(training& run, model_content& to) {
  to.note(strategy_key, run.strategy_->describe());
  to.note(position_key, std::to_string(run.position_.position));
  to.note(loss_key, detail::text_of({run.so_far_.loss}));
  to.note(weight_key, detail::text_of({run.so_far_.weight}));
  strategy_state const state = run.strategy_->state();
  for (strategy_state::count const& one : state.counts)
    to.note("strategy/count/" + std::string(one.name), std::to_string(one.value));
  for (strategy_state::array const& one : state.arrays)
    detail::add_pieces(to, "strategy/array/" + std::string(one.name), one.type, one.values);
}

COHORT_CORE_INLINE std::vector<std::pair<std::string, std::string>> checkpoint_io::listeners_in(
    model_file const& shared) {
  std::string_view const prefix = listener_key;
  std::vector<std::pair<std::string, std::string>> found;
  for (auto const& [key, text] : shared.file().metadata())
    if (key.rfind(prefix, 0) == 0) found.emplace_back(key.substr(prefix.size()), text);
  return found;
}

COHORT_CORE_INLINE std::string checkpoint_io::text_in(model_file const& file, std::string const& key) {
  auto const found = file.file().metadata().find(key);
  return found == file.file().metadata().end() ? std::string() : found->second;
}

COHORT_CORE_INLINE std::int64_t checkpoint_io::number_in(model_file const& file, std::string const& key) {
  return value_in<std::int64_t>(file, key, text_in(file, key), "an integer");
}

COHORT_CORE_INLINE double checkpoint_io::real_in(model_file const& file, std::string const& key) {
  std::string const text = text_in(file, key);
  return text.empty() ? 0 : value_in<double>(file, key, text, "a number");
}

COHORT_CORE_INLINE strategy_state checkpoint_io::state_in(model_file const& own) {
  strategy_state state;
  std::string_view const counts = "strategy/count/", arrays = "strategy/array/";
  for (auto const& [key, text] : own.file().metadata())
    if (key.rfind(counts, 0) == 0)
      state.counts.push_back({std::string_view(key).substr(counts.size()), number_in(own, key)});
  for (stored_tensor const& one : own.file().tensors()) {
    if (one.name.rfind(arrays, 0) != 0) continue;
    std::string_view const name = std::string_view(one.name).substr(arrays.size());
    if (name.find('/') == name.npos)  // the others are its pieces
      state.arrays.push_back({name, one.view.type, detail::pieces_in(own.file(), one.name)});
  }
  return state;
}

COHORT_CORE_INLINE void checkpoint_io::restore_from_ranks(training& run, checkpoint_reader const& from) {
  for (int rank = 0; rank < from.ranks(); ++rank) {
    model_file const file = from.rank_file(rank);
    if (text_in(file, strategy_key) == run.strategy_->describe())
      run.strategy_->restore_from_ranks(state_in(file), rank, from.ranks());
  }
}

COHORT_CORE_INLINE std::string save_checkpoint(training& run, std::string const& directory, int keep) {
  return checkpoint_io::save(run, directory, keep);
}

COHORT_CORE_INLINE std::optional<std::string> resume(training& run, std::string const& directory) {
  return checkpoint_io::resume(run, directory);
}

}  // namespace cohort
