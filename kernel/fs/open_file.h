// OpenFile: what a descriptor refers to ("open file description" in POSIX): a file, how it was opened, and a position.
// Shared by descriptors that were duplicated or inherited. Derived classes: files with a position, directories, the
// ends of pipes, the terminal, devices, generated text.
//
// Context: the step of the calling thread, no lock held. read, write and control may answer blocked: the step is run
// again, with the progress in Transfer::done().
#pragma once

#include "fs/types.h"
#include "fs/write_errors.h"
#include "lib/atomic.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "vm/address_space.h"

namespace corral {
class Thread;
}

namespace corral::fs {

class EventWatch;
class FileSignals;
class FileTable;
class Inode;
class Listing;
class PollEntry;
class TextBuffer;
class Transfer;

enum class Whence : u32 { start = 0, current = 1, end = 2, data = 3, hole = 4 };

class OpenFile : public RefCounted<OpenFile> {
 public:
  OpenFile(Ref<Inode> inode, u32 flags);
  virtual ~OpenFile();

  [[nodiscard]] Inode& inode() const { return *inode_; }
  [[nodiscard]] u32 flags() const { return flags_.load(Order::relaxed); }
  // F_SETFL: only append, nonblock, direct, noatime and async change.
  void set_flags(u32 flags);
  // Neither for the access mode 3, which Linux allows for devices that are only controlled.
  [[nodiscard]] bool readable() const { return allows(o_rdonly); }
  [[nodiscard]] bool writable() const { return allows(o_wronly); }
  [[nodiscard]] bool nonblocking() const { return (flags() & o_nonblock) != 0; }

  // At the position, which moves. Answer: transfer.done(), the bytes moved in all runs of this step. The caller has checked
  // readable() or writable().
  virtual Result<u64> read(Thread& thread, Transfer& transfer);   // einval, eisdir
  virtual Result<u64> write(Thread& thread, Transfer& transfer);  // einval
  // pread, pwrite: espipe for files without a position.
  virtual Result<u64> read_at(Thread& thread, u64 offset, Transfer& transfer);
  virtual Result<u64> write_at(Thread& thread, u64 offset, Transfer& transfer);
  // At the end whatever the position, which moves there with `moves` (RWF_APPEND).
  virtual Result<u64> append(Thread& thread, Transfer& transfer, bool moves);
  virtual Result<u64> seek(i64 offset, Whence whence);  // espipe, einval
  virtual Result<void> resize(u64 size);                // einval
  // Names from the position on, which moves to `next` by advance_directory when they have reached the program.
  virtual Result<void> list(Listing& listing);          // enotdir
  virtual void set_directory_position(u64 position);
  // ioctl; `argument` is the call's third argument. enotty.
  virtual Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument);
  // fsync: as Inode::sync. eio, enospc, what the server answers: something could not be written since this file was told last.
  virtual Result<void> sync(u64& progress);
  // The same about its whole file system.
  Result<void> tell_file_system_errors() { return errors_told_.of_file_system(*inode_); }
  // Pages for mmap. enodev; eacces.
  virtual Result<Ref<vm::Backing>> backing();
  // For shared mappings that may write. eperm: sealed.
  virtual Result<Ref<vm::Backing>> writable_backing() { return backing(); }
  // Which of the poll_ bits hold now. `entry`, when given, is enlisted so that it is told about every later change.
  virtual u32 poll(PollEntry* entry);
  // These bits, which poll() answered last, did not reach the program, which is going to ask again: what is told once is told then.
  virtual void not_told(u32) {}
  // Its readiness changes, so that epoll takes it.
  [[nodiscard]] virtual bool can_poll() const { return false; }
  // poll(nullptr) takes no lock, so that it may be called under any.
  [[nodiscard]] virtual bool polls_without_lock() const { return false; }
  // Changes of its readiness can be told by signals (O_ASYNC); then it can be polled, too, under any lock of rank file_signals or below.
  [[nodiscard]] virtual bool can_signal() const { return false; }
  // Bytes that a read would give now (FIONREAD).
  virtual Result<u64> available();

  // Lines of its own in /proc/[pid]/fdinfo.
  virtual void describe(TextBuffer& to);
  // F_NOTIFY for the process with this table: DN_ bits (fs/watch/directory_notice.h); without any but `again` nothing is told any more.
  // einval: it cannot tell; enospc, enomem.
  virtual Result<void> notify(const FileTable& table, u32 wanted);
  // A descriptor in this table that led to it was closed by the running thread's process. No lock is held.
  virtual void descriptor_closed(const FileTable&) {}
  // It counts among those who have the file open for writing, to the end (Inode::begin_writing).
  void note_writing() { writing_ = true; }
  // Nobody uses it any more: epoll lets go of it while the whole object is still there.
  void last_reference_gone();

  // What epoll has to do with this file (fs/event/event_watch.h), which alone changes it.
  Atomic<EventWatch*> watches{nullptr};
  // Set once, by FileSignals::of(): a reference; null: nobody asked for signals about this file.
  Atomic<FileSignals*> signals{nullptr};

 private:
  [[nodiscard]] bool allows(u32 mode) const {
    const u32 now = flags() & (o_accmode | o_path);
    return now == mode || now == o_rdwr;
  }

  Ref<Inode> inode_;
  Atomic<u32> flags_;
  WriteErrorsTold errors_told_;
  bool writing_ = false;  // set before others know it
};

}  // namespace corral::fs
