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
  u32 depth = 0;
  u8 highest[max_held + 1] = {};  // at each depth the highest rank held: so one comparison checks the order
  const SpinLock* held[max_held] = {};  // in the order of taking
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

u8 rank_of(const SpinLock& lock) {
  return static_cast<u8>(lock.rank());
}

// A lock of the same rank or a higher one is held.
[[noreturn]] void report_order(const CoreRecord& record, const SpinLock& lock) {
  const SpinLock* higher = nullptr;
  for (u32 i = 0; i < record.depth; ++i) {
    const SpinLock* other = record.held[i];
    if (other == &lock) broken_rule("lock taken twice", lock, other);
    if (higher == nullptr && other->rank() >= lock.rank()) higher = other;
  }
  broken_rule("locks taken in the wrong order", lock, higher);
}

[[gnu::noinline]] void report_depth(const CoreRecord& record, const SpinLock& lock) {
  if (checking()) broken_rule("too many locks held", lock, record.held[max_held - 1]);
}

void note_taken(CoreRecord& record, const SpinLock& lock) {
  count(record.acquisitions);
  const u32 depth = record.depth;
  if (depth == max_held) [[unlikely]]
    return report_depth(record, lock);
  record.held[depth] = &lock;
  const u8 rank = rank_of(lock);  // one that was only tried may have a lower rank than those held
  record.highest[depth + 1] = rank > record.highest[depth] ? rank : record.highest[depth];
  record.depth = depth + 1;
}

// For locks that are not given up in the reverse order of taking. False: it was not held by this core.
bool forget_inner(CoreRecord& record, const SpinLock& lock) {
  for (u32 i = record.depth; i > 0; --i) {
    if (record.held[i - 1] != &lock) continue;
    --record.depth;
    for (u32 k = i - 1; k < record.depth; ++k) {
      record.held[k] = record.held[k + 1];
      const u8 rank = rank_of(*record.held[k]);
      record.highest[k + 1] = rank > record.highest[k] ? rank : record.highest[k];
    }
    return true;
  }
  return false;
}

[[gnu::noinline]] void give_up_inner(CoreRecord& record, const SpinLock& lock) {
  if (!forget_inner(record, lock) && checking()) broken_rule("lock given up by a core that does not hold it", lock, nullptr);
}

// The rules are not checked any more, or interleavings are tried.
bool unusual() {
  return abandoned.load(Order::relaxed) || interleave::active();
}

}  // namespace

void SpinLock::lock() NO_THREAD_SAFETY_ANALYSIS {
  CoreRecord& record = own_record();
  if (record.highest[record.depth] >= rank_of(*this) || unusual()) [[unlikely]]
    return lock_with_care();
  if (!word_.try_take(own_number())) [[unlikely]]
    spin();
  note_taken(record, *this);
}

void SpinLock::spin() {
  count(own_record().contended);
  word_.take(own_number(), arch::pause);
}

void SpinLock::lock_with_care() NO_THREAD_SAFETY_ANALYSIS {
  CoreRecord& record = own_record();
  if (!checking()) {
    for (u32 round = 0; round < abandoned_rounds && !word_.try_take(own_number()); ++round) arch::pause();
    return;
  }
  if (record.highest[record.depth] >= rank_of(*this)) report_order(record, *this);
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
  const u32 depth = record.depth;
  if (depth != 0 && record.held[depth - 1] == this) [[likely]] {
    record.depth = depth - 1;
  } else {
    give_up_inner(record, *this);
  }
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
