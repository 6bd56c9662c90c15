// Result<T>: a value or an Errno. TRY() hands an error on to the caller.
//
// "Trivial for calls" (an attribute of clang's that does nothing where T itself is not): small results travel in registers.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "lib/errno.h"

namespace corral {

template <class T>
class [[nodiscard]] [[clang::trivial_abi]] Result {
 public:
  Result(T value) : ok_{true} { ::new (&storage_.value) T(std::move(value)); }  // implicit by design
  Result(Errno error) : ok_{false} { storage_.error = error; }                  // implicit by design
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
  [[nodiscard]] Errno error() const {  // only when !ok(), else a trap
    if (ok_) [[unlikely]]
      __builtin_trap();
    return storage_.error;
  }
  [[nodiscard]] T& value() {  // only when ok(), else a trap
    must_be_ok();
    return storage_.value;
  }
  [[nodiscard]] const T& value() const {
    must_be_ok();
    return storage_.value;
  }
  [[nodiscard]] T take() {
    must_be_ok();
    return std::move(storage_.value);
  }

 private:
  void must_be_ok() const {
    if (!ok_) [[unlikely]]
      __builtin_trap();
  }
  union [[clang::trivial_abi]] Storage {
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
  Result(Errno error) : error_{error} {}  // implicit by design
  [[nodiscard]] bool ok() const { return error_ == Errno{}; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] Errno error() const { return error_; }
  void take() const {}

 private:
  Errno error_{};
};

// Evaluates to the value, or returns the error from the enclosing function (a statement expression: clang and gcc).
// NOLINTBEGIN(bugprone-macro-parentheses): `name` is a new name
#define TRY(expression) CORRAL_TRY(expression, CORRAL_TRY_NAME(__COUNTER__))
#define CORRAL_TRY_NAME(number) CORRAL_TRY_JOIN(number)
#define CORRAL_TRY_JOIN(number) try_result_##number  // numbered, so that one TRY may stand inside another
#define CORRAL_TRY(expression, name) \
  __extension__({                    \
    auto name = (expression);        \
    if (!name.ok()) [[unlikely]]     \
      return name.error();           \
    name.take();                     \
  })
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace corral
