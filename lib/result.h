// Result<T>: a value or an Errno. TRY() hands an error on to the caller.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "lib/errno.h"

namespace corral {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_{true} { ::new (&storage_.value) T(std::move(value)); }  // NOLINT: implicit by design
  Result(Errno error) : ok_{false} { storage_.error = error; }                  // NOLINT: implicit by design
  Result(Result&& other) noexcept : ok_{other.ok_} {
    if (ok_) {
      ::new (&storage_.value) T(std::move(other.storage_.value));
    } else {
      storage_.error = other.storage_.error;
    }
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;
  ~Result() {
    if (ok_) storage_.value.~T();
  }

  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  [[nodiscard]] Errno error() const { return storage_.error; }  // only when !ok()
  [[nodiscard]] T& value() { return storage_.value; }           // only when ok()
  [[nodiscard]] const T& value() const { return storage_.value; }
  [[nodiscard]] T take() { return std::move(storage_.value); }

 private:
  union Storage {
    Storage() {}
    ~Storage() {}
    T value;
    Errno error;
  } storage_;
  bool ok_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Errno error) : error_{error} {}  // NOLINT: implicit by design
  [[nodiscard]] bool ok() const { return error_ == Errno{}; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] Errno error() const { return error_; }
  void take() const {}

 private:
  Errno error_{};
};

// Evaluates to the value, or returns the error from the enclosing function (a statement expression: clang and gcc).
#define TRY(expression)                                    \
  __extension__({                                          \
    auto try_result = (expression);                        \
    if (!try_result.ok()) [[unlikely]]                     \
      return try_result.error();                           \
    try_result.take();                                     \
  })

}  // namespace corral
