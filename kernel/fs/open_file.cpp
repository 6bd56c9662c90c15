// What an open file answers that cannot do something. See open_file.h.
#include "fs/open_file.h"

#include "fs/event/event_watch.h"
#include "fs/event/file_signals.h"
#include "fs/file_locks.h"
#include "fs/inode.h"
#include "fs/watch/notices.h"

namespace corral::fs {

OpenFile::OpenFile(Ref<Inode> inode, u32 flags)
    : inode_{static_cast<Ref<Inode>&&>(inode)},
      flags_{flags & ~(o_creat | o_excl | o_noctty | o_trunc | o_cloexec)},
      errors_told_{*inode_} {
  inode_->opens.fetch_add(1, Order::relaxed);
}

OpenFile::~OpenFile() = default;

void OpenFile::last_reference_gone() {
  if (watches.load(Order::relaxed) != nullptr) forget_watches(*this);
  // First it does not count any more: who waits for the end of its lease looks at the counts then.
  inode_->opens.fetch_sub(1, Order::relaxed);
  if (writing_) inode_->end_writing();
  file_locks::closed(*inode_, this);
  if (FileSignals* own = signals.load(Order::acquire); own != nullptr) own->file_ends();
  notices::closed(*this);
  delete this;
}

void OpenFile::set_flags(u32 flags) {
  constexpr u32 changeable = o_append | o_nonblock | o_direct | o_noatime | o_async;
  flags_.store((flags_.load(Order::relaxed) & ~changeable) | (flags & changeable), Order::relaxed);
}

Result<void> OpenFile::notify(const FileTable&, u32) {
  return Errno::einval;
}

Result<u64> OpenFile::read(Thread&, Transfer&) {
  return inode_->is_directory() ? Errno::eisdir : Errno::einval;
}
Result<u64> OpenFile::write(Thread&, Transfer&) {
  return inode_->is_directory() ? Errno::eisdir : Errno::einval;
}
Result<u64> OpenFile::read_at(Thread&, u64, Transfer&) {
  return inode_->is_directory() ? Errno::eisdir : Errno::espipe;
}
Result<u64> OpenFile::write_at(Thread&, u64, Transfer&) {
  return inode_->is_directory() ? Errno::eisdir : Errno::espipe;
}
Result<u64> OpenFile::append(Thread& thread, Transfer& transfer, bool) {
  return write(thread, transfer);
}
Result<u64> OpenFile::seek(i64, Whence) {
  return Errno::espipe;
}
Result<void> OpenFile::resize(u64) {
  return Errno::einval;
}
Result<void> OpenFile::list(Listing&) {
  return Errno::enotdir;
}
void OpenFile::set_directory_position(u64) {}
Result<i64> OpenFile::control(Thread&, vm::AddressSpace&, u32, u64) {
  return Errno::enotty;
}
Result<void> OpenFile::sync(u64& progress) {
  const Result<void> synced = inode_->sync(progress);
  if (!synced.ok() && synced.error() == Errno::blocked) return Errno::blocked;
  const Result<void> told = errors_told_.of_file(*inode_);
  return synced.ok() ? told : synced;
}
Result<Ref<vm::Backing>> OpenFile::backing() {
  return Errno::enodev;
}
u32 OpenFile::poll(PollEntry*) {
  return poll_in | poll_out | poll_rdnorm | poll_wrnorm;
}
Result<u64> OpenFile::available() {
  return Errno::enotty;
}
void OpenFile::describe(TextBuffer&) {}

}  // namespace corral::fs
