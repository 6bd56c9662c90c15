// See signal_file.h.
//
// The file belongs to no process: whoever reads it or asks for its readiness means his own signals. So it listens to each process
// that has asked (SignalWatch). What it is told may be meant for another thread: who asked looks again.
// A read waits as sigtimedwait does, with the set as what the thread awaits.
#include "fs/event/signal_file.h"

#include "core/core.h"
#include "fs/anonymous.h"
#include "fs/inode.h"
#include "fs/poll_source.h"
#include "fs/text_buffer.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "task/executive.h"
#include "task/process.h"
#include "task/process_listener.h"

namespace corral::fs {

namespace {

struct SignalRecord {  // struct signalfd_siginfo
  u32 number;
  i32 error, code;
  u32 sender, user;
  i32 descriptor;
  u32 timer, band, overrun, trap;
  i32 status, value;
  u64 pointer, user_time, system_time, address;
  u16 address_bits, padding;
  i32 call;
  u64 call_address;
  u32 architecture;
  u8 rest[28];
};
static_assert(sizeof(SignalRecord) == 128);

SignalRecord record_of(const SignalInfo& info) {
  SignalRecord r{};
  r.number = static_cast<u32>(info.number);
  r.error = info.error;
  r.code = info.code;
  if (info.tells_address()) {
    r.address = info.value;
    return r;
  }
  if (info.code == code_timer) {
    r.timer = static_cast<u32>(info.sender);
    r.overrun = info.sender_user;
  } else {
    r.sender = static_cast<u32>(info.sender);
    r.user = info.sender_user;
  }
  if (info.number == sigchld && info.code > 0) {
    r.status = static_cast<i32>(info.value);
    r.user_time = info.more[0];
    r.system_time = info.more[1];
  } else {
    r.pointer = info.value;
    r.value = static_cast<i32>(info.value);
  }
  return r;
}

class SignalFile;

class SignalWatch final : public ProcessListener {
 public:
  SignalWatch(SignalFile& file, Process& process) : process_{Ref<Process>::share(process)}, file_{file} {}
  [[nodiscard]] Process& process() const { return *process_; }
  void signal_added(int signal) override;
  void process_ended() override {}

  ListLink file_link;  // the file's lock

 private:
  const Ref<Process> process_;
  SignalFile& file_;
};

class SignalFile final : public OpenFile {
 public:
  SignalFile(SignalSet set, u32 flags)
      : OpenFile{anonymous_inode(AnonymousKind::signals), flags | o_rdwr}, set_{set & ~signals::never_blocked} {}
  ~SignalFile() override {
    while (SignalWatch* watch = take_watch(false)) end(*watch);
  }
  Result<u64> read(Thread& thread, Transfer& transfer) override;
  u32 poll(PollEntry* entry) override EXCLUDES(lock_);
  void describe(TextBuffer& to) override { to.print("sigmask:\t{X16}\n", set_.load(Order::relaxed)); }
  Result<u64> seek(i64, Whence) override { return u64{0}; }  // as Linux: no position, and no error
  [[nodiscard]] bool can_poll() const override { return true; }
  void change(SignalSet set) EXCLUDES(lock_) {
    LockGuard guard{lock_};
    set_.store(set & ~signals::never_blocked, Order::relaxed);
    source_.notify(poll_in);
  }
  void tell(int signal) EXCLUDES(lock_) {
    LockGuard guard{lock_};
    if ((set_.load(Order::relaxed) & signal_bit(signal)) != 0) source_.notify(poll_in);
  }

 private:
  // False: no memory.
  bool watch(Process& process) EXCLUDES(lock_);
  // One that nobody watches any more is taken out; `only_ended`: of a process that ends.
  SignalWatch* take_watch(bool only_ended) EXCLUDES(lock_);
  static void end(SignalWatch& watch) {
    watch.process().remove_listener(watch);
    delete &watch;
  }
  Result<SignalInfo> next(Thread& thread, bool may_wait) const;

  SpinLock lock_{Rank::pipe, "signal file"};
  PollSource source_{lock_};
  Atomic<SignalSet> set_;
  IntrusiveList<SignalWatch, &SignalWatch::file_link> watches_ GUARDED_BY(lock_);
};

void SignalWatch::signal_added(int signal) {
  file_.tell(signal);
}

SignalWatch* SignalFile::take_watch(bool only_ended) {
  LockGuard guard{lock_};
  SignalWatch* found = nullptr;
  watches_.for_each([&](SignalWatch& watch) {
    if (found == nullptr && (!only_ended || watch.process().ending())) found = &watch;
  });
  if (found != nullptr) watches_.remove(*found);
  return found;
}

bool SignalFile::watch(Process& process) {
  {
    LockGuard guard{lock_};
    bool known = false;
    watches_.for_each([&](const SignalWatch& watch) { known = known || &watch.process() == &process; });
    if (known) return true;
  }
  while (SignalWatch* old = take_watch(true)) end(*old);
  Result<SignalWatch*> made = memory::make<SignalWatch>(*this, process);
  if (!made.ok()) return false;
  (void)process.add_listener(*made.value());
  LockGuard guard{lock_};
  watches_.push_back(*made.value());
  return true;
}

u32 SignalFile::poll(PollEntry* entry) {
  const Thread& thread = *this_core().executive->current();
  if (entry != nullptr) {
    if (!watch(thread.process())) return poll_err;
    LockGuard guard{lock_};
    source_.enlist(*entry);
  }
  return signals::any_pending(thread, set_.load(Order::relaxed)) ? poll_in : 0;
}

Result<SignalInfo> SignalFile::next(Thread& thread, bool may_wait) const {
  const SignalSet set = set_.load(Order::relaxed);
  SignalInfo info;
  if (!may_wait) return signals::take(thread, set, info) ? Result<SignalInfo>{info} : Errno::eagain;
  if (signals::take_or_await(thread, set, info)) return info;
  const Errno outcome = thread.sleep_until(never);
  if (outcome == Errno::blocked) return outcome;
  const bool taken = signals::take(thread, set, info);  // one of the set has come since, or another
  signals::stop_awaiting(thread);
  return taken ? Result<SignalInfo>{info} : outcome;
}

Result<u64> SignalFile::read(Thread& thread, Transfer& transfer) {
  if (transfer.left() < sizeof(SignalRecord)) return Errno::einval;
  while (transfer.left() >= sizeof(SignalRecord)) {
    const Result<u64> ready = transfer.prepare(sizeof(SignalRecord), vm::Access::write);
    const bool first = transfer.done() == 0;
    if (!ready.ok() && (first || ready.error() == Errno::blocked)) return ready.error();
    if (!ready.ok() || ready.value() < sizeof(SignalRecord)) {
      if (first) return Errno::efault;
      break;
    }
    const Result<SignalInfo> info = next(thread, first && !nonblocking());
    if (!info.ok()) {
      if (first) return info.error();
      break;
    }
    const SignalRecord record = record_of(info.value());
    TRY(transfer.put(0, &record, sizeof record));
    transfer.advance(sizeof record);
  }
  return transfer.done();
}

}  // namespace

Result<Ref<OpenFile>> make_signal_file(SignalSet set, u32 flags) {
  return Ref<OpenFile>{Ref<SignalFile>::adopt(TRY(memory::make<SignalFile>(set, flags)))};
}

Result<void> change_signal_file(OpenFile& file, SignalSet set) {
  if (!is_anonymous(file.inode(), AnonymousKind::signals)) return Errno::einval;
  static_cast<SignalFile&>(file).change(set);
  return {};
}

}  // namespace corral::fs
