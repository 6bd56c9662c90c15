// Atomic<T>: one word shared between cores, every memory order written out.
//
// A thin layer over the compiler's __atomic builtins. <atomic> is not used in the kernel because it drags
// in C library headers; and there is no default order here, so that each use says what it relies on.
// Lock-free structures take the atomic template as a parameter (`template <template <class> class AtomicT>`),
// so that the shipped source also compiles against a model checker's atomics.
#pragma once

namespace corral {

enum class Order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST,
};

template <class T>
class Atomic {
 public:
  constexpr Atomic() = default;
  constexpr explicit Atomic(T value) : value_{value} {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(Order order) const {
    T result;
    __atomic_load(&value_, &result, static_cast<int>(order));
    return result;
  }
  void store(T value, Order order) { __atomic_store(&value_, &value, static_cast<int>(order)); }
  T exchange(T value, Order order) {
    T previous;
    __atomic_exchange(&value_, &value, &previous, static_cast<int>(order));
    return previous;
  }
  // On failure `expected` holds what was found.
  [[nodiscard]] bool compare_exchange(T& expected, T desired, Order success, Order failure) {
    return __atomic_compare_exchange(&value_, &expected, &desired, false, static_cast<int>(success), static_cast<int>(failure));
  }
  T fetch_add(T operand, Order order) { return __atomic_fetch_add(&value_, operand, static_cast<int>(order)); }
  T fetch_sub(T operand, Order order) { return __atomic_fetch_sub(&value_, operand, static_cast<int>(order)); }
  T fetch_or(T operand, Order order) { return __atomic_fetch_or(&value_, operand, static_cast<int>(order)); }
  T fetch_and(T operand, Order order) { return __atomic_fetch_and(&value_, operand, static_cast<int>(order)); }

 private:
  T value_{};
};

inline void fence(Order order) {
  __atomic_thread_fence(static_cast<int>(order));
}

inline constexpr unsigned long cache_line = 64;

}  // namespace corral
