// futex_waitv: one thread waits on several words at once, until somebody wakes it on one of them.
//
// Each word has an entry, an Operation of its own (futex_operation.h) that lines up in the word's bucket as any waiter does, and can be
// moved to another word. Who wakes an entry takes it out and claims the thread: the first who claims it while it sleeps, a waker, the
// time-out or a signal, wakes it, and nobody else does. Then the thread withdraws all its entries. A withdrawal is executed in the
// section of the entry's bucket, as wakes are: when all of them have been executed nobody knows the entries any more, and which of them
// were woken is settled. Only then does the step end, and the memory of the entries with it.
// Source: Linux futex_waitv (Documentation/userspace-api/futex2.rst).
#pragma once

#include "task/futex.h"

namespace corral::futex {

class VectorWait final : public StepKept {
 public:
  static constexpr u64 most = 128;  // words

  static Result<Ref<VectorWait>> create(Thread& thread, u64 count);  // enomem
  ~VectorWait() override;
  // The word with this index, before the first run.
  void set(u64 index, Word word, u32 expected) {
    entries_[index].word = word;
    entries_[index].expected = expected;
  }
  void set_deadline(Deadline deadline) { deadline_ = deadline; }

  // In the thread's step, which keeps this in `step.kept`. The index of a word on which it was woken, the last of them; einval, efault;
  // eagain: a word differs; etimedout; restart. blocked.
  Result<i64> run();
  void begin_run() override {}

  // Inside the section of the entry's bucket, on any core: a waker has taken it out of the line. That it is nowhere any more is made known
  // last: the withdrawal of an entry that was moved is executed in another section, and lets go of it when it finds that.
  [[gnu::cold]] void woken(Operation& entry);
  // On the thread's home core: its wait is to end for another reason.
  void end_early(WakeReason reason);

 private:
  struct Entry {
    explicit Entry(Thread& thread) : operation{thread} {}
    Operation operation;
    Word word{};
    u32 expected = 0;
  };
  enum class Part : u8 { check, enlist, sleep, wake_up, withdraw, settle };
  enum class Claim : u8 { awake, asleep, claimed };

  VectorWait(Thread& thread, u64 count) : thread_{thread}, count_{count} {}
  Result<void> enlist();
  Errno fall_asleep();
  void give_up(Errno error);
  void note_reason();
  void withdraw();
  Result<i64> settle();

  Thread& thread_;
  const u64 count_;
  Entry* entries_ = nullptr;
  Deadline deadline_{};
  // ---- the thread's step ----
  Part part_ = Part::check;
  u64 enlisted_ = 0;  // entries that line up, or did: the first ones
  bool submitted_ = false;  // the next one's request is under way, or over
  Errno error_{};  // what is answered unless an entry was woken
  // ---- any core ----
  Atomic<Claim> claim_{Claim::awake};
};

}  // namespace corral::futex
