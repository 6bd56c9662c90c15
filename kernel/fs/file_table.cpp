// Descriptors. See file_table.h.
#include "fs/file_table.h"

#include <bit>

#include "fs/file_locks.h"
#include "fs/inode.h"
#include "fs/socket/in_flight.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

FileTable::~FileTable() {
  close_all();
  LockGuard guard{lock_};
  memory::release(slots_);
}

Result<void> FileTable::grow(u32 wanted) {
  if (wanted <= capacity_) return {};
  const u32 capacity = std::bit_ceil(wanted < 32 ? 32u : wanted);
  auto* slots = static_cast<Slot*>(memory::allocate(capacity * sizeof(Slot)));
  if (slots == nullptr) return Errno::enomem;
  for (u32 i = 0; i < capacity; ++i) ::new (&slots[i]) Slot(i < capacity_ ? slots_[i] : Slot{});
  memory::release(slots_);
  slots_ = slots;
  capacity_ = capacity;
  return {};
}

Result<Ref<OpenFile>> FileTable::get(int descriptor) {
  LockGuard guard{lock_};
  const u32 index = static_cast<u32>(descriptor);
  if (index >= capacity_ || slots_[index].file == nullptr) return Errno::ebadf;
  return Ref<OpenFile>::share(*slots_[index].file);
}

Result<int> FileTable::install(Ref<OpenFile> file, bool close_on_exec, u64 limit, int from) {
  if (limit > max_descriptors) limit = max_descriptors;
  if (from < 0 || static_cast<u64>(from) >= limit) return from > 0 || limit > 0 ? Errno::einval : Errno::emfile;
  LockGuard guard{lock_};
  u32 index = static_cast<u32>(from) > lowest_free_ ? static_cast<u32>(from) : lowest_free_;
  while (index < capacity_ && slots_[index].file != nullptr) ++index;
  if (index >= limit) return Errno::emfile;
  TRY(grow(index + 1));
  slots_[index] = {file.release(), close_on_exec};
  if (static_cast<u32>(from) <= lowest_free_) lowest_free_ = index + 1;
  return static_cast<int>(index);
}

Result<void> FileTable::check_room(u64 limit) {
  LockGuard guard{lock_};
  u32 index = lowest_free_;
  while (index < capacity_ && slots_[index].file != nullptr) ++index;
  if (index >= limit || index >= max_descriptors) return Errno::emfile;
  return {};
}

namespace {

// A descriptor of this table was closed; no lock is held. With it go the process's locks of the file; and it may have been the
// last way to a socket that is still in a message.
void let_go(Ref<OpenFile> file, const FileTable& table) {
  if (!file) return;
  file_locks::closed(file->inode(), &table);
  file->descriptor_closed(table);
  const bool socket = file->inode().type() == FileType::socket;
  file = {};
  if (socket) in_flight::collect_if_due();
}

}  // namespace

Result<void> FileTable::replace(int descriptor, Ref<OpenFile> file, bool close_on_exec, u64 limit) {
  if (descriptor < 0 || static_cast<u64>(descriptor) >= limit || static_cast<u32>(descriptor) >= max_descriptors) {
    return Errno::ebadf;
  }
  Ref<OpenFile> old;
  {
    LockGuard guard{lock_};
    const u32 index = static_cast<u32>(descriptor);
    TRY(grow(index + 1));
    old = Ref<OpenFile>::adopt(slots_[index].file);
    slots_[index] = {file.release(), close_on_exec};
  }
  let_go(static_cast<Ref<OpenFile>&&>(old), *this);
  return {};
}

Result<void> FileTable::close(int descriptor) {
  Ref<OpenFile> old;
  {
    LockGuard guard{lock_};
    const u32 index = static_cast<u32>(descriptor);
    if (index >= capacity_ || slots_[index].file == nullptr) return Errno::ebadf;
    old = Ref<OpenFile>::adopt(slots_[index].file);
    slots_[index] = {};
    if (index < lowest_free_) lowest_free_ = index;
  }
  let_go(static_cast<Ref<OpenFile>&&>(old), *this);
  return {};
}

Ref<OpenFile> FileTable::take_next(u32& from, u32 last, bool only_marked) {
  LockGuard guard{lock_};
  for (; from < capacity_ && from <= last; ++from) {
    Slot& slot = slots_[from];
    if (slot.file == nullptr || (only_marked && !slot.close_on_exec)) continue;
    Ref<OpenFile> file = Ref<OpenFile>::adopt(slot.file);
    slot = {};
    if (from < lowest_free_) lowest_free_ = from;
    return file;
  }
  return {};
}

void FileTable::close_range(u32 first, u32 last, bool only_mark) {
  if (only_mark) {
    LockGuard guard{lock_};
    for (u32 i = first; i < capacity_ && i <= last; ++i) {
      if (slots_[i].file != nullptr) slots_[i].close_on_exec = true;
    }
    return;
  }
  while (Ref<OpenFile> file = take_next(first, last, false)) let_go(static_cast<Ref<OpenFile>&&>(file), *this);
}

Result<bool> FileTable::close_on_exec(int descriptor) {
  LockGuard guard{lock_};
  const u32 index = static_cast<u32>(descriptor);
  if (index >= capacity_ || slots_[index].file == nullptr) return Errno::ebadf;
  return slots_[index].close_on_exec;
}

Result<void> FileTable::set_close_on_exec(int descriptor, bool value) {
  LockGuard guard{lock_};
  const u32 index = static_cast<u32>(descriptor);
  if (index >= capacity_ || slots_[index].file == nullptr) return Errno::ebadf;
  slots_[index].close_on_exec = value;
  return {};
}

int FileTable::next_used(int from) {
  LockGuard guard{lock_};
  for (u32 i = static_cast<u32>(from); i < capacity_; ++i) {
    if (slots_[i].file != nullptr) return static_cast<int>(i);
  }
  return -1;
}

Result<Ref<FileTable>> FileTable::duplicate() {
  Ref<FileTable> copy = Ref<FileTable>::adopt(TRY(memory::make<FileTable>()));
  // The copy is not known to anyone yet: its fields need no lock, and two locks of one rank are never held.
  const bool copied = [&]() NO_THREAD_SAFETY_ANALYSIS {
    LockGuard guard{lock_};
    u32 used = 0;
    for (u32 i = 0; i < capacity_; ++i) {
      if (slots_[i].file != nullptr) used = i + 1;
    }
    if (!copy->grow(used).ok()) return false;  // the empty copy goes after the lock: its end takes its own
    for (u32 i = 0; i < used; ++i) {
      copy->slots_[i] = slots_[i];
      if (slots_[i].file != nullptr) slots_[i].file->retain();
    }
    copy->lowest_free_ = lowest_free_;
    return true;
  }();
  if (!copied) return Errno::enomem;
  return copy;
}

void FileTable::close_marked() {
  u32 from = 0;
  while (Ref<OpenFile> file = take_next(from, max_descriptors, true)) let_go(static_cast<Ref<OpenFile>&&>(file), *this);
}

void FileTable::close_all() {
  u32 from = 0;
  while (Ref<OpenFile> file = take_next(from, max_descriptors, false)) let_go(static_cast<Ref<OpenFile>&&>(file), *this);
}

}  // namespace corral::fs
