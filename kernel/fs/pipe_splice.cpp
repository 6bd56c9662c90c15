// A pipe's sides for one caller alone: splice and tee. See pipe.h.
//
// What is taken out of one file must be put into another, and neither can be undone. So both sides are claimed first: then the
// bytes that were looked at stay the first ones, and what is put in finds room. Nobody waits for another program with a claim.
// Others that want the side meanwhile wait as if there were nothing there.
#include "fs/pipe.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::fs {

Result<u64> Pipe::claim_data(Thread& thread, bool nonblocking) {
  LockGuard guard{lock_};
  if (data_claimed_) return data_wanted_.wait(thread);
  if (used() == 0) {
    if (writers_ == 0) return u64{0};
    if (nonblocking) return Errno::eagain;
    return data_wanted_.wait(thread);
  }
  data_claimed_ = true;
  return used();
}

void Pipe::look(u64 at, std::span<u8> to) {
  LockGuard guard{lock_};
  for (u64 done = 0; done < to.size();) {
    const u64 place = taken_ + at + done;
    const u64 in_page = place & (page_size - 1);
    const u64 now = smaller(to.size() - done, page_size - in_page);
    memcpy(to.data() + done, pages_[slot_of(place)] + in_page, now);
    done += now;
  }
}

void Pipe::release_data(u64 taken) {
  LockGuard guard{lock_};
  data_claimed_ = false;
  if (taken > 0) {
    const bool was_full = room() < pipe_buf;
    take_out(taken);
    note_readiness();
    (void)room_wanted_.wake_all();
    if (was_full && room() >= pipe_buf) source_.notify(poll_writable);
  }
  (void)data_wanted_.wake_all();
}

Result<u64> Pipe::claim_room(Thread& thread, bool nonblocking, u64 wish) {
  {
    LockGuard guard{lock_};
    if (readers_ > 0) {
      if (room_claimed_) return room_wanted_.wait(thread);
      if (room() == 0) return nonblocking ? Errno::eagain : room_wanted_.wait(thread);
      const u64 bytes = smaller(room(), wish);
      TRY(allocate_pages(bytes));
      room_claimed_ = true;
      return bytes;
    }
  }
  (void)signals::send(thread, {.number = sigpipe, .code = 0, .sender = 0, .sender_user = 0, .value = 0});
  return Errno::epipe;
}

void Pipe::put(std::span<const u8> from) {
  LockGuard guard{lock_};
  Transfer source{from};
  (void)fill(source, from.size());  // its pages are there since the claim
  note_readiness();
  if (!from.empty()) source_.notify(poll_readable);
}

void Pipe::release_room() {
  LockGuard guard{lock_};
  room_claimed_ = false;
  (void)room_wanted_.wake_all();
  if (used() > 0) (void)data_wanted_.wake_one();
}

}  // namespace corral::fs
