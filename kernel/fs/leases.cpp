// See leases.h.
#include "fs/leases.h"

#include "device/clock.h"
#include "fs/event/file_signals.h"
#include "fs/file_lock_table.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::leases {

namespace {

using file_locks::all_locks;

bool breaking(const Lease& lease) {
  return lease.wanted != lease.kind;
}

bool goes_against(const Lease& lease, bool writes) {
  return writes || lease.kind == Kind::write;
}

void become(FileLockTable& table, Lease& lease, Kind kind) REQUIRES(all_locks) {
  if (kind == Kind::none) {
    table.leases.remove(lease);
    delete &lease;
  } else {
    lease.kind = lease.wanted = kind;
  }
  (void)table.changed.wake_all();
}

// Those whose time is over become what they were to become.
void end_overdue(FileLockTable& table) REQUIRES(all_locks) {
  const Instant now = clock::now();
  for (Lease* lease = table.leases.front(); lease != nullptr;) {
    Lease& looked_at = *std::exchange(lease, table.leases.next(*lease));
    if (breaking(looked_at) && looked_at.until <= now) become(table, looked_at, looked_at.wanted);
  }
}

Lease* find(FileLockTable& table, const void* holder) REQUIRES(all_locks) {
  for (Lease* lease = table.leases.front(); lease != nullptr; lease = table.leases.next(*lease)) {
    if (lease->holder == holder) return lease;
  }
  return nullptr;
}

// Nobody but the file itself has the inode open in a way that goes against a lease of this kind.
bool alone(OpenFile& file, Kind kind) {
  const Inode& inode = file.inode();
  if (kind == Kind::read) return inode.writers() == 0;
  if (inode.is_executed()) return false;
  return inode.opens.load(Order::seq_cst) == 1 && inode.writers() == (file.writable() ? 1u : 0u);
}

// Nobody's lease goes against a new one, or the change of one, of `file`.
bool agrees(FileLockTable& table, const OpenFile& file, Kind kind) REQUIRES(all_locks) {
  for (Lease* lease = table.leases.front(); lease != nullptr; lease = table.leases.next(*lease)) {
    if (lease->holder != &file && (kind == Kind::write || lease->wanted == Kind::none)) return false;
  }
  return true;
}

// The next one that goes against it and has not been told yet, told of as being so; null: there is none.
Ref<FileSignals> next_to_tell(FileLockTable& table, bool writes) REQUIRES(all_locks) {
  const Kind wanted = writes ? Kind::none : Kind::read;
  const u64 seconds = break_seconds.value();
  for (Lease* lease = table.leases.front(); lease != nullptr; lease = table.leases.next(*lease)) {
    if (!goes_against(*lease, writes) || (writes ? lease->wanted == Kind::none : breaking(*lease))) continue;
    lease->wanted = wanted;
    lease->until = seconds == 0 ? never : clock::now() + milliseconds(static_cast<i64>(seconds) * 1000);
    return Ref<FileSignals>::share(*lease->signals);
  }
  return {};
}

// Errno{}: there is none left that goes against it.
Errno wait_for_holders(Thread& thread, FileLockTable& table, bool writes, bool wait) REQUIRES(all_locks) {
  end_overdue(table);
  Instant first = never;
  bool any = false;
  table.leases.for_each([&](Lease& lease) {
    if (!goes_against(lease, writes)) return;
    any = true;
    if (lease.until < first) first = lease.until;
  });
  if (!any) return {};
  return wait ? table.changed.wait(thread, first) : Errno::eagain;
}

}  // namespace

Result<void> set(OpenFile& file, FileSignals& signals, Kind kind) {
  if (kind != Kind::none && !alone(file, kind)) return Errno::eagain;
  Lease* fresh = TRY(memory::make<Lease>());
  const Errno outcome = [&]() -> Errno {
    LockGuard guard{all_locks};
    FileLockTable* table = file_locks::table_of(file.inode());
    if (table == nullptr) return Errno::enomem;
    end_overdue(*table);
    Lease* own = find(*table, &file);
    if (kind == Kind::none) {
      if (own == nullptr) return Errno::eagain;
      become(*table, *own, kind);
      return {};
    }
    if (!agrees(*table, file, kind)) return Errno::eagain;
    if (own != nullptr && own->wanted == Kind::none) return Errno::eagain;  // somebody would write: nothing less will do
    if (own != nullptr) {
      become(*table, *own, kind);
      return {};
    }
    fresh->holder = &file;
    fresh->signals = &signals;
    fresh->kind = fresh->wanted = kind;
    table->leases.push_back(*fresh);
    fence(Order::seq_cst);  // it can be seen before this looks who came meanwhile
    if (!alone(file, kind)) {
      become(*table, *std::exchange(fresh, nullptr), Kind::none);
      return Errno::eagain;
    }
    fresh = nullptr;
    return {};
  }();
  delete fresh;
  return outcome;
}

Kind get(OpenFile& file) {
  LockGuard guard{all_locks};
  FileLockTable* table = file.inode().locks.load(Order::relaxed);
  if (table == nullptr) return Kind::none;
  end_overdue(*table);
  const Lease* own = find(*table, &file);
  return own == nullptr ? Kind::none : own->wanted;
}

Result<void> break_all(Thread& thread, Inode& inode, bool writes, bool wait) {
  if (inode.locks.load(Order::seq_cst) == nullptr) return {};
  for (;;) {
    Ref<FileSignals> to_tell;
    {
      LockGuard guard{all_locks};
      FileLockTable& table = *inode.locks.load(Order::relaxed);
      to_tell = next_to_tell(table, writes);
      if (!to_tell) return wait_for_holders(thread, table, writes, wait);
    }
    to_tell->send(FileSignals::Event::message);
  }
}

void closed(FileLockTable& table, const void* holder) {
  if (Lease* lease = find(table, holder); lease != nullptr) become(table, *lease, Kind::none);
}

}  // namespace corral::fs::leases
