// Guarded calls of the host tests: a callee that is to fail throws how (arch::CallFailure). Everything else is as in the real
// header, which is the kernel's alone.
#pragma once

#include "lib/types.h"

namespace corral::arch {

enum class CallFailure : u32 { none, fault, stack_overflow, endless };

inline thread_local CallFailure host_call_failure = CallFailure::none;
[[nodiscard]] inline CallFailure last_call_failure() {
  return host_call_failure;
}
[[nodiscard]] inline bool in_guarded_call() {
  return false;
}

template <auto Member, class Object, class... Arguments>
[[nodiscard]] bool call_guarded(Object& object, Arguments&&... arguments) {
  try {
    (object.*Member)(arguments...);
    return true;
  } catch (CallFailure failure) {
    host_call_failure = failure;
    return false;
  }
}
template <auto Member, class Result, class Object, class... Arguments>
[[nodiscard]] bool ask_guarded(Result& result, Object& object, Arguments&&... arguments) {
  try {
    result = (object.*Member)(arguments...);
    return true;
  } catch (CallFailure failure) {
    host_call_failure = failure;
    return false;
  }
}
template <class Result, class... Parameters, class... Arguments>
[[nodiscard]] bool ask_guarded(Result& result, Result (*function)(Parameters...), Arguments&&... arguments) {
  try {
    result = function(arguments...);
    return true;
  } catch (CallFailure failure) {
    host_call_failure = failure;
    return false;
  }
}

}  // namespace corral::arch
