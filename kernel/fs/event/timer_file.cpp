// See timer_file.h.
//
// As on Linux, a repeated timer is armed again when somebody looks at it after it has expired, not in its interrupt: however
// short the interval, an unread timer costs one interrupt.
#include "fs/event/timer_file.h"

#include "core/shared_timer.h"
#include "device/clock.h"
#include "fs/anonymous.h"
#include "fs/inode.h"
#include "fs/poll_source.h"
#include "fs/text_buffer.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// What lives on while a core still has the event.
class FileTimer final : public RefCounted<FileTimer>, public SharedTimer {
 public:
  FileTimer() : SharedTimer{lock_} {}

  Result<u64> read(Thread& thread, Transfer& transfer, bool nonblocking) EXCLUDES(lock_);
  u32 poll(PollEntry* entry) EXCLUDES(lock_);
  TimerSetting change(Deadline first, Duration interval, bool cancel_on_set, bool& cancelled) EXCLUDES(lock_);
  TimerSetting setting() EXCLUDES(lock_);
  u64 expiries() EXCLUDES(lock_) {
    LockGuard guard{lock_};
    return expiries_;
  }
  void close() EXCLUDES(lock_) {
    LockGuard guard{lock_};
    withdraw();
  }

 private:
  void due() override;
  void wall_clock_set() override;
  void keep() override { retain(); }
  void let_go() override { drop(); }
  void arm(Instant when) REQUIRES(lock_) {
    next_ = when;
    if (when != never || cancel_on_set_) {
      set(by_wall_ ? Deadline::at_wall_time(when.ns) : Deadline{when});
    } else {
      set(never);
    }
  }
  [[nodiscard]] Instant now() const REQUIRES(lock_) { return by_wall_ ? Instant{clock::wall_time_ns()} : clock::now(); }
  [[nodiscard]] bool cancelled() const REQUIRES(lock_) { return cancel_on_set_ && wall_at_boot_ != clock::boot_wall_time_ns(); }
  bool take_cancellation() REQUIRES(lock_);
  void count_and_rearm() REQUIRES(lock_);
  [[nodiscard]] TimerSetting setting_locked() const REQUIRES(lock_);

  SpinLock lock_{Rank::pipe, "timer file"};
  WaitQueue readers_{lock_};
  PollSource source_{lock_};
  u64 expiries_ GUARDED_BY(lock_) = 0;     // not read yet
  bool by_wall_ GUARDED_BY(lock_) = false;  // the setting goes by wall time, and so do instants
  Instant next_ GUARDED_BY(lock_) = never;  // the next expiry, or the first one that is not counted
  Duration interval_ GUARDED_BY(lock_){};
  bool expired_ GUARDED_BY(lock_) = false;  // since it was armed
  bool cancel_on_set_ GUARDED_BY(lock_) = false;
  i64 wall_at_boot_ GUARDED_BY(lock_) = 0;  // as its user knows it
};

void FileTimer::due() NO_THREAD_SAFETY_ANALYSIS {  // SharedTimer holds the lock
  expired_ = true;
  ++expiries_;
  (void)readers_.wake_all();
  source_.notify(poll_readable);
}

void FileTimer::wall_clock_set() NO_THREAD_SAFETY_ANALYSIS {  // SharedTimer holds the lock
  if (!cancelled()) return;
  (void)readers_.wake_all();
  source_.notify(poll_readable);
}

bool FileTimer::take_cancellation() {
  if (!cancelled()) return false;
  wall_at_boot_ = clock::boot_wall_time_ns();
  return true;
}

// A repeated timer that has expired: counts what has passed since and arms it for the next time.
void FileTimer::count_and_rearm() {
  if (!expired_ || interval_.ns == 0) return;
  expired_ = false;
  const i64 further = (now() - next_).ns / interval_.ns;  // beyond the one that is counted already
  expiries_ += static_cast<u64>(further);
  const i64 step = further + 1;
  arm(step > (latest_expiry - next_).ns / interval_.ns ? latest_expiry : next_ + Duration{step * interval_.ns});
}

Result<u64> FileTimer::read(Thread& thread, Transfer& transfer, bool nonblocking) {
  if (transfer.left() < sizeof(u64)) return Errno::einval;
  LockGuard guard{lock_};
  if (take_cancellation()) {
    expiries_ = 0;
    return Errno::ecanceled;
  }
  if (expiries_ == 0) return nonblocking ? Errno::eagain : readers_.wait(thread);
  count_and_rearm();
  TRY(transfer.put(0, &expiries_, sizeof expiries_));
  expiries_ = 0;
  transfer.advance(sizeof(u64));
  return transfer.done();
}

u32 FileTimer::poll(PollEntry* entry) {
  LockGuard guard{lock_};
  if (entry != nullptr) source_.enlist(*entry);
  return expiries_ > 0 || cancelled() ? poll_in : 0;
}

TimerSetting FileTimer::setting_locked() const {
  if (next_ == never || (expired_ && interval_.ns == 0)) return {{}, interval_};
  const Duration left = next_ - now();
  return {left.ns > 0 ? left : nanoseconds(1), interval_};
}

TimerSetting FileTimer::change(Deadline first, Duration interval, bool cancel_on_set, bool& cancelled) {
  LockGuard guard{lock_};
  count_and_rearm();
  const TimerSetting old = setting_locked();
  cancelled = cancel_on_set && take_cancellation();
  if (cancel_on_set && !cancel_on_set_) wall_at_boot_ = clock::boot_wall_time_ns();
  cancel_on_set_ = cancel_on_set;
  by_wall_ = first.by_wall();
  expiries_ = 0;
  expired_ = false;
  interval_ = interval;
  arm(Instant{first.ns()});
  return old;
}

TimerSetting FileTimer::setting() {
  LockGuard guard{lock_};
  count_and_rearm();
  return setting_locked();
}

class TimerFile final : public OpenFile {
 public:
  TimerFile(Ref<FileTimer> timer, bool wall, i32 clock, u32 flags)
      : OpenFile{anonymous_inode(AnonymousKind::timer), flags | o_rdwr},
        timer_{static_cast<Ref<FileTimer>&&>(timer)},
        wall_{wall},
        clock_{clock} {}
  ~TimerFile() override { timer_->close(); }
  Result<u64> read(Thread& thread, Transfer& transfer) override { return timer_->read(thread, transfer, nonblocking()); }
  u32 poll(PollEntry* entry) override { return timer_->poll(entry); }
  [[nodiscard]] bool can_poll() const override { return true; }
  Result<u64> seek(i64, Whence) override { return u64{0}; }
  void describe(TextBuffer& to) override;
  [[nodiscard]] FileTimer& timer() { return *timer_; }
  [[nodiscard]] bool wall() const { return wall_; }
  void note_flags(u32 flags) { flags_of_setting_.store(flags, Order::relaxed); }

 private:
  Ref<FileTimer> timer_;
  const bool wall_;
  const i32 clock_;
  Atomic<u32> flags_of_setting_{0};
};

void TimerFile::describe(TextBuffer& to) {
  const TimerSetting setting = timer_->setting();
  to.print("clockid: {}\nticks: {}\nsettime flags: 0{}\n", clock_, timer_->expiries(), flags_of_setting_.load(Order::relaxed));
  const auto print = [&](const char* name, Duration time) {
    to.print("{}: ({}, {})\n", name, time.ns / 1'000'000'000, time.ns % 1'000'000'000);
  };
  print("it_value", setting.left);
  print("it_interval", setting.interval);
}

}  // namespace

Result<Ref<OpenFile>> make_timer_file(bool wall, i32 clock, u32 flags) {
  Ref<FileTimer> timer = Ref<FileTimer>::adopt(TRY(memory::make<FileTimer>()));
  return Ref<OpenFile>{Ref<TimerFile>::adopt(TRY(memory::make<TimerFile>(timer, wall, clock, flags)))};
}

bool is_timer_file(const OpenFile& file) {
  return is_anonymous(file.inode(), AnonymousKind::timer);
}

bool goes_by_wall_time(OpenFile& file) {
  return static_cast<TimerFile&>(file).wall();
}

TimerSetting set_timer_file(OpenFile& file, Deadline first, Duration interval, u32 flags, bool cancel_on_set, bool& cancelled) {
  auto& timer_file = static_cast<TimerFile&>(file);
  timer_file.note_flags(flags);
  return timer_file.timer().change(first, interval, cancel_on_set, cancelled);
}

TimerSetting timer_file_setting(OpenFile& file) {
  return static_cast<TimerFile&>(file).timer().setting();
}

}  // namespace corral::fs
