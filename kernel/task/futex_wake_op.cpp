// FUTEX_WAKE_OP: what glibc of old used to signal a condition with one call. Source: Linux futex(2).
//
// The word is changed first, then both words are woken one after the other: a waiter that comes in between saw the changed
// word, as it would have in any other order.
#include "task/futex.h"
#include "vm/address_space.h"

namespace corral::futex {

namespace {

struct Encoded {
  u32 operation, comparison;
  i32 argument, compared;
};

constexpr i32 signed_12(u32 bits) {
  return static_cast<i32>((bits & 0xfff) << 20) >> 20;
}

constexpr Encoded decode(u32 word) {
  constexpr u32 shift = 0x8000'0000;  // the argument is a number of a bit
  Encoded decoded{word >> 28 & 7, word >> 24 & 15, signed_12(word >> 12), signed_12(word)};
  if ((word & shift) != 0) decoded.argument = static_cast<i32>(1u << (static_cast<u32>(decoded.argument) & 31));
  return decoded;
}

enum Change : u32 { set = 0, add = 1, set_bits = 2, clear_bits = 3, flip_bits = 4 };

// What was there before.
Result<u32> apply(u32* word, const Encoded& encoded) {
  const auto argument = static_cast<u32>(encoded.argument);
  switch (encoded.operation) {
    case set: return __atomic_exchange_n(word, argument, __ATOMIC_SEQ_CST);
    case add: return __atomic_fetch_add(word, argument, __ATOMIC_SEQ_CST);
    case set_bits: return __atomic_fetch_or(word, argument, __ATOMIC_SEQ_CST);
    case clear_bits: return __atomic_fetch_and(word, ~argument, __ATOMIC_SEQ_CST);
    case flip_bits: return __atomic_fetch_xor(word, argument, __ATOMIC_SEQ_CST);
    default: return Errno::enosys;
  }
}

Result<bool> compares(i32 before, const Encoded& encoded) {
  switch (encoded.comparison) {
    case 0: return before == encoded.compared;
    case 1: return before != encoded.compared;
    case 2: return before < encoded.compared;
    case 3: return before <= encoded.compared;
    case 4: return before > encoded.compared;
    case 5: return before >= encoded.compared;
    default: return Errno::enosys;
  }
}

}  // namespace

// Word 0: where the wakes have got to; words 1 to 4: the second word's key, whether it is woken, and how many were woken.
Result<i64> wake_op(Thread& thread, Word word, Word second, u32 count, u32 more, u32 encoded) {
  StepState& step = thread.step;
  enum Stage : u64 { change = 0, first = 1, other = 2 };
  if (step.word[0] == change) {
    const Encoded decoded = decode(encoded);
    thread.futex.key = TRY(key_of(thread, word));
    const Key target = TRY(key_of(thread, second));
    u8* place = TRY(thread.space->resolve(thread.caller, second.address, vm::Access::write));
    const u32 before = TRY(apply(reinterpret_cast<u32*>(place), decoded));
    const bool both = TRY(compares(static_cast<i32>(before), decoded));
    step.word[1] = target.space;
    step.word[2] = target.address;
    step.word[3] = both ? 1 : 0;
    step.word[0] = first;
  }
  if (step.word[0] == first) {
    step.word[4] = static_cast<u64>(TRY(wake_known(thread, thread.futex.key, count)));
    step.phase = 0;
    step.word[0] = other;
  }
  if (step.word[3] == 0) return static_cast<i64>(step.word[4]);
  return static_cast<i64>(step.word[4]) + TRY(wake_known(thread, {step.word[1], step.word[2]}, more));
}

}  // namespace corral::futex
