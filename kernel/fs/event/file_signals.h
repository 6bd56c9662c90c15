// Signals that tell of a file: whom they are sent to, which one it is, and whether changes of the file's readiness are told by
// it (O_ASYNC). Leases of a file tell by them, too (fs/leases.h). Source: Linux man-pages fcntl(2), "Managing signals"; open(2).
//
// An OpenFile has one from the first time that somebody asks for any of that, to its end. lock_ guards the owner, the signal and
// the descriptor; no lock is held while a signal is sent. A change is told under the file's own lock, which ranks above a process's: it is only
// noted there, and the signal sent by a DeferredCall. While that is under way, it keeps a reference.
#pragma once

#include "core/deferred_call.h"
#include "fs/poll_source.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "task/process.h"

namespace corral::fs {

class OpenFile;

class FileSignals final : public RefCounted<FileSignals>, private PollListener {
 public:
  // What has happened, as si_code has it.
  enum class Event : i32 { readable = 1, writable = 2, message = 3, error = 4, urgent = 5, hung_up = 6 };
  enum class Whom : i32 { thread = 0, process = 1, group = 2 };  // F_OWNER_…
  struct Owner {
    Whom whom = Whom::thread;
    i32 id = 0;  // 0: nobody
  };

  // The file's, made when it has none. The file must stay meanwhile. enomem.
  static Result<FileSignals*> of(OpenFile& file);
  FileSignals() : call_{fire} { entry_.join(*this); }

  // Whose rights count is the thread that sets it. esrch.
  Result<void> set_owner(const Thread& setter, const Owner& owner) EXCLUDES(lock_);
  // Nobody once that process, or thread, is gone.
  [[nodiscard]] Owner owner() EXCLUDES(lock_);
  // 0: SIGIO, without information.
  void set_signal(int signal) EXCLUDES(lock_);
  [[nodiscard]] int signal() EXCLUDES(lock_);
  // Changes of `file`, which this belongs to and which can_signal(), are told from now on, or no longer.
  void listen(OpenFile& file, int descriptor, bool on) EXCLUDES(lock_);
  void set_descriptor(int descriptor) EXCLUDES(lock_);
  // Sends the signal. No lock is held.
  void send(Event event) EXCLUDES(lock_);
  // So many messages are to be told when the step is over. Any lock may be held.
  void note_messages(u32 count);
  // The last reference to the file is gone; it is still whole.
  void file_ends();

 private:
  struct Receiver {
    Owner owner;
    Ref<Process> process;  // of whom = process
    Ref<Thread> thread;  // of whom = thread
    u32 real_user = 0, effective_user = 0;  // of who set it
  };
  static void fire(DeferredCall& call);
  bool on_change(u32 bits) override;
  [[nodiscard]] static bool is_there(const Receiver& receiver);
  static void deliver(const Receiver& receiver, const SignalInfo& info);

  SpinLock lock_{Rank::file_signals, "signals of a file"};
  Receiver receiver_ GUARDED_BY(lock_);
  int signal_ GUARDED_BY(lock_) = 0;
  int descriptor_ GUARDED_BY(lock_) = 0;  // as the signal tells it
  PollEntry entry_;  // enlisted and taken out under lock_
  Atomic<bool> listens_{false};
  static constexpr u32 has_messages = 1u << 31;
  Atomic<u32> changes_{0};  // poll_ bits, and has_messages, to be told; not 0: call_ is under way
  Atomic<u32> messages_{0};
  DeferredCall call_;
};

}  // namespace corral::fs
