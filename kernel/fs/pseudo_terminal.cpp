// See pseudo_terminal.h. The master's side; the terminal's own is terminal.cpp.
#include "fs/pseudo_terminal.h"

#include "fs/terminal_requests.h"
#include "fs/transfer.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

constexpr u64 piece = 256;  // bytes that are moved with the lock held
constexpr u8 flush_read = 1, flush_write = 2, stop = 4, start = 8, no_stop = 16, do_stop = 32;  // TIOCPKT_…

}  // namespace

Result<Terminal::Life> PseudoTerminal::slave_opened() {
  LockGuard guard{lock_};
  if (locked_ || without_master_) return Errno::eio;
  slave_ = Slave::open;
  return opened_locked();
}

void PseudoTerminal::master_closed() {
  {
    LockGuard guard{lock_};
    without_master_ = true;
  }
  hang_up();
}

void PseudoTerminal::wake_master(u32 bits) {
  output_wanted_.wake_all();
  master_source_.notify(bits);
}

void PseudoTerminal::input_taken() {
  room_wanted_.wake_all();
  master_source_.notify(poll_writable);
}

void PseudoTerminal::pump() {
  if (produced_ != taken_) wake_master(poll_readable);
}

void PseudoTerminal::last_closed() {
  slave_ = Slave::closed;
  wake_master(poll_readable | poll_hup);
}

void PseudoTerminal::note(Event event) {
  if (!packets_) return;
  const u8 before = packet_status_;
  switch (event) {
    case Event::input_flushed: packet_status_ |= flush_read; break;
    case Event::output_flushed: packet_status_ |= flush_write; break;
    case Event::stopped: packet_status_ = static_cast<u8>((packet_status_ & ~start) | stop); break;
    case Event::started: packet_status_ = static_cast<u8>((packet_status_ & ~stop) | start); break;
    case Event::settings: {
      const tty::Termios& settings = discipline_.settings();
      const bool keys = (settings.input & tty::ixon) != 0 && settings.characters[tty::vstop] == 0x13 &&
                        settings.characters[tty::vstart] == 0x11;
      if (keys == flow_keys_) return;
      flow_keys_ = keys;
      packet_status_ = static_cast<u8>((packet_status_ & ~(do_stop | no_stop)) | (keys ? do_stop : no_stop));
      break;
    }
  }
  if (packet_status_ != before) wake_master(poll_readable | poll_pri);
}

Result<u64> PseudoTerminal::read_output(Thread& thread, Transfer& transfer, bool nonblocking) {
  if (transfer.size() == 0) return u64{0};
  const u64 ready = TRY(transfer.prepare(smaller(transfer.left(), ring_size + 1), vm::Access::write));
  LockGuard guard{lock_};
  if (packets_ && packet_status_ != 0) {
    TRY(transfer.put(0, &packet_status_, 1));
    packet_status_ = 0;
    transfer.advance(1);
    return transfer.done();
  }
  if (produced_ == taken_) {
    if (slave_ == Slave::closed) return Errno::eio;
    if (nonblocking) return Errno::eagain;
    return output_wanted_.wait(thread);
  }
  u64 at = 0;
  if (packets_) {
    constexpr u8 data = 0;
    TRY(transfer.put(at++, &data, 1));
  }
  u64 position = taken_;
  while (at < ready && position < produced_) {
    const u64 place = position % ring_size;
    const u64 size = smaller(smaller(produced_ - position, ring_size - place), ready - at);
    TRY(transfer.put(at, ring_ + place, size));
    at += size;
    position += size;
  }
  transfer.advance(at);
  taken(position);
  return transfer.done();
}

Result<u64> PseudoTerminal::type_input(Thread& thread, Transfer& transfer, bool nonblocking) {
  char bytes[piece];
  while (transfer.left() > 0) {
    const Result<u64> ready = transfer.prepare(smaller(transfer.left(), piece), vm::Access::read);
    if (!ready.ok()) {
      if (ready.error() == Errno::blocked || transfer.done() == 0) return ready.error();
      break;
    }
    SignalSet typed = 0;
    {
      LockGuard guard{lock_};
      const u64 size = smaller(ready.value(), discipline_.input_room());
      if (size == 0) {
        if (nonblocking && transfer.done() > 0) break;
        if (nonblocking) return Errno::eagain;
        const Errno outcome = room_wanted_.wait(thread);
        if (outcome != Errno::blocked && transfer.done() > 0) break;
        return outcome;
      }
      const Result<void> copied = transfer.get(0, bytes, size);
      if (!copied.ok()) {
        if (copied.error() == Errno::blocked || transfer.done() == 0) return copied.error();
        break;
      }
      // One character at a time: an end of line changes how much room there is.
      u64 done = 0;
      while (done < size && discipline_.input_room() > 0) typed |= type({bytes + done++, 1});
      transfer.advance(done);
    }
    if (typed != 0) send_typed(typed);
  }
  return transfer.done();
}

Result<i64> PseudoTerminal::send_signal(u64 signal) {
  if (signal != sigint && signal != sigquit && signal != sigtstp) return Errno::einval;
  send_typed(signal_bit(static_cast<int>(signal)));
  return 0;
}

Result<i64> PseudoTerminal::master_control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) {
  const auto read = [&] { return vm::read_user<i32>(space, thread.caller, {argument}); };
  const auto answer = [&](i32 value) -> Result<i64> {
    TRY(vm::write_user(space, thread.caller, {argument}, value));
    return 0;
  };
  switch (request) {
    case tty::get_number: return answer(static_cast<i32>(number().minor));
    case tty::set_lock: {
      const bool wanted = TRY(read()) != 0;
      LockGuard guard{lock_};
      locked_ = wanted;
      return 0;
    }
    case tty::get_lock: {
      bool locked;
      {
        LockGuard guard{lock_};
        locked = locked_;
      }
      return answer(locked ? 1 : 0);
    }
    case tty::packet_mode: {
      const bool wanted = TRY(read()) != 0;
      LockGuard guard{lock_};
      if (wanted && !packets_) packet_status_ = 0;
      packets_ = wanted;
      return 0;
    }
    case tty::get_packet_mode: {
      bool packets;
      {
        LockGuard guard{lock_};
        packets = packets_;
      }
      return answer(packets ? 1 : 0);
    }
    case tty::send_signal: return send_signal(argument);
    default: return control(thread, space, request, argument, other_end);
  }
}

u32 PseudoTerminal::poll_master(PollEntry* entry) {
  LockGuard guard{lock_};
  if (entry != nullptr) master_source_.enlist(*entry);
  u32 ready = 0;
  if (packets_ && packet_status_ != 0) ready |= poll_pri | poll_in | poll_rdnorm;
  if (produced_ != taken_) ready |= poll_in | poll_rdnorm;
  if (slave_ == Slave::closed) ready |= poll_hup;
  if (discipline_.input_room() > 0) ready |= poll_out | poll_wrnorm;
  return ready;
}

u64 PseudoTerminal::output_available() {
  LockGuard guard{lock_};
  return produced_ - taken_;
}

}  // namespace corral::fs
