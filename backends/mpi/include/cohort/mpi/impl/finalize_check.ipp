// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/finalize_check.hpp>

namespace cohort::detail {

finalize_check::finalize_check() : in_use_(std::make_shared<std::atomic<bool>>(true)) {
  auto const when_deleted = [](MPI_Comm, int, void* value, void*) -> int {
    std::unique_ptr<std::shared_ptr<std::atomic<bool>>> const in_use(
        static_cast<std::shared_ptr<std::atomic<bool>>*>(value));
    if (!**in_use) return MPI_SUCCESS;
    setting_error const early(
        {.what = "MPI_Finalize was called too early",
         .where = "make_mpi",
         .expected = "MPI_Finalize after the end of each communicator of make_mpi and of all that "
                     "uses it: a block { } around them",
         .got = "a communicator in use"});
    stderr_sink()(early.what());
    exit_at_once(1);
  };
  mpi_call(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, when_deleted, &key_, nullptr),
           "MPI_Comm_create_keyval");
  mpi_call(MPI_Comm_set_attr(MPI_COMM_SELF, key_, new std::shared_ptr(in_use_)), "MPI_Comm_set_attr");
}

void finalize_check::free() noexcept {
  end();
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

}  // namespace cohort::detail
