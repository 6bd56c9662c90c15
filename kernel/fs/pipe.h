// Pipes: a ring of bytes between threads. Writes of at most pipe_buf bytes are whole; a reader of an empty pipe and a
// writer of a full one wait; without writers a reader finds the end, without readers a writer gets EPIPE and SIGPIPE.
// Source: POSIX.1-2017 pipe(), write(); Linux pipe(7), fifo(7).
//
// Everything is guarded by the pipe's lock. Bytes are copied with the lock held, from and to memory that was prepared, and
// counted only when the copy has succeeded. One waiter is woken for each change; a waiter that leaves something for the
// next one wakes it, so no wake-up is lost and no crowd runs for nothing.
#pragma once

#include "fs/poll_set.h"
#include "fs/ram/ram_node.h"
#include "lib/setting.h"
#include "sync/waiter.h"

namespace corral::fs {

class Pipe final : public RefCounted<Pipe> {
 public:
  static constexpr u64 pipe_buf = 4096;
  static constexpr u64 default_capacity = 64 << 10;
  static constexpr u64 highest_capacity = u64{1} << 31;
  static inline constinit Setting user_capacity{1 << 20, page_size, highest_capacity};  // what users may ask for

  // `privileged`: it begins with the default capacity, whatever users may ask for.
  explicit Pipe(bool privileged);
  ~Pipe();

  Result<u64> read(Thread& thread, Transfer& transfer, bool nonblocking);
  // `partly`: does not wait for more room once something has been written. `packets`: each piece of at most pipe_buf bytes is
  // read by itself (O_DIRECT); what the reader has no room for is lost.
  Result<u64> write(Thread& thread, Transfer& transfer, bool nonblocking, bool partly = false, bool packets = false);

  // ---- for splice and tee (pipe_splice.cpp): a side for the caller alone, while it moves bytes to or from kernel memory -----
  // The reading side. Answers how many bytes there are; 0: the end, nothing is claimed. blocked, restart; eagain.
  Result<u64> claim_data(Thread& thread, bool nonblocking) EXCLUDES(lock_);
  void look(u64 at, std::span<u8> to) EXCLUDES(lock_);  // at bytes behind the first one; there must be so many
  void release_data(u64 taken) EXCLUDES(lock_);  // takes so many out; others may read again
  // The writing side, with memory for at most `wish` bytes, which are answered. blocked, restart; eagain, epipe, enomem.
  Result<u64> claim_room(Thread& thread, bool nonblocking, u64 wish) EXCLUDES(lock_);
  void put(std::span<const u8> from) EXCLUDES(lock_);  // as much as was claimed in all
  void release_room() EXCLUDES(lock_);
  // What can become of an end.
  static constexpr u32 of_reader = poll_readable | poll_hup, of_writer = poll_writable | poll_err;
  // The poll_ bits of both ends. Any context, no lock.
  [[nodiscard]] u32 readiness() const { return readiness_.load(Order::acquire); }
  // The bits of `relevant` that hold; the entry is told of changes of them.
  u32 poll(PollEntry& entry, u32 relevant) EXCLUDES(lock_);
  [[nodiscard]] u64 available() EXCLUDES(lock_);
  [[nodiscard]] u64 capacity() EXCLUDES(lock_);
  // F_SETPIPE_SZ: rounded up to a power of two of pages. ebusy: holds more than that; eperm: above user_capacity, and not
  // `privileged`; einval: above highest_capacity; enomem.
  Result<u64> set_capacity(u64 bytes, bool privileged) EXCLUDES(lock_);

  void add_end(bool reader, bool writer) EXCLUDES(lock_);
  void remove_end(bool reader, bool writer) EXCLUDES(lock_);
  // A fifo's open waits for the other side: how often that side was opened so far, and whether it is open.
  struct Side {
    bool open;
    u64 opened;
  };
  [[nodiscard]] Side other_side(bool reader) EXCLUDES(lock_);
  // Errno{}: it has been opened since `opened`. blocked; restart.
  [[nodiscard]] Errno wait_for_other_side(Thread& thread, bool reader, u64 opened) EXCLUDES(lock_);

 private:
  // Bytes that were written together and are read by themselves: positions.
  struct Packet {
    u64 begin, end;
  };

  [[nodiscard]] u64 used() const REQUIRES(lock_) { return written_ - taken_; }
  [[nodiscard]] u64 slots() const REQUIRES(lock_) { return capacity_ / page_size; }
  [[nodiscard]] u64 slot_of(u64 position) const REQUIRES(lock_) { return position / page_size % slots(); }
  // As on Linux no more packets fit than pages.
  [[nodiscard]] u64 room() const REQUIRES(lock_) { return packet_count_ < slots() ? capacity_ - used() : 0; }
  [[nodiscard]] Packet& packet(u64 number) const REQUIRES(lock_) { return packets_[(first_packet_ + number) % slots()]; }
  [[nodiscard]] u64 readable_at_once() const REQUIRES(lock_);
  Result<void> make_packet_list(u64 slots) REQUIRES(lock_);
  void add_packet(u64 bytes) REQUIRES(lock_);
  void finish_packet() REQUIRES(lock_);
  Result<void> fill(Transfer& transfer, u64 bytes) REQUIRES(lock_);
  Result<void> drain(Transfer& transfer, u64 bytes) REQUIRES(lock_);
  Result<void> allocate_pages(u64 bytes) REQUIRES(lock_);
  void release_slot(u64 slot) REQUIRES(lock_);
  void note_readiness() REQUIRES(lock_);
  void pass_on_read() EXCLUDES(lock_);
  void pass_on_write() EXCLUDES(lock_);

  void take_out(u64 bytes) REQUIRES(lock_);

  SpinLock lock_{Rank::pipe, "pipe"};
  WaitQueue data_wanted_{lock_}, room_wanted_{lock_}, other_side_wanted_{lock_};
  PollSource source_{lock_};
  Atomic<u32> readiness_{poll_writable};  // for looks that enlist nothing; changed under lock_
  u32 readers_ GUARDED_BY(lock_) = 0, writers_ GUARDED_BY(lock_) = 0;
  u64 readers_opened_ GUARDED_BY(lock_) = 0, writers_opened_ GUARDED_BY(lock_) = 0;
  bool data_claimed_ GUARDED_BY(lock_) = false, room_claimed_ GUARDED_BY(lock_) = false;
  u64 capacity_ GUARDED_BY(lock_);
  u64 taken_ GUARDED_BY(lock_) = 0, written_ GUARDED_BY(lock_) = 0;  // positions since the beginning
  u8** pages_ GUARDED_BY(lock_) = nullptr;  // capacity_ / page_size slots; null: nothing there
  u8* spare_ GUARDED_BY(lock_) = nullptr;
  Packet* packets_ GUARDED_BY(lock_) = nullptr;  // a ring of slots(); null: never was one written
  u64 first_packet_ GUARDED_BY(lock_) = 0, packet_count_ GUARDED_BY(lock_) = 0;
};

// An open end of a pipe, or both (a fifo opened for reading and writing).
class PipeEnd final : public OpenFile {
 public:
  PipeEnd(Ref<Inode> inode, Ref<Pipe> pipe, u32 flags);
  ~PipeEnd() override;
  Result<u64> read(Thread& thread, Transfer& transfer) override { return pipe_->read(thread, transfer, nonblocking()); }
  Result<u64> write(Thread& thread, Transfer& transfer) override {
    return pipe_->write(thread, transfer, nonblocking(), false, (flags() & o_direct) != 0);
  }
  u32 poll(PollEntry* entry) override {
    const u32 relevant = (readable() ? Pipe::of_reader : 0u) | (writable() ? Pipe::of_writer : 0u);
    return entry == nullptr ? pipe_->readiness() & relevant : pipe_->poll(*entry, relevant);
  }
  [[nodiscard]] bool can_poll() const override { return true; }
  [[nodiscard]] bool polls_without_lock() const override { return true; }
  [[nodiscard]] bool can_signal() const override { return true; }
  Result<u64> available() override { return pipe_->available(); }
  [[nodiscard]] Pipe& pipe() { return *pipe_; }

 private:
  Ref<Pipe> pipe_;
};

// A pipe with a name.
// What makes a file a fifo, whatever file system it is in: the pipe that all who open it share.
class Fifo {
 public:
  // `inode`: the file that this is part of. As Inode::open; blocked, enxio.
  Result<Ref<OpenFile>> open(Inode& inode, const OpenRequest& request);

 private:
  SpinLock lock_{Rank::file, "fifo"};
  Ref<Pipe> pipe_ GUARDED_BY(lock_);
};

class RamFifo final : public RamNode {
 public:
  RamFifo(RamFileSystem& file_system, u32 permissions) : RamNode{file_system, FileType::fifo, permissions} {}
  Result<Ref<OpenFile>> open(const OpenRequest& request) override { return fifo_.open(*this, request); }

 private:
  Fifo fifo_;
};

// A pipe without a name: both ends, for pipe2. enomem.
struct PipePair {
  Ref<OpenFile> reader, writer;
};
Result<PipePair> make_pipe(u32 flags, bool privileged);
// The pipe behind an open file, or null.
[[nodiscard]] Pipe* pipe_of(OpenFile& file);

// Lets go of the end that an unfinished open of a fifo has noted in the thread's step, if there is one.
void abandon_fifo_open(Thread& thread);

}  // namespace corral::fs
