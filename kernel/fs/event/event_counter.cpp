// See event_counter.h. lock_ guards everything; who leaves something for the next one wakes it.
#include "fs/event/event_counter.h"

#include "fs/anonymous.h"
#include "fs/inode.h"
#include "fs/poll_source.h"
#include "fs/text_buffer.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

constexpr u64 most = ~u64{0} - 1;

class EventCounter final : public OpenFile {
 public:
  EventCounter(u64 start, bool semaphore, u32 flags)
      : OpenFile{anonymous_inode(AnonymousKind::event_counter), flags | o_rdwr}, semaphore_{semaphore}, count_{start} {}
  Result<u64> read(Thread& thread, Transfer& transfer) override EXCLUDES(lock_);
  Result<u64> write(Thread& thread, Transfer& transfer) override EXCLUDES(lock_);
  u32 poll(PollEntry* entry) override EXCLUDES(lock_);
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool polls_without_lock() const override { return true; }
  Result<u64> seek(i64, Whence) override { return u64{0}; }
  void describe(TextBuffer& to) override { to.print("eventfd-count: {X 16}\n", count_.load(Order::relaxed)); }

 private:
  SpinLock lock_{Rank::pipe, "event counter"};
  WaitQueue readers_{lock_}, writers_{lock_};
  PollSource source_{lock_};
  const bool semaphore_;
  Atomic<u64> count_;  // changed under lock_
};

Result<u64> EventCounter::read(Thread& thread, Transfer& transfer) {
  if (transfer.left() < sizeof(u64)) return Errno::einval;
  LockGuard guard{lock_};
  const u64 count = count_.load(Order::relaxed);
  if (count == 0) return nonblocking() ? Errno::eagain : readers_.wait(thread);
  const u64 taken = semaphore_ ? 1 : count;
  const Result<void> told = transfer.put(0, &taken, sizeof taken);
  if (told.ok()) {
    count_.store(count - taken, Order::release);
    transfer.advance(sizeof taken);
    (void)writers_.wake_all();  // how much each of them wants to add is not known
    source_.notify(poll_writable);
  }
  if (count > taken || !told.ok()) (void)readers_.wake_one();
  if (!told.ok()) return told.error();
  return transfer.done();
}

Result<u64> EventCounter::write(Thread& thread, Transfer& transfer) {
  if (transfer.left() < sizeof(u64)) return Errno::einval;
  u64 added = 0;
  LockGuard guard{lock_};
  TRY(transfer.get(0, &added, sizeof added));
  if (added > most) return Errno::einval;
  const u64 count = count_.load(Order::relaxed);
  if (added > most - count) return nonblocking() ? Errno::eagain : writers_.wait(thread);
  count_.store(count + added, Order::release);
  transfer.advance(sizeof added);
  (void)readers_.wake_one();
  source_.notify(poll_readable);
  return transfer.done();
}

u32 EventCounter::poll(PollEntry* entry) {
  if (entry != nullptr) {
    LockGuard guard{lock_};
    source_.enlist(*entry);
  }
  const u64 count = count_.load(Order::acquire);
  return (count > 0 ? poll_in : 0) | (count < most ? poll_out : 0);
}

}  // namespace

Result<Ref<OpenFile>> make_event_counter(u64 start, bool semaphore, u32 flags) {
  return Ref<OpenFile>{Ref<EventCounter>::adopt(TRY(memory::make<EventCounter>(start, semaphore, flags)))};
}

}  // namespace corral::fs
