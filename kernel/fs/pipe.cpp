// The ring of a pipe. See pipe.h.
#include "fs/pipe.h"

#include <bit>

#include "arch/page_table.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

constexpr u64 most_at_once = 1 << 20;  // bytes of a program's memory that are made ready in one go

void release_page_of(u8* page) {
  if (page != nullptr) memory::release_page(memory::frame_of(arch::physical_of_direct(page)));
}

}  // namespace

Pipe::Pipe(bool privileged) : capacity_{privileged ? default_capacity : smaller(default_capacity, user_capacity.value())} {}

Pipe::~Pipe() {
  LockGuard guard{lock_};
  if (pages_ != nullptr) {
    for (u64 i = 0; i < slots(); ++i) release_page_of(pages_[i]);
    memory::release(pages_);
  }
  release_page_of(spare_);
  memory::release(packets_);
}

Result<void> Pipe::allocate_pages(u64 bytes) {
  if (pages_ == nullptr) {
    pages_ = static_cast<u8**>(memory::allocate(slots() * sizeof(u8*)));
    if (pages_ == nullptr) return Errno::enomem;
    for (u64 i = 0; i < slots(); ++i) pages_[i] = nullptr;
  }
  for (u64 place = round_down(written_, page_size); place < written_ + bytes; place += page_size) {
    u8*& page = pages_[slot_of(place)];
    if (page != nullptr) continue;
    page = std::exchange(spare_, nullptr);
    if (page == nullptr) page = memory::contents(*TRY(memory::allocate_page(memory::Zero::no)));
  }
  return {};
}

void Pipe::release_slot(u64 slot) {
  u8* page = std::exchange(pages_[slot], nullptr);
  if (spare_ == nullptr) {
    spare_ = page;
  } else {
    release_page_of(page);
  }
}

Result<void> Pipe::fill(Transfer& transfer, u64 bytes) {
  TRY(allocate_pages(bytes));
  for (u64 done = 0; done < bytes;) {
    const u64 place = written_ + done;
    const u64 in_page = place & (page_size - 1);
    const u64 now = smaller(bytes - done, page_size - in_page);
    TRY(transfer.get(done, pages_[slot_of(place)] + in_page, now));
    done += now;
  }
  written_ += bytes;
  return {};
}

Result<void> Pipe::drain(Transfer& transfer, u64 bytes) {
  for (u64 done = 0; done < bytes;) {
    const u64 place = taken_ + done;
    const u64 in_page = place & (page_size - 1);
    const u64 now = smaller(bytes - done, page_size - in_page);
    TRY(transfer.put(done, pages_[slot_of(place)] + in_page, now));
    done += now;
  }
  take_out(bytes);
  return {};
}

void Pipe::take_out(u64 bytes) {
  const u64 before = taken_;
  taken_ += bytes;
  for (u64 page = round_down(before, page_size); page + page_size <= taken_; page += page_size) {
    // In a full ring the newest bytes stand in the same page as the oldest did, in front of them: then it stays.
    if (written_ <= page + capacity_) release_slot(slot_of(page));
  }
  for (; packet_count_ > 0 && packet(0).end <= taken_; --packet_count_) first_packet_ = (first_packet_ + 1) % slots();
}

// ---- packets -----------------------------------------------------------------------------------------------------------

u64 Pipe::readable_at_once() const {
  if (packet_count_ == 0) return used();
  const Packet& next = packet(0);
  return (taken_ < next.begin ? next.begin : next.end) - taken_;
}

// With room for as many packets as slots; those that are there stay.
Result<void> Pipe::make_packet_list(u64 slots) {
  auto* fresh = static_cast<Packet*>(memory::allocate(slots * sizeof(Packet)));
  if (fresh == nullptr) return Errno::enomem;
  for (u64 i = 0; i < packet_count_; ++i) fresh[i] = packet(i);
  memory::release(packets_);
  packets_ = fresh;
  first_packet_ = 0;
  return {};
}

void Pipe::add_packet(u64 bytes) {
  ++packet_count_;
  packet(packet_count_ - 1) = {written_ - bytes, written_};
}

// What of a packet did not fit into the reader's memory is lost.
void Pipe::finish_packet() {
  if (packet_count_ > 0 && packet(0).begin < taken_) take_out(packet(0).end - taken_);
}

// ---- reading and writing -------------------------------------------------------------------------------------------------

void Pipe::pass_on_read() {
  LockGuard guard{lock_};
  if (used() > 0) data_wanted_.wake_one();
}

void Pipe::pass_on_write() {
  LockGuard guard{lock_};
  if (room() > 0) room_wanted_.wake_one();
}

Result<u64> Pipe::read(Thread& thread, Transfer& transfer, bool nonblocking) {
  if (transfer.size() == 0) return u64{0};
  const Result<u64> ready = transfer.prepare(most_at_once, vm::Access::write);
  if (!ready.ok()) {
    if (ready.error() != Errno::blocked) pass_on_read();
    return ready.error();
  }
  LockGuard guard{lock_};
  if (data_claimed_) return data_wanted_.wait(thread);
  if (used() == 0) {
    if (writers_ == 0) return u64{0};
    if (nonblocking) return Errno::eagain;
    return data_wanted_.wait(thread);
  }
  const u64 bytes = smaller(readable_at_once(), smaller(transfer.left(), Transfer::prepare_limit));
  const bool was_full = room() < pipe_buf;
  // All of what this read would give must fit into the program's memory, else nothing is taken.
  const Result<void> drained = bytes > ready.value() ? Errno::efault : drain(transfer, bytes);
  if (drained.ok()) finish_packet();
  if (used() > 0) data_wanted_.wake_one();
  if (!drained.ok()) return drained.error();
  transfer.advance(bytes);
  note_readiness();
  room_wanted_.wake_one();
  if (was_full && room() >= pipe_buf) source_.notify(poll_writable);
  return transfer.done();
}

Result<u64> Pipe::write(Thread& thread, Transfer& transfer, bool nonblocking, bool partly, bool packets) {
  bool broken = false;
  while (transfer.left() > 0 && !broken) {
    const Result<u64> ready = transfer.prepare(most_at_once, vm::Access::read);
    if (!ready.ok()) {
      if (ready.error() == Errno::blocked) return Errno::blocked;
      pass_on_write();
      if (transfer.done() > 0) break;
      return ready.error();
    }
    LockGuard guard{lock_};
    if (readers_ == 0) {
      broken = true;
      continue;
    }
    const bool whole = packets || (transfer.size() <= pipe_buf && !partly);
    const bool no_room = room() < (whole ? smaller(transfer.left(), pipe_buf) : 1);
    if (no_room || room_claimed_) {
      if (transfer.done() > 0 && (nonblocking || partly || transfer.from_kernel())) break;
      if (nonblocking && no_room) return Errno::eagain;
      const Errno outcome = room_wanted_.wait(thread);
      if (outcome != Errno::blocked && transfer.done() > 0) break;
      return outcome;
    }
    if (packets && packets_ == nullptr) TRY(make_packet_list(slots()));
    const u64 bytes = smaller(room(), smaller(transfer.left(), packets ? pipe_buf : Transfer::prepare_limit));
    const Result<void> filled = bytes > ready.value() ? Errno::efault : fill(transfer, bytes);
    if (!filled.ok()) {
      if (filled.error() == Errno::blocked || transfer.done() == 0) return filled.error();
      break;
    }
    if (packets) add_packet(bytes);
    transfer.advance(bytes);
    note_readiness();
    data_wanted_.wake_one();
    if (room() > 0) room_wanted_.wake_one();
    source_.notify(poll_readable);
    if (transfer.from_kernel()) break;
  }
  if (broken) {  // the process's lock ranks below the pipe's: the signal is sent without it
    (void)signals::send(thread, {.number = sigpipe, .code = 0, .sender = 0, .sender_user = 0, .value = 0});
    if (transfer.done() == 0) return Errno::epipe;
  }
  return transfer.done();
}

void Pipe::note_readiness() {
  u32 ready = 0;
  if (used() > 0) ready |= poll_readable;
  if (writers_ == 0 && writers_opened_ > 0) ready |= poll_hup;
  if (room() >= pipe_buf) ready |= poll_writable;
  if (readers_ == 0) ready |= poll_err;
  readiness_.store(ready, Order::release);
}

u32 Pipe::poll(PollEntry& entry, u32 relevant) {
  LockGuard guard{lock_};
  source_.enlist(entry, relevant);
  return readiness_.load(Order::relaxed) & relevant;
}

u64 Pipe::available() {
  LockGuard guard{lock_};
  return used();
}

u64 Pipe::capacity() {
  LockGuard guard{lock_};
  return capacity_;
}

Result<u64> Pipe::set_capacity(u64 bytes, bool privileged) {
  if (bytes > highest_capacity) return Errno::einval;
  const u64 wish = std::bit_ceil(larger(bytes, page_size));
  if (wish > user_capacity.value() && !privileged) return Errno::eperm;
  const u64 slots = wish / page_size;
  auto** fresh = static_cast<u8**>(memory::allocate(slots * sizeof(u8*)));
  if (fresh == nullptr) return Errno::enomem;
  for (u64 i = 0; i < slots; ++i) fresh[i] = nullptr;
  const Result<Frame*> frame = memory::allocate_page(memory::Zero::no);
  if (!frame.ok()) {
    memory::release(fresh);
    return frame.error();
  }
  u8* own_page = memory::contents(*frame.value());
  LockGuard guard{lock_};
  const bool too_small = round_up(written_, page_size) - round_down(taken_, page_size) > wish || packet_count_ > slots;
  const bool busy = too_small || room_claimed_;
  const Result<void> listed = busy || packets_ == nullptr ? Result<void>{} : make_packet_list(slots);
  if (busy || !listed.ok()) {
    memory::release(fresh);
    release_page_of(own_page);
    return busy ? Errno::ebusy : listed.error();
  }
  if (pages_ != nullptr) {
    const u64 old_slots = this->slots();
    const u64 first = taken_ / page_size;
    for (u64 page = first; page * page_size < written_; ++page) {
      u8*& old = pages_[page % old_slots];
      if (page == first + old_slots) {  // the newest bytes share the page of the oldest (see drain): now each needs its own
        fresh[page % slots] = std::exchange(own_page, nullptr);
        memcpy(fresh[page % slots], fresh[first % slots], page_size);
      } else {
        fresh[page % slots] = std::exchange(old, nullptr);
      }
    }
    for (u64 i = 0; i < old_slots; ++i) release_page_of(pages_[i]);
    memory::release(pages_);
  }
  release_page_of(own_page);
  pages_ = fresh;
  capacity_ = wish;
  note_readiness();
  room_wanted_.wake_all();
  source_.notify(poll_writable);
  return wish;
}

void Pipe::add_end(bool reader, bool writer) {
  LockGuard guard{lock_};
  if (reader) {
    ++readers_;
    ++readers_opened_;
  }
  if (writer) {
    ++writers_;
    ++writers_opened_;
  }
  note_readiness();
  other_side_wanted_.wake_all();
}

void Pipe::remove_end(bool reader, bool writer) {
  LockGuard guard{lock_};
  if (reader) --readers_;
  if (writer) --writers_;
  note_readiness();
  if (writers_ == 0) data_wanted_.wake_all();
  if (readers_ == 0) room_wanted_.wake_all();
  if (writers_ == 0) source_.notify(poll_readable | poll_hup);
  if (readers_ == 0) source_.notify(poll_writable | poll_err);
}

Pipe::Side Pipe::other_side(bool reader) {
  LockGuard guard{lock_};
  return reader ? Side{writers_ > 0, writers_opened_} : Side{readers_ > 0, readers_opened_};
}

Errno Pipe::wait_for_other_side(Thread& thread, bool reader, u64 opened) {
  LockGuard guard{lock_};
  if ((reader ? writers_opened_ : readers_opened_) != opened) return Errno{};
  return other_side_wanted_.wait(thread);
}

}  // namespace corral::fs
