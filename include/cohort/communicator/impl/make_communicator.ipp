// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/message_communicator.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <numeric>
#include <utility>

namespace cohort {

std::unique_ptr<communicator> make_communicator(std::unique_ptr<detail::transport> over,
                                                communicator_settings settings) {
  auto const all = std::make_shared<detail::rank_group>();
  all->rank = over->rank();
  all->members.resize(static_cast<std::size_t>(over->size()));
  std::iota(all->members.begin(), all->members.end(), 0);
  std::shared_ptr<detail::engine> const engine(new detail::engine(std::move(over), std::move(settings)),
                                               detail::engine::close);
  return std::make_unique<detail::message_communicator>(engine, all);
}

}  // namespace cohort
