// Calls into code that is not trusted to come back: a fault, an endless loop or a stack that runs over inside the call ends the
// call, not the machine. Contract: the same names in every arch/<name>/include/arch/guarded_call.h.
//
// What the callee left behind is lost: it must hold no lock and own nothing that anybody else needs. Calls do not nest. Context:
// kernel, interrupts off, the calling core only.
//
// How: where to go on, and with which stack, is noted in the core's area; whoever gets the fault (traps.cpp) goes there. To the
// compiler the call is one instruction that may lead to two places and that changes every register; so nothing has to be saved
// that is not in use, and a call costs five instructions more than without a guard.
#pragma once

#include <cstddef>
#include <type_traits>

#include "arch/processor.h"
#include "arch/trap_frame.h"

namespace corral::arch {

// Why a guarded call did not come back.
enum class CallFailure : u32 { none, fault, stack_overflow, endless };

// Of the last one that did not, on this core.
[[nodiscard]] inline CallFailure last_call_failure() {
  u32 failure;
  asm volatile("movl %%gs:%c1, %0" : "=r"(failure) : "i"(offsetof(CoreArea, guarded_failure)));
  return static_cast<CallFailure>(failure);
}
[[nodiscard]] inline bool in_guarded_call() {
  u64 resume;
  asm volatile("movq %%gs:%c1, %0" : "=r"(resume) : "i"(offsetof(CoreArea, guarded_resume)));
  return resume != 0;
}

// ---- for exceptions ---------------------------------------------------------------------------------------------------
// `frame`, of an exception in kernel mode, goes on behind the guarded call of this core. False: there is none.
bool leave_guarded_call(TrapFrame& frame, CallFailure why);
// Called in an NMI, again and again while a guarded call is suspected to be endless: leaves it when the same call was found by
// `most` looks in a row.
void look_at_guarded_call(TrapFrame& frame, u32 most);

namespace detail {

struct Registers {
  u64 rax, rdi, rsi, rdx, rcx;
};

// The call; `rax`: of the function, or, of a virtual one, its offset in the table of the object in rdi.
template <bool Virtual>
[[nodiscard, gnu::always_inline]] inline bool call(Registers& registers) {
  u64 rax = registers.rax;
  u64 rdi = registers.rdi;
  u64 rsi = registers.rsi;
  u64 rdx = registers.rdx;
  u64 rcx = registers.rcx;
#define CORRAL_GUARDED_CALL(instructions)                                                               \
  asm goto volatile(                                                                                    \
      "movq %%rsp, %%gs:%c[stack]\n\t"                                                                  \
      "movq %%rbp, %%gs:%c[frame]\n\t"                                                                  \
      "movq $%l[failed], %%gs:%c[resume]\n\t" instructions "movq $0, %%gs:%c[resume]"                   \
      : "+a"(rax), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+c"(rcx)                                           \
      : [stack] "i"(offsetof(CoreArea, guarded_stack)), [frame] "i"(offsetof(CoreArea, guarded_frame)), \
        [resume] "i"(offsetof(CoreArea, guarded_resume))                                                \
      : "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc"                     \
      : failed)
  if constexpr (Virtual) {
    CORRAL_GUARDED_CALL("addq (%%rdi), %%rax\n\tcallq *(%%rax)\n\t");
  } else {
    CORRAL_GUARDED_CALL("callq *%%rax\n\t");
  }
#undef CORRAL_GUARDED_CALL
  registers.rax = rax;
  registers.rdx = rdx;
  return true;
failed:
  return false;
}

// How the System V ABI passes a parameter: references and what fits into a register.
template <class Parameter>
[[gnu::always_inline]] inline u64 word_of(
    std::conditional_t<std::is_reference_v<Parameter>, Parameter, const Parameter&> value) {
  if constexpr (std::is_reference_v<Parameter>) {
    return reinterpret_cast<u64>(&value);
  } else {
    static_assert(std::is_trivially_copyable_v<Parameter> && sizeof(Parameter) <= sizeof(u64));
    u64 word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    return word;
  }
}

template <class Result>
[[gnu::always_inline]] inline void take(Result& to, const Registers& registers) {
  // NOLINTBEGIN(bugprone-sizeof-expression): a pointer is what is answered
  static_assert(std::is_trivially_copyable_v<Result> && sizeof(Result) <= 2 * sizeof(u64));
  const u64 words[] = {registers.rax, registers.rdx};
  __builtin_memcpy(&to, words, sizeof to);
  // NOLINTEND(bugprone-sizeof-expression)
}

template <class Function>
struct Signature;
template <class Result, class Class, class... P>
struct Signature<Result (Class::*)(P...)> {
  template <auto Member>
  [[nodiscard, gnu::always_inline]] static bool call(Registers& registers, const void* object,
                                                     std::conditional_t<std::is_reference_v<P>, P, const P&>... arguments) {
    // Itanium C++ ABI, 2.3: of a virtual function, the offset in the table plus 1.
    struct {
      u64 offset;
      i64 adjustment;
    } raw;
    auto member = Member;
    static_assert(sizeof raw == sizeof member);
    __builtin_memcpy(&raw, &member, sizeof raw);
    const u64 words[4] = {word_of<P>(arguments)...};
    registers = {raw.offset - 1, reinterpret_cast<u64>(object), words[0], words[1], words[2]};
    static_assert(sizeof...(P) <= 3);
    return detail::call<true>(registers);
  }
};
template <class Result, class Class, class... P>
struct Signature<Result (Class::*)(P...) const> : Signature<Result (Class::*)(P...)> {};
template <class Result, class... P>
struct Signature<Result (*)(P...)> {
  [[nodiscard, gnu::always_inline]] static bool call(Registers& registers, Result (*function)(P...),
                                                     std::conditional_t<std::is_reference_v<P>, P, const P&>... arguments) {
    const u64 words[4] = {word_of<P>(arguments)...};
    static_assert(sizeof...(P) <= 4);
    registers = {reinterpret_cast<u64>(function), words[0], words[1], words[2], words[3]};
    return detail::call<false>(registers);
  }
};

}  // namespace detail

// Calls the virtual function Member of `object`. False: it did not come back; last_call_failure() says why.
template <auto Member, class Object, class... Arguments>
[[nodiscard, gnu::always_inline]] inline bool call_guarded(Object& object, Arguments&&... arguments) {
  detail::Registers registers;
  return detail::Signature<decltype(Member)>::template call<Member>(registers, &object, arguments...);
}
// The same of one that answers; `result` is not touched when it did not come back.
template <auto Member, class Result, class Object, class... Arguments>
[[nodiscard, gnu::always_inline]] inline bool ask_guarded(Result& result, Object& object, Arguments&&... arguments) {
  detail::Registers registers;
  if (!detail::Signature<decltype(Member)>::template call<Member>(registers, &object, arguments...)) return false;
  detail::take(result, registers);
  return true;
}
// The same of a function that belongs to no object.
template <class Result, class... Parameters, class... Arguments>
[[nodiscard, gnu::always_inline]] inline bool ask_guarded(Result& result, Result (*function)(Parameters...),
                                                          Arguments&&... arguments) {
  detail::Registers registers;
  if (!detail::Signature<decltype(function)>::call(registers, function, arguments...)) return false;
  detail::take(result, registers);
  return true;
}

}  // namespace corral::arch
