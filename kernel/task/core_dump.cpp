// See core_dump.h. Process's part of it: who waits for whom.
#include "task/core_dump.h"

#include "core/core.h"
#include "task/executive.h"
#include "task/process.h"

namespace corral {

namespace {

constinit CoreDumpMaker make_core_dump = nullptr;

}  // namespace

void set_core_dump_maker(CoreDumpMaker maker) {
  make_core_dump = maker;
}

CoreDump::CoreDump(Thread& dumper) : dumper_{dumper}, all_stand_{dumper.process().lock()}, ended_{dumper.process().lock()} {}

void Process::end_with_dump(Thread& thread, const SignalInfo& info) {
  CoreDump* dump = make_core_dump == nullptr ? nullptr : make_core_dump(thread, info);
  {
    LockGuard guard{lock_};
    if (dump != nullptr && !ending_.load(Order::relaxed) && !thread.end_wanted) {
      dump_.store(dump, Order::release);
      dump = nullptr;
    }
    end_locked(info.number);
  }
  delete dump;
}

Errno Process::attend_dump(Thread& thread) {
  CoreDump* dump = dump_.load(Order::acquire);
  if (dump == nullptr) return Errno{};
  Executive& executive = *this_core().executive;
  executive.save_floating_point(thread);
  {
    LockGuard guard{lock_};
    if (dump->over_) return Errno{};
    if (&thread != &dump->dumper_) {
      if (thread.step.phase == 0) {
        thread.step.phase = 1;
        ++dump->standing_;
        dump->all_stand_.wake_all();
      }
      executive.part_with_floating_point(thread);
      return dump->ended_.wait_uninterruptible(thread);
    }
    const bool all_stand = running_threads_ == dump->standing_ + 1;
    if (!all_stand && !killed()) return dump->all_stand_.wait_uninterruptible(thread);
    if (!all_stand) dump->over_ = true;
  }
  const Result<void> written = dump->over_ ? Errno::eintr : dump->write(thread);
  if (!written.ok() && written.error() == Errno::blocked) return Errno::blocked;
  dump->close();
  LockGuard guard{lock_};
  dump->over_ = true;
  constexpr i32 dumped = 0x80;  // in wait4's form
  if (written.ok()) exit_status |= dumped;
  dump->ended_.wake_all();
  return Errno{};
}

void Process::tell_dump() {
  CoreDump* dump = dump_.load(Order::relaxed);
  if (dump != nullptr) [[unlikely]]
    dump->all_stand_.wake_all();
}

}  // namespace corral
