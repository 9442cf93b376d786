// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>

#include <cohort/backend/reference.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/training/own_backend.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Simulated device memory, which is inaccessible except while a kernel or a pass runs. Code that accesses an
/// arena like host memory gets a signal; a kernel that receives host memory for a tensor throws.
class locked_memory final : public cohort::memory_space {
 public:
  locked_memory()
      : begin_(static_cast<std::byte*>(
          ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
  }
  locked_memory(locked_memory const&) = delete;
  locked_memory& operator=(locked_memory const&) = delete;
  ~locked_memory() override { ::munmap(begin_, reserved); }

  std::byte* allocate(std::size_t bytes) override {
    std::lock_guard const one_at_a_time(mutex_);
    std::byte* const taken = begin_ + used_;
    used_ += cohort::round_to_alignment(bytes);  // memory is never reused, so all memory is zero at first
    if (used_ > reserved) throw cohort::memory_error({.what = "the simulated device has no memory left"});
    ++held_;
    return taken;
  }
  void deallocate(std::byte*) noexcept override {
    std::lock_guard const one_at_a_time(mutex_);
    --held_;
  }

  bool has(void const* address) const { return address >= begin_ && address < begin_ + reserved; }
  void require(void const* address, bool inside, char const* what) const {
    if (has(address) != inside)
      throw std::logic_error(std::string(what) + (inside ? " is not" : " is") + " on the device");
  }
  /// Number of allocations that have not been freed.
  int held() const { return held_; }

  /// While an object of this class exists, the memory is accessible.
  class opened {
   public:
    explicit opened(locked_memory& memory) : memory_(memory) { memory_.change(1, PROT_READ | PROT_WRITE); }
    opened(opened const&) = delete;
    opened& operator=(opened const&) = delete;
    ~opened() { memory_.change(-1, PROT_NONE); }

   private:
    locked_memory& memory_;
  };

 private:
  static constexpr std::size_t reserved = std::size_t{1} << 30;

  void change(int by, int protection) {
    std::lock_guard const one_at_a_time(mutex_);
    int const before = std::exchange(open_, open_ + by);
    if (before == 0 || open_ == 0) ::mprotect(begin_, reserved, protection);
  }

  std::byte* begin_;
  std::mutex mutex_;
  std::size_t used_ = 0;
  int held_ = 0;
  int open_ = 0;
};

/// The processor's passes, on simulated device memory.
template <class T>
class locked_memory_passes final : public cohort::arena_passes {
 public:
  using bytes = std::byte*;
  using parts_of = std::span<std::byte* const>;

  explicit locked_memory_passes(std::shared_ptr<locked_memory> memory) : memory_(std::move(memory)) {}

  std::string name() const override { return "locked memory"; }
  std::shared_ptr<cohort::memory_space> space() const override { return memory_; }
  std::shared_ptr<cohort::memory_space> results() const override { return nullptr; }
  void upload(std::byte const* host, bytes to, std::size_t count) override {
    carry(host, false, to, true, count);
  }
  void download(std::byte const* from, bytes host, std::size_t count) override {
    carry(from, true, host, false, count);
  }
  void wait() override {}
  void copy(std::byte const* from, bytes to, std::size_t count) override {
    carry(from, true, to, true, count);
  }

  void fill(bytes arena, std::size_t begin, std::size_t n, double value) override {
    open({arena});
    locked_memory::opened const now(*memory_);
    own_->fill(arena, begin, n, value);
  }
  void add(std::byte const* from, bytes to, std::size_t n) override {
    open({from, to});
    locked_memory::opened const now(*memory_);
    own_->add(from, to, n);
  }
  void scale(bytes x, std::size_t n, double factor) override {
    open({x});
    locked_memory::opened const now(*memory_);
    own_->scale(x, n, factor);
  }
  void join(parts_of parts, std::size_t begin, std::size_t n) override {
    open(parts);
    locked_memory::opened const now(*memory_);
    own_->join(parts, begin, n);
  }
  bool finite(cohort::element_type type, std::byte const* x, std::size_t n) override {
    open({x});
    locked_memory::opened const now(*memory_);
    return own_->finite(type, x, n);
  }
  void square_sums(parts_of parts, std::size_t begin, std::size_t n, double* sums) override {
    open(parts);
    locked_memory::opened const now(*memory_);
    own_->square_sums(parts, begin, n, sums);
  }
  void step_square_sums(cohort::optimizer_rule const& rule, cohort::update_scalars const& scalars,
                        bytes master, parts_of parts, parts_of state, std::size_t begin, std::size_t n,
                        double* sums) override {
    open({master});
    open(parts);
    open(state);
    locked_memory::opened const now(*memory_);
    own_->step_square_sums(rule, scalars, master, parts, state, begin, n, sums);
  }
  void update(std::span<cohort::update_range const> ranges, bytes master, parts_of parts,
              parts_of state) override {
    open({master});
    open(parts);
    open(state);
    locked_memory::opened const now(*memory_);
    own_->update(ranges, master, parts, state);
  }
  void merge_statistics(std::byte const* means, std::byte const* variances, double const* weight,
                        cohort::detail::batch_moments* to, std::size_t n) override {
    open({means, variances, reinterpret_cast<std::byte const*>(weight),
          reinterpret_cast<std::byte const*>(to)});
    locked_memory::opened const now(*memory_);
    own_->merge_statistics(means, variances, weight, to, n);
  }
  void merge_moments(cohort::detail::batch_moments const* from, cohort::detail::batch_moments* to,
                     std::size_t n) override {
    open({reinterpret_cast<std::byte const*>(from), reinterpret_cast<std::byte const*>(to)});
    locked_memory::opened const now(*memory_);
    own_->merge_moments(from, to, n);
  }
  void follow_statistics(bytes master, std::size_t mean, std::size_t variance,
                         cohort::detail::batch_moments const* batch, std::size_t n, double kept) override {
    open({master, reinterpret_cast<std::byte const*>(batch)});
    locked_memory::opened const now(*memory_);
    own_->follow_statistics(master, mean, variance, batch, n, kept);
  }

 private:
  void open(std::initializer_list<std::byte const*> arenas) const {
    for (std::byte const* one : arenas) memory_->require(one, true, "an arena");
  }
  void open(parts_of arenas) const {
    for (std::byte const* one : arenas) memory_->require(one, true, "an arena");
  }
  void carry(std::byte const* from, bool from_device, bytes to, bool to_device, std::size_t count) {
    memory_->require(from, from_device, "what is copied");
    memory_->require(to, to_device, "where it is copied to");
    locked_memory::opened const now(*memory_);
    std::memcpy(to, from, count);
  }

  std::shared_ptr<locked_memory> memory_;
  std::shared_ptr<cohort::arena_passes> own_ = cohort::detail::passes_on_processor<T>();
};

/// The reference backend with its arenas in simulated device memory. If its results have the same bits as
/// reference<T>'s, the core handles arenas on a device correctly.
template <class T>
class device_passes {
 public:
  using scalar = T;
  using layout = cohort::shape;
  using kernel = cohort::host_function;
  using call = cohort::host_call;

  static constexpr std::string_view name = "elsewhere";
  static cohort::availability probe() { return {}; }
  static int threads(int) { return 1; }

  std::shared_ptr<cohort::arena_passes> passes() const {
    return std::make_shared<locked_memory_passes<T>>(memory_);
  }
  locked_memory const& memory() const { return *memory_; }

  static bool supports(cohort::kind const& k) { return cohort::reference<T>::supports(k); }
  bool fuses(cohort::kind const&, cohort::kind const&, bool) const { return false; }
  layout plain(cohort::shape const& s) const { return s; }
  std::size_t bytes(layout const& l) const { return own_.bytes(l); }
  cohort::element_type element(layout const& l) const { return own_.element(l); }
  std::string describe(layout const&) const { return "dense, elsewhere"; }
  kernel reorder(layout const& from, layout const& to) const {
    return locked(own_.reorder(from, to), {true, true});
  }
  kernel accumulate(layout const& l) const { return locked(own_.accumulate(l), {true, true}); }
  static call bind(kernel const& k, std::span<void* const> addresses) { return {k, addresses}; }

  cohort::backend_operation<device_passes> prepare(
      cohort::operation_request<device_passes> const& request) const {
    cohort::backend_operation<device_passes> made = own_.prepare(request);
    for (auto* calls : {&made.forward, &made.backward})
      for (auto& one : *calls) {
        std::vector<bool> tensors;
        for (auto const& o : one.operands)
          tensors.push_back(o.role != cohort::operand_role::target && o.role != cohort::operand_role::loss
                            && o.role != cohort::operand_role::scalars
                            && o.role != cohort::operand_role::mask);
        one.kernel = locked(std::move(one.kernel), std::move(tensors));
      }
    return made;
  }

 private:
  kernel locked(kernel run, std::vector<bool> tensors) const {
    return [memory = memory_, run = std::move(run), tensors = std::move(tensors)](std::span<void* const> a) {
      for (std::size_t i = 0; i < a.size(); ++i) memory->require(a[i], tensors[i], "an argument of a kernel");
      locked_memory::opened const now(*memory);
      run(a);
    };
  }

  cohort::reference<T> own_;
  std::shared_ptr<locked_memory> memory_ = std::make_shared<locked_memory>();
};

static_assert(cohort::tensor_backend<device_passes<float>>);
