// See robust_list.h. Running again after a wait is safe: words that were released no longer carry the thread's number, and once there is
// nothing more to wait for but the last wake, the thread has no list.
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

// A mutex as the list names it: the lowest bit says that it inherits priorities.
constexpr u64 address_of(u64 entry) {
  return entry & ~u64{1};
}
constexpr bool inherits(u64 entry) {
  return (entry & 1) != 0;
}

Errno wake_one(Thread& thread, VirtualAddress address) {
  const Result<void> woken = futex::wake_plainly(thread, address, 1);
  return woken ? Errno{} : woken.error();
}

Result<u32*> word_of(Thread& thread, VirtualAddress address) {
  if (address.value % 4 != 0) return Errno::einval;
  return reinterpret_cast<u32*>(TRY(thread.space->resolve(thread.caller, address, vm::Access::write)));
}

// Whether somebody is to be woken. Not of those who wait for a priority-inheriting one: futex::release_owned_pi() gives it on.
bool mark(const Thread& thread, u32* word, bool inheriting) {
  u32 value = __atomic_load_n(word, __ATOMIC_RELAXED);
  do {
    if ((value & owner_bits) != static_cast<u32>(thread.id().value)) return false;
  } while (!__atomic_compare_exchange_n(word, &value, (value & has_waiters) | owner_died, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
  return !inheriting && (value & has_waiters) != 0;
}

// blocked, or Errno{}: go on; any other error ends the walk.
Errno release(Thread& thread, u64 entry, VirtualAddress address) {
  const Result<u32*> word = word_of(thread, address);
  if (!word) return word.error();
  return mark(thread, word.value(), inherits(entry)) ? wake_one(thread, address) : Errno{};
}

// The mutex that the thread was taking or giving up. If nobody has it, the thread may have given it up without having woken anybody, or
// was woken and has not taken it: then the next one must not wait for ever.
Errno release_pending(Thread& thread, u64 entry, VirtualAddress address) {
  const Result<u32*> word = word_of(thread, address);
  if (!word) return word.error();
  const bool free = (__atomic_load_n(word.value(), __ATOMIC_RELAXED) & owner_bits) == 0;
  thread.robust_list.store(0, Order::relaxed);
  const bool wakes = free ? !inherits(entry) : mark(thread, word.value(), inherits(entry));
  return wakes ? wake_one(thread, address) : Errno{};
}

}  // namespace

Errno release_robust_list(Thread& thread) {
  const u64 list = thread.robust_list.load(Order::relaxed);
  if (list == 0) return Errno{};
  thread.step = {};  // a wake that another core has executed meanwhile is done
  vm::AddressSpace& space = *thread.space;
  const Result<Head> head = vm::read_user<Head>(space, thread.caller, {list});
  if (!head) return head.error() == Errno::blocked ? Errno::blocked : Errno{};
  const auto [first, word_offset, pending] = head.value();
  const auto word_at = [&](u64 entry) { return VirtualAddress{address_of(entry) + static_cast<u64>(word_offset)}; };
  u64 entry = first;
  for (u32 length = 0; length < longest_list && entry != list; ++length) {
    // Before the mutex may be somebody else's. One whose successor cannot be read is the last.
    const Result<u64> next = vm::read_user<u64>(space, thread.caller, {address_of(entry)});
    if (!next && next.error() == Errno::blocked) return Errno::blocked;
    if (address_of(entry) != address_of(pending)) {
      const Errno result = release(thread, entry, word_at(entry));
      if (result == Errno::blocked) return Errno::blocked;
      if (result != Errno{}) return Errno{};
    }
    if (!next) return Errno{};
    entry = next.value();
  }
  if (pending != 0 && release_pending(thread, pending, word_at(pending)) == Errno::blocked) return Errno::blocked;
  return Errno{};
}

}  // namespace corral
