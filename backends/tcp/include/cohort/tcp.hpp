// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/tcp/detail/implementation.hpp>
#include <memory>
#include <string>
#include <utility>

namespace cohort {

/// Protection of a job's connections.
///
/// automatic     TLS with the secret or the certificates. Without either, connections are not protected; this
///               is accepted only if all addresses belong to the loopback interface.
/// off           not encrypted and not authenticated; refused together with a secret or certificates.
enum class tcp_encryption { automatic, off };

/// Settings of ranks that are processes connected by TCP.
///
/// Units     `ports`: range of the ports on which this process may listen, such as "29500-29600".
struct tcp_settings {
  std::string join{};          ///< HOST:PORT of the rendezvous; "": from the environment
  std::string job = "cohort";  ///< name of the job, equal for its processes
  int ranks = 0;               ///< processes of the job; 0: from the environment
  int rank = -1;               ///< this process's rank; −1: from the environment or the rendezvous
  int min_ranks = 0;           ///< the ranks may change down to this number; 0: they do not change
  int max_ranks = 0;           ///< the ranks may change up to this number, at least `ranks`
  /// Directory that all hosts share. If exactly half of the ranks is lost, the other half continues only if
  /// it creates a file here first; "": only if the operating systems of the lost ranks have closed their
  /// connections.
  std::string shared_directory{};
  std::string interfaces{};   ///< names or networks: "eth0,10.0.0.0/8"; "": route to the rendezvous
  std::string ports{};        ///< "": any free port
  std::string secret_file{};  ///< file with the job's secret, readable by its owner only
  std::string certificate{};  ///< PEM file; used with `key` and `authorities` instead of a secret
  std::string key{};
  std::string authorities{};
  tcp_encryption encryption = tcp_encryption::automatic;
};

/// Returns the settings, completed from the environment:
///
/// COHORT_JOIN, COHORT_JOB, COHORT_RANKS, COHORT_RANK, COHORT_MIN_RANKS, COHORT_MAX_RANKS,
/// COHORT_SHARED_DIRECTORY, COHORT_INTERFACES, COHORT_PORTS, COHORT_SECRET_FILE,
/// COHORT_CERTIFICATE, COHORT_KEY, COHORT_AUTHORITIES, COHORT_ENCRYPTION (automatic or off); otherwise rank,
/// number of ranks and address from torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), Slurm
/// (SLURM_PROCID, SLURM_NTASKS, SLURM_STEP_NODELIST, SLURM_JOB_ID, SLURM_STEP_ID), Kubernetes
/// (JOB_COMPLETION_INDEX), Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) and PMI (PMI_RANK,
/// PMI_SIZE). A launcher's rank is used only if the launcher's number of ranks equals the job's.
///
/// Errors    setting_error naming the variable for a value that is not valid.
tcp_settings from_environment(tcp_settings given = {});

/// Returns whether the environment contains the address of a rendezvous: COHORT_JOIN, or torchrun's
/// variables.
bool tcp_started();

/// Creates a communicator of processes that register at a common address. The first process that can listen
/// at this address of its host runs the rendezvous, which is not needed after this call unless the ranks may
/// change (min_ranks).
///
/// Order     collective over the processes of the job. The last destructor of the communicator and of all
///           communicators split or duplicated from it is also collective. This destructor waits for the
///           other ranks, at most until the deadline. Connections open when ranks first exchange messages.
/// Errors    setting_error for settings that are not valid; for an address outside the loopback interface
///           without a secret, certificates or tcp_encryption::off; on a rank whose rank or number of ranks
///           contradicts the other ranks; and on a rank that finds no free port in its range for 5 s. If the
///           job has a secret or certificates, a wrong number of ranks or a lack of ports is a setting_error
///           on the waiting ranks, too; in other jobs, the waiting ranks wait until the deadline.
///           setting_error after 10 s or at the deadline if the rendezvous belongs to another job, has not
///           accepted the secret or does not encrypt, or if another program uses the port. file_error for a
///           secret that cannot be read. communicator_error if there is no free descriptor, if the rendezvous
///           refuses this process, or if not all ranks join within the deadline.
std::unique_ptr<communicator> make_tcp(tcp_settings const& settings, communicator_settings how = {});

/// Ranks that are processes connected by TCP: launch<tcp>(body). The settings are read from the environment.
///
/// After     returns 0 if all ranks have returned. Otherwise prints the reason to the standard error stream
///           and exits the process. Every rank exits with the status of the first failure:
///           communicator_exit_status if a rank is lost, and 1 if a rank's body has thrown an exception other
///           than communicator_error. The other ranks receive the text of that exception.
struct tcp {
  template <class Body>
  static int launch(Body&& body) {
    return launch(communicator_settings(), body);
  }
  template <class Body>
  static int launch(communicator_settings settings, Body&& body) {
    auto call = [&](communicator& world) { body(world); };
    return run({}, std::move(settings), detail::rank_body(call));
  }
  template <class Body>
  static int launch(tcp_settings const& where, communicator_settings settings, Body&& body) {
    auto call = [&](communicator& world) { body(world); };
    return run(where, std::move(settings), detail::rank_body(call));
  }

 private:
  static int run(tcp_settings const& where, communicator_settings settings, detail::rank_body body);
};

}  // namespace cohort
