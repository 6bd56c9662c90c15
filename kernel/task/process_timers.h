// A process's timers that send signals: those of timer_create, and the real-time interval timer (alarm, setitimer).
// Source: Linux timer_create(2), setitimer(2).
//
// A timer owns the information of its signal, and sends it at most once at a time: while the signal waits to be taken the timer
// rests, and what it missed is counted when the signal is taken. So a tiny interval costs nothing that its receiver does not pay.
//
// Everything is guarded by the process's lock, due() and the calls of SignalOwner included. A timer keeps its process alive until
// it is released, which is when the process ends at the latest.
#pragma once

#include "core/shared_timer.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "task/signals.h"

namespace corral {

struct TimerSetting {
  Instant next = never;  // by the timer's clock; never: off
  Duration interval{};  // 0: once
  bool by_wall = false;  // `next` is a moment of wall time; else since boot, or of processor time
};

// What a timer goes by: time, or processor time of its process or of one of its threads. An Instant of processor time is how much
// was used.
struct TimerClock {
  enum class Counts : u8 { time, processor_time, user_time } counts = Counts::time;
  Ref<Thread> thread{};  // null: the process
};

class ProcessTimer final : public RefCounted<ProcessTimer>, public SharedTimer, private SignalOwner {
 public:
  // `thread`: the receiver; null: the process. `silent`: no signal, it can only be asked.
  ProcessTimer(Process& process, const SignalInfo& signal, Ref<Thread> thread, bool silent, TimerClock clock);
  ~ProcessTimer() = default;

  // ---- with the process's lock ----
  // A signal of the earlier setting that was not taken yet is taken back.
  void start(const TimerSetting& setting);
  // `next` is in the future, or never; a timer that passed and rests is told as if it had gone on.
  [[nodiscard]] TimerSetting setting() const;
  // By its clock.
  [[nodiscard]] Instant now() const;
  [[nodiscard]] bool watches_processor() const { return processor_due_ != never; }
  // Passes if enough processor time was used.
  void look();
  // How often it passed beyond the once for which the last signal was taken.
  [[nodiscard]] i32 overrun() const { return overrun_; }
  // It is off for ever.
  void end();

  // Counts for its user until it ends (RLIMIT_SIGPENDING).
  void take_room(SignalRoom room) { signal_.room = std::move(room); }
  // Before it is first started: its number goes into its signal, and is its value too if the program gave none.
  void set_identity(bool is_value) {
    signal_.info.sender = id;
    if (is_value) signal_.info.value = static_cast<u64>(id);
  }

  ListLink link;  // in ProcessTimers
  i32 id = 0;
  i32 clock = 0;  // as programs number them

 private:
  friend class RefCounted<ProcessTimer>;
  void due() override;
  void keep() override { retain(); }
  void let_go() override { drop(); }
  void signal_taken(SignalInfo& info) override;
  void signal_dropped() override;
  u64 go_on(Duration least);
  void arm(Instant when);
  void disarm();

  const Ref<Process> process_;
  const Ref<Thread> thread_;
  const bool silent_;
  const TimerClock clock_;
  PendingSignal signal_;
  Instant processor_due_ = never;  // when it passes, if it goes by processor time
  bool by_wall_ = false;  // as the setting; so are the instants that follow
  Instant next_ = never;
  Duration interval_{};
  Instant passed_{};  // when the signal was sent
  i32 overrun_ = 0;
  bool ended_ = false;
};

class ProcessTimers {
 public:
  explicit ProcessTimers(Process& process) : process_{process} {}

  // A timer of its own, off. enomem; eagain: RLIMIT_SIGPENDING.
  Result<Ref<ProcessTimer>> create(const SignalInfo& signal, Ref<Thread> thread, bool silent, TimerClock clock, i32 number);
  [[nodiscard]] Ref<ProcessTimer> find(i32 id);  // null: none
  void remove(ProcessTimer& timer);
  // The interval timer: SIGALRM after `first` and then every `interval`; 0: off, once. What was set before. enomem.
  Result<TimerSetting> set_alarm(Duration first, Duration interval);
  [[nodiscard]] TimerSetting alarm();
  // exec ends timer_create's; the end of the process all.
  void release(bool alarm_too);
  // With the process's lock: one of them goes by processor time and is set; those are looked at.
  [[nodiscard]] bool watch_processor();
  void look();

 private:
  using List = IntrusiveList<ProcessTimer, &ProcessTimer::link>;
  Process& process_;
  List timers_;  // references; guarded by the process's lock, as what follows
  i32 next_id_ = 0;
  Ref<ProcessTimer> alarm_;
};

}  // namespace corral
