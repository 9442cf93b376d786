// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/communicator/detail/launch_scope.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/tcp.hpp>
#include <cohort/tcp/detail/elastic_tcp.hpp>
#include <cohort/tcp/detail/tcp_start.hpp>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace cohort::detail {

/// Reads environment variables.
class variables {
 public:
  static std::string text(char const* name) {
    char const* const value = std::getenv(name);
    return value ? value : "";
  }
  /// Returns the value of the first variable that is set.  Errors: setting_error if it is not a number.
  static std::optional<int> number(std::initializer_list<char const*> names) {
    for (char const* const name : names) {
      std::string const value = text(name);
      if (value.empty()) continue;
      int made = 0;
      auto const [end, failure] = std::from_chars(value.data(), value.data() + value.size(), made);
      if (failure != std::errc{} || end != value.data() + value.size() || made < 0)
        throw setting_error({.what = "a variable of the environment is not a number",
                             .where = name,
                             .expected = "a whole number of at least 0",
                             .got = quote_for_error(value)});
      return made;
    }
    return std::nullopt;
  }
};

/// Returns the first host of a Slurm node list: "node003" for "node[003-007,9],x".
std::string first_of_node_list(std::string_view list) {
  std::string made;
  bool skips = false;  // after the first number in brackets
  int depth = 0;
  for (char const one : list) {
    if (one == '[') {
      ++depth;
    } else if (one == ']') {
      --depth;
      skips = false;
    } else if (depth > 0 && (one == '-' || one == ',')) {
      skips = true;
    } else if (depth == 0 && one == ',') {
      break;
    } else if (!skips) {
      made += one;
    }
  }
  return made;
}

/// Returns the address of the rendezvous from a launcher's variables; "" if there are none.
std::string address_from_launcher() {
  if (std::string const host = variables::text("MASTER_ADDR"); !host.empty()) {
    std::optional<int> const port = variables::number({"MASTER_PORT"});
    // If torchrun's agent itself listens on the port, the rendezvous uses the next port.
    int const used =
        port.value_or(29400) + (variables::text("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0);
    if (used < 1 || used > 65'535)
      throw setting_error({.what = "a variable of the environment is not a port",
                           .where = "MASTER_PORT",
                           .expected = "1 to 65535; with torchrun's agent store 1 to 65534",
                           .got = {*port}});
    return host_and_port{host, static_cast<std::uint16_t>(used)}.text();
  }
  std::string const nodes = variables::text("SLURM_STEP_NODELIST");
  if (std::string const host =
          first_of_node_list(nodes.empty() ? variables::text("SLURM_JOB_NODELIST") : nodes);
      !host.empty()) {
    constexpr int first = 20'000, count = 12'000;  // below the system's ephemeral ports
    // Steps of one job may run at the same time, so each needs its own port.
    std::int64_t const job = variables::number({"SLURM_JOB_ID"}).value_or(0);
    std::int64_t const step = variables::number({"SLURM_STEP_ID"}).value_or(0);
    return host_and_port{host, static_cast<std::uint16_t>(first + (job + 101 * step) % count)}.text();
  }
  return "";
}

/// Like cohort::make_tcp. `last_trouble`: see tcp_transport.
std::unique_ptr<communicator> make_tcp(tcp_settings const& settings, communicator_settings how,
                                       std::shared_ptr<std::optional<failure_report>> last_trouble) {
  check_settings(how);
  tcp_settings const from = from_environment(settings);
  if (from.min_ranks > 0) return std::make_unique<elastic_tcp>(from, std::move(how));
  tcp_start start;
  join(start, from, how);
  return make_communicator(
      std::make_unique<tcp_transport>(std::move(start.entrance), std::move(start.members),
                                      std::move(start.identity), how, std::move(last_trouble)),
      how);
}

}  // namespace cohort::detail

namespace cohort {

tcp_settings from_environment(tcp_settings given) {
  using detail::variables;
  auto const complete = [](std::string& to, char const* name) {
    if (to.empty()) to = variables::text(name);
  };
  complete(given.join, "COHORT_JOIN");
  complete(given.interfaces, "COHORT_INTERFACES");
  complete(given.shared_directory, "COHORT_SHARED_DIRECTORY");
  complete(given.ports, "COHORT_PORTS");
  complete(given.secret_file, "COHORT_SECRET_FILE");
  complete(given.certificate, "COHORT_CERTIFICATE");
  complete(given.key, "COHORT_KEY");
  complete(given.authorities, "COHORT_AUTHORITIES");
  if (std::string const how = variables::text("COHORT_ENCRYPTION"); !how.empty()) {
    if (how != "off" && how != "automatic")
      throw setting_error({.what = "a variable of the environment is not valid",
                           .where = "COHORT_ENCRYPTION",
                           .expected = "automatic or off",
                           .got = detail::quote_for_error(how)});
    if (how == "off") given.encryption = tcp_encryption::off;
  }
  if (given.ranks == 0) given.ranks = variables::number({"COHORT_RANKS"}).value_or(0);
  if (given.min_ranks == 0) given.min_ranks = variables::number({"COHORT_MIN_RANKS"}).value_or(0);
  if (given.max_ranks == 0) given.max_ranks = variables::number({"COHORT_MAX_RANKS"}).value_or(0);
  if (given.rank < 0) given.rank = variables::number({"COHORT_RANK"}).value_or(-1);
  // Rank and number of ranks are read from the same launcher, because launchers may be nested.
  struct launcher {
    char const *rank, *ranks;
  };
  for (auto const& [rank, ranks] :
       {launcher{"RANK", "WORLD_SIZE"}, launcher{"SLURM_PROCID", "SLURM_NTASKS"},
        launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, launcher{"PMI_RANK", "PMI_SIZE"}}) {
    std::optional<int> const of = variables::number({ranks}), one = variables::number({rank});
    if (given.ranks == 0 && of) given.ranks = *of;
    if (given.rank < 0 && one && of == given.ranks) given.rank = *one;
  }
  if (given.rank < 0) given.rank = variables::number({"JOB_COMPLETION_INDEX"}).value_or(-1);
  if (given.join.empty()) given.join = detail::address_from_launcher();
  if (given.job == tcp_settings().job) {
    std::string const job = variables::text("COHORT_JOB"), step = variables::text("SLURM_STEP_ID");
    if (!job.empty())
      given.job = job;
    else if (!step.empty())
      given.job = detail::text_of({"slurm ", variables::text("SLURM_JOB_ID"), ".", step});
  }
  return given;
}

bool tcp_started() {
  using detail::variables;
  return !variables::text("COHORT_JOIN").empty()
         || (!variables::text("MASTER_ADDR").empty() && !variables::text("WORLD_SIZE").empty());
}

std::unique_ptr<communicator> make_tcp(tcp_settings const& settings, communicator_settings how) {
  return detail::make_tcp(settings, std::move(how), {});
}

int tcp::run(tcp_settings const& where, communicator_settings settings, detail::rank_body body) {
  std::unique_ptr<communicator> world;
  int rank = -1;
  try {
    auto const last_trouble = std::make_shared<std::optional<detail::failure_report>>();
    world = detail::make_tcp(where, settings, last_trouble);
    rank = world->rank();
    detail::launch_scope const launched(world->size());
    body(*world);
    world.reset();  // leaves, and waits for the other ranks
    if (auto const& why = *last_trouble) throw communicator_error({.what = why->text}, why->exit_status);
  } catch (detail::rank_has_left const& left) {
    stderr_sink()(left.what());
  } catch (...) {
    detail::failure_report const why = detail::failure_of(std::current_exception());
    int const status = world ? world->abort(why.text, why.exit_status) : why.exit_status;
    stderr_sink()(rank < 0 ? why.text : detail::text_of({"rank ", rank, ": ", why.text}));
    detail::exit_at_once(status);
  }
  return 0;
}

}  // namespace cohort
