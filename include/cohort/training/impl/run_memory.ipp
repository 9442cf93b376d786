// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/plan_text.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/training/run_memory.hpp>

namespace cohort {

std::size_t run_memory::total() const {
  return parameters + optimizer_state + working_copies + gradients + activations + accumulation + staging
         + batches + exchange;
}

run_memory memory_of_workers(plan const& made, int workers, bool accumulates) {
  plan_memory const m = made.memory();
  auto const count = static_cast<std::size_t>(workers);
  return {.parameters = m.parameters,
          .working_copies = m.working_copies,
          .gradients = count * m.gradients,
          .activations = count * m.activations,
          .accumulation = accumulates ? count * m.accumulation : 0};
}

void add_examples(run_memory& to, data_description const& what, parameter_set const& parameters, int batch,
                  int batches, int workers, int micro_batch) {
  element_type const type = parameters.type();
  bool const device_passes = parameters.passes().space() != nullptr;
  auto const held = static_cast<std::size_t>(batch) * static_cast<std::size_t>(batches),
             staged = static_cast<std::size_t>(workers) * static_cast<std::size_t>(micro_batch);
  for (std::size_t p = 0; p < what.parts(); ++p) {
    tensor_description const& part = what.part(p);
    auto const elements = static_cast<std::size_t>(part.example.elements());
    to.batches += held * elements * bytes_of(part.type);
    bool const input = p < what.inputs.size();
    bool const converted = part.type != type && part.type != element_type::i32;
    int const copies = (converted ? 1 : 0) + (!device_passes ? 0 : input ? 1 : 2);
    std::size_t const each = part.type == element_type::i32 ? sizeof(std::int32_t) : bytes_of(type);
    to.staging += staged * elements * each * static_cast<std::size_t>(copies);
  }
}

std::string text_of(run_memory const& m, int workers, int micro_batches) {
  auto const text = [](std::size_t bytes) { return detail::in_bytes(static_cast<double>(bytes)); };
  auto const each = [&](std::size_t bytes) { return text(bytes / static_cast<std::size_t>(workers)); };
  auto const more = [&](char const* what, std::size_t bytes) {
    return bytes > 0 ? detail::text_of({", ", what, " ", text(bytes)}) : std::string();
  };
  return detail::text_of(
      {"memory: parameters ", text(m.parameters), ", optimizer state ", text(m.optimizer_state),
       ", working copies ", text(m.working_copies), more("batches", m.batches + m.staging),
       more("exchange buffers", m.exchange),
       workers > 1 ? detail::text_of({"; each of ", workers, " workers: "}) : "; ", "gradients ",
       each(m.gradients), ", activations ", each(m.activations),
       micro_batches > 1 ? detail::text_of(
           {" (one of ", micro_batches, " micro-batches), gradient accumulation ", each(m.accumulation)})
                         : "",
       "; total ", text(m.total())});
}

}  // namespace cohort
