// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/cell_functions.hpp>
#include <cohort/layer/detail/recurrent_cell.hpp>
#include <cohort/layer/detail/recurrent_schedule.hpp>
#include <cstddef>
#include <cstdint>

/// Forward and backward of one direction of a recurrent layer on plain arrays. Backends provide the matrix
/// products and the cell's functions.
namespace cohort::detail {

/// Sizes of a recurrent layer's arrays in elements; each is a multiple of 16.
///
/// Shapes    R: maximum number of rows of the schedule; B: maximum number of rows of a step. Elements of type
///           T: cells, first_cells, sums, diff_read, diff_direct, diff_cells, diff_reset, kept; the others
///           have type E.
struct recurrent_sizes {
  // Passed from forward to backward.
  std::size_t x = 0;            ///< R × C
  std::size_t gates = 0;        ///< R × G·U
  std::size_t before = 0;       ///< R × U, states before the steps
  std::size_t read = 0;         ///< R × U, `before` with recurrent dropout applied
  std::size_t other = 0;        ///< R × U, gru
  std::size_t cells = 0;        ///< R × U, lstm
  std::size_t first_cells = 0;  ///< B × U, lstm with an initial state
  // Scratch.
  std::size_t sums = 0;       ///< B × G·U
  std::size_t diff_sums = 0;  ///< B × G·U, gru
  std::size_t diff_read = 0;  ///< B × U, …
  std::size_t diff_direct = 0;
  std::size_t diff_cells = 0;
  std::size_t diff_reset = 0;
  std::size_t kept = 0;  ///< examples × (C + U), factors of the dropouts

  /// `rows_per_step`, `rows`: maximum numbers of rows of a step and of the schedule, with padding.
  recurrent_sizes(recurrent_cell const& cell, int examples, int rows_per_step, int rows);
  recurrent_sizes() = default;

  std::size_t saved(std::size_t bytes_of_element, std::size_t bytes_of_number) const {
    return (x + gates + before + read + other) * bytes_of_element + (cells + first_cells) * bytes_of_number;
  }
  std::size_t forward_scratch(std::size_t bytes_of_number) const { return (sums + kept) * bytes_of_number; }
  std::size_t backward_scratch(std::size_t bytes_of_element, std::size_t bytes_of_number) const {
    return diff_sums * bytes_of_element
           + (diff_read + diff_direct + diff_cells + diff_reset + kept) * bytes_of_number;
  }
};

/// Addresses of the arrays of recurrent_sizes.
template <class T, class E>
struct recurrent_memory {
  E *x = nullptr, *gates = nullptr, *before = nullptr, *read = nullptr, *other = nullptr;
  T *cells = nullptr, *first_cells = nullptr;
  T* sums = nullptr;
  E* diff_sums = nullptr;
  T *diff_read = nullptr, *diff_direct = nullptr, *diff_cells = nullptr, *diff_reset = nullptr,
    *kept = nullptr;

  /// `at`: memory of saved() bytes.
  void place_saved(recurrent_sizes const& sizes, std::byte* at);
  void place_forward_scratch(recurrent_sizes const& sizes, std::byte* at);
  void place_backward_scratch(recurrent_sizes const& sizes, std::byte* at);
};

/// Matrix products of a recurrent layer. W: G·U × C, R: G·U × U.
///
/// Order     the rows of a call are padded as in the schedule.
template <class T, class E>
struct recurrent_products {
  virtual void multiply_inputs(int rows, E const* x, E* gates) = 0;           ///< gates ← x·Wᵀ
  virtual void multiply_state(int rows, E const* read, T* sums) = 0;          ///< sums ← read·Rᵀ
  virtual void state_gradient(int rows, E const* diff_sums, T* diff) = 0;     ///< diff ← diff_sums·R
  virtual void input_gradient(int rows, E const* diff_gates, E* diff_x) = 0;  ///< diff_x ← diff_gates·W
  /// dW ← diff_gatesᵀ·x
  virtual void weight_gradient(int rows, E const* diff_gates, E const* x) = 0;
  /// dR ← diff_gatesᵀ·read; gru: without the candidate's rows
  virtual void recurrent_gradient(int rows, E const* diff_gates, E const* read) = 0;
  /// gru: the candidate's rows of dR ← diffᵀ·read. diff: rows of U elements (gru_after), or the last U
  /// elements of each row of diff_gates (gru_before, with r ∘ read as `read`).
  virtual void candidate_gradient(int rows, E const* diff, E const* read) = 0;
  /// Runs f for all units of a step, possibly in parts.
  virtual void run(typename cell_functions<T, E>::function f, cell_step<T, E> const& step) { f(step); }

 protected:
  ~recurrent_products() = default;
};

/// Tensors of a recurrent layer. A null pointer means that the call does not use the tensor.
///
/// Shapes    x, diff_x: batch × length × C; y, diff_y: batch × rows × U, with output_rows() rows per example:
///           all steps, then the final state if the layer returns it; with last_step, only the last step or
///           the final state. state, cells: batch × U, the initial state; diff_state, diff_cells: their
///           gradients. carried, carried_after: batch × (h, and c of an lstm), the states of a layer that
///           carries them. bias: G·U; recurrent_bias: G·U; peepholes: 3·U.
/// `mask`    as in recurrent_order
template <class T, class E>
struct recurrent_tensors {
  int batch = 0;
  int length = 0;
  std::uint8_t const* mask = nullptr;
  E const* x = nullptr;
  E* y = nullptr;
  E const *state = nullptr, *cells = nullptr;
  T const* carried = nullptr;
  T* carried_after = nullptr;
  T const* bias = nullptr;
  T const* recurrent_bias = nullptr;
  T const* peepholes = nullptr;
  E const* diff_y = nullptr;
  E* diff_x = nullptr;
  E *diff_state = nullptr, *diff_cells = nullptr;
  T* diff_bias = nullptr;
  T* diff_recurrent_bias = nullptr;
  T* diff_peepholes = nullptr;
  bool drops = false;   ///< memory.kept contains the dropouts' factors
  bool frozen = false;  ///< backward computes no gradients of parameters
};

/// One direction of a recurrent layer on one batch.
///
/// Before    `schedule` was built from the tensors' mask; backward runs after forward, with the same memory.
template <class T, class E>
class recurrent_core {
 public:
  recurrent_core(recurrent_cell const& cell, cell_functions<T, E> const& functions,
                 recurrent_schedule const& schedule, recurrent_products<T, E>& products,
                 recurrent_tensors<T, E> const& tensors, recurrent_memory<T, E> const& memory)
      : cell_(cell),
        functions_(functions),
        order_(schedule),
        products_(products),
        a_(tensors),
        m_(memory),
        read_(cell.recurrent_dropout > 0 ? memory.read : memory.before) {}

  void forward() const;
  /// Overwrites the gradients, and m.gates, m.other and m.x.
  void backward() const;

 private:
  std::size_t first(int k) const { return static_cast<std::size_t>(order_.first(k)); }
  std::size_t live(int k) const { return static_cast<std::size_t>(order_.live(k)); }
  std::size_t rows() const { return static_cast<std::size_t>(order_.rows()); }
  bool drops_state() const { return a_.drops && cell_.recurrent_dropout > 0; }
  T const* kept_inputs(int example) const {
    return m_.kept + static_cast<std::size_t>(example) * (cell_.inputs() + cell_.width());
  }
  T const* kept_state(std::size_t row_of_step) const {
    return kept_inputs(order_.examples()[row_of_step]) + cell_.inputs();
  }

  /// Number of rows of an example's output.
  std::size_t output_rows() const {
    std::size_t const steps = cell_.last_step ? 1 : static_cast<std::size_t>(a_.length);
    std::size_t const states = static_cast<std::size_t>(cell_.states());
    return cell_.returns_state ? (cell_.last_step ? states : steps + states) : steps;
  }
  /// Offset of h in an example's output, after the steps; c follows h.
  std::size_t state_offset(int example) const {
    std::size_t const from_end = cell_.returns_state ? static_cast<std::size_t>(cell_.states()) : 1;
    return ((static_cast<std::size_t>(example) + 1) * output_rows() - from_end) * cell_.width();
  }
  bool is_lstm() const { return cell_.kind == cell_kind::lstm; }
  /// Elements of a state: h, and for an lstm also c.
  std::size_t state_width() const { return static_cast<std::size_t>(cell_.states()) * cell_.width(); }
  /// Element u of an example's initial state, h followed by c.
  T initial_state(int example, std::size_t u) const;

  void pack_initial_state() const;
  void write_final_state() const;
  void begin_state_gradient(cell_step<T, E>& now, int k) const;
  void write_state_gradient() const;
  void pack_inputs() const;
  void clear_padding(E* array, std::size_t width) const;
  void drop_state(int k) const;
  void scale_by_kept(T* rows, std::size_t count) const;
  void fill_masked_outputs() const;
  void unpack_diff_inputs() const;
  void differentiate_peepholes() const;
  cell_step<T, E> step(int k) const;

  recurrent_cell const& cell_;
  cell_functions<T, E> const& functions_;
  recurrent_schedule const& order_;
  recurrent_products<T, E>& products_;
  recurrent_tensors<T, E> const& a_;
  recurrent_memory<T, E> const& m_;
  E* read_;
};

}  // namespace cohort::detail

#include <cohort/layer/impl/recurrent_core.tpp>
