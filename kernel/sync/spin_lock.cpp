// Ranked spin locks: the records of which core holds what, and the panics of those who break the order.
//
// Invariant: records[c] is touched by core c only (its two counters are read by anyone); the kernel runs with
// interrupts off, so no interrupt handler comes between. Any context in which arch::core_index() is valid.
// Neighbours: sync/spin_word.h (the word itself), trace/panic.h.
#include "sync/spin_lock.h"

#include "arch/processor.h"
#include "lib/format.h"
#include "sync/interleave.h"
#include "trace/panic.h"

namespace corral {
namespace {

constexpr u32 max_held = 14;
constexpr u32 abandoned_rounds = 1'000'000;

struct alignas(cache_line) CoreRecord {
  const SpinLock* held[max_held] = {};  // in the order of taking
  u32 depth = 0;
  Atomic<u64> acquisitions{0};
  Atomic<u64> contended{0};
};

constinit CoreRecord records[max_cores];
constinit Atomic<bool> abandoned{false};

CoreRecord& own_record() {
  return records[arch::core_index()];
}
u32 own_number() {
  return arch::core_index() + 1;
}
void count(Atomic<u64>& counter) {  // written by its own core only: no read-modify-write is needed
  counter.store(counter.load(Order::relaxed) + 1, Order::relaxed);
}
bool checking() {
  return !abandoned.load(Order::relaxed);
}

[[noreturn]] void broken_rule(const char* rule, const SpinLock& lock, const SpinLock* other) {
  abandon_locks();  // the panic's own log and console locks must not come back here
  static constinit char text[192];
  const char* other_name = other == nullptr ? "nothing" : other->name();
  const u32 other_rank = other == nullptr ? 0 : static_cast<u32>(other->rank());
  const std::string_view line = format_to({text, sizeof text - 1}, "{}: {} (rank {}), holding {} (rank {})", rule, lock.name(),
                                          static_cast<u32>(lock.rank()), other_name, other_rank);
  text[line.size()] = 0;
  panic(text);
}

void check_order(const CoreRecord& record, const SpinLock& lock) {
  for (u32 i = 0; i < record.depth; ++i) {
    const SpinLock* other = record.held[i];
    if (other == &lock) [[unlikely]]
      broken_rule("lock taken twice", lock, other);
    if (other->rank() >= lock.rank()) [[unlikely]]
      broken_rule("locks taken in the wrong order", lock, other);
  }
}

void note_taken(CoreRecord& record, const SpinLock& lock) {
  count(record.acquisitions);
  if (record.depth == max_held) [[unlikely]] {
    if (checking()) broken_rule("too many locks held", lock, record.held[max_held - 1]);
    return;
  }
  record.held[record.depth++] = &lock;
}

// False: it was not held by this core.
bool note_given_up(CoreRecord& record, const SpinLock& lock) {
  for (u32 i = record.depth; i > 0; --i) {
    if (record.held[i - 1] != &lock) continue;
    for (u32 k = i; k < record.depth; ++k) record.held[k - 1] = record.held[k];
    --record.depth;
    return true;
  }
  return false;
}

}  // namespace

void SpinLock::lock() NO_THREAD_SAFETY_ANALYSIS {
  CoreRecord& record = own_record();
  if (!checking()) [[unlikely]] {
    for (u32 round = 0; round < abandoned_rounds && !word_.try_take(own_number()); ++round) arch::pause();
    return;
  }
  check_order(record, *this);
  interleave::point();
  if (word_.take(own_number(), arch::pause)) count(record.contended);
  note_taken(record, *this);
  interleave::point();
}

bool SpinLock::try_lock() NO_THREAD_SAFETY_ANALYSIS {
  CoreRecord& record = own_record();
  if (!word_.try_take(own_number())) {
    count(record.contended);
    return false;
  }
  note_taken(record, *this);
  return true;
}

void SpinLock::unlock() NO_THREAD_SAFETY_ANALYSIS {
  CoreRecord& record = own_record();
  if (!note_given_up(record, *this) && checking()) [[unlikely]]
    broken_rule("lock given up by a core that does not hold it", *this, nullptr);
  word_.give_up();
}

bool SpinLock::held_here() const {
  return word_.owner() == own_number();
}

void SpinLock::assert_held() const NO_THREAD_SAFETY_ANALYSIS {
  if (!held_here() && checking()) [[unlikely]]
    broken_rule("the lock must be held here", *this, nullptr);
}

LockStatistics lock_statistics() {
  LockStatistics sum;
  for (const CoreRecord& record : records) {
    sum.acquisitions += record.acquisitions.load(Order::relaxed);
    sum.contended += record.contended.load(Order::relaxed);
  }
  return sum;
}

void abandon_locks() {
  abandoned.store(true, Order::relaxed);
}

}  // namespace corral
