// See robust_list.h. Running again after a wait is safe: words that were released no longer carry the thread's number.
#include "task/robust_list.h"

#include "task/futex.h"
#include "vm/address_space.h"

namespace corral {

namespace {

struct Head {  // struct robust_list_head
  u64 first;
  i64 word_offset;
  u64 pending;
};

constexpr u32 owner_bits = 0x3fff'ffff;
constexpr u32 owner_died = 0x4000'0000;
constexpr u32 has_waiters = 0x8000'0000;
constexpr u32 longest_list = 2048;

// blocked, or Errno{}: go on; any other error ends the walk.
// Who waits for a priority-inheriting one is not woken here: futex::release_owned_pi() gives it on.
Errno release_word(Thread& thread, VirtualAddress address, bool inherits) {
  if (address.value % 4 != 0) return Errno::einval;
  Result<u8*> pointer = thread.space->resolve(thread.caller, address, vm::Access::write);
  if (!pointer) return pointer.error();
  u32* word = reinterpret_cast<u32*>(pointer.value());
  u32 value = __atomic_load_n(word, __ATOMIC_RELAXED);
  do {
    if ((value & owner_bits) != static_cast<u32>(thread.id().value)) return Errno{};
  } while (!__atomic_compare_exchange_n(word, &value, (value & has_waiters) | owner_died, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
  if (inherits || (value & has_waiters) == 0) return Errno{};
  const Result<void> woken = futex::wake_plainly(thread, address, 1);
  return woken ? Errno{} : woken.error();
}

}  // namespace

Errno release_robust_list(Thread& thread) {
  const u64 list = thread.robust_list.load(Order::relaxed);
  if (list == 0) return Errno{};
  thread.step = {};  // a wake that another core has executed meanwhile is done
  vm::AddressSpace& space = *thread.space;
  const Result<Head> head = vm::read_user<Head>(space, thread.caller, {list});
  if (!head) return head.error() == Errno::blocked ? Errno::blocked : Errno{};
  const u64 offset = static_cast<u64>(head.value().word_offset);
  u64 entry = head.value().first;
  for (u32 length = 0; length < longest_list && entry != list && entry != 0; ++length) {
    const Result<u64> next = vm::read_user<u64>(space, thread.caller, {entry & ~u64{1}});
    if (!next) return next.error() == Errno::blocked ? Errno::blocked : Errno{};
    const Errno result = release_word(thread, {(entry & ~u64{1}) + offset}, (entry & 1) != 0);
    if (result == Errno::blocked) return Errno::blocked;
    if (result != Errno{}) return Errno{};
    entry = next.value();
  }
  const u64 pending = head.value().pending;
  if (pending != 0 && release_word(thread, {(pending & ~u64{1}) + offset}, (pending & 1) != 0) == Errno::blocked) {
    return Errno::blocked;
  }
  return Errno{};
}

}  // namespace corral
