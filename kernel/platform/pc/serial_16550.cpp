// Registers of the 16550 and the ring in front of it. See the header for invariants.
#include "platform/pc/serial_16550.h"

#include "arch/port_io.h"
#include "lib/format.h"

namespace corral::platform {

namespace {

// Offsets from the base port (data sheet, table II).
constexpr u16 data = 0;
constexpr u16 interrupt_enable = 1;
constexpr u16 interrupt_identification = 2;  // read
constexpr u16 fifo_control = 2;              // write
constexpr u16 line_control = 3;
constexpr u16 modem_control = 4;
constexpr u16 line_status = 5;
constexpr u16 scratch = 7;

constexpr u8 enable_receive = 0x01;
constexpr u8 enable_transmit = 0x02;
constexpr u8 nothing_pending = 0x01;
constexpr u8 data_ready = 0x01;
constexpr u8 break_received = 0x10;
constexpr u8 transmitter_empty = 0x20;
constexpr u8 all_sent = 0x40;  // the shift register is empty, too
constexpr u8 divisor_access = 0x80;
constexpr u8 eight_bits_no_parity = 0x03;
constexpr u8 fifo_on_and_cleared = 0x07;  // receive trigger level 1: nothing is left waiting for a time-out
constexpr u8 dtr_rts_out2 = 0x0b;         // OUT2 lets the interrupt through on a PC
constexpr u8 divisor_115200 = 1;

constexpr u32 most_looks = 200'000;      // at the transmitter: far more than 16 characters take
constexpr u32 most_refills = 64;         // of the FIFO in one go: an emulated line is never busy
constexpr u32 most_causes = 64;          // handled in one interrupt

}  // namespace

u8 Serial16550::get(u16 offset) const {
  return arch::port_read8(static_cast<u16>(base_ + offset));
}
void Serial16550::put(u16 offset, u8 value) const {
  arch::port_write8(static_cast<u16>(base_ + offset), value);
}

bool Serial16550::initialise() {
  put(scratch, 0xa5);
  if (get(scratch) != 0xa5 || get(line_status) == 0xff) return false;
  put(interrupt_enable, 0);
  put(line_control, divisor_access);
  put(data, divisor_115200);
  put(interrupt_enable, 0);  // high byte of the divisor
  put(line_control, eight_bits_no_parity);
  put(fifo_control, fifo_on_and_cleared);
  put(modem_control, dtr_rts_out2);
  present_ = true;
  return true;
}

bool Serial16550::wait_for(u8 status_bit) const {
  for (u32 i = 0; i < most_looks; ++i) {
    if ((get(line_status) & status_bit) != 0) return true;
    arch::pause();
  }
  return false;
}

void Serial16550::set_transmit_interrupt(bool on) {
  const u8 wanted = static_cast<u8>(on ? interrupts_on_ | enable_transmit : interrupts_on_ & ~enable_transmit);
  if (wanted == interrupts_on_) return;
  interrupts_on_ = wanted;
  put(interrupt_enable, wanted);
}

void Serial16550::pump() {
  for (u32 refill = 0; refill < most_refills && !ring_.empty(); ++refill) {
    if ((get(line_status) & transmitter_empty) == 0) break;
    for (u32 i = 0; i < fifo_size && !ring_.empty(); ++i) put(data, static_cast<u8>(ring_.take()));
  }
  set_transmit_interrupt(!ring_.empty() || wants_room_);
}

size_t Serial16550::write_some(std::string_view bytes) {
  if (!present_) return bytes.size();
  BoundedGuard guard{lock_};
  size_t taken = ring_.put(bytes);
  pump();
  if (taken < bytes.size()) {  // the pump may just have made room
    bytes.remove_prefix(taken);
    const size_t more = ring_.put(bytes);
    taken += more;
    wants_room_ = more < bytes.size();
    pump();
  }
  return taken;
}

void Serial16550::drain_ring() {
  while (!ring_.empty()) {
    if (!wait_for(transmitter_empty)) return;
    for (u32 i = 0; i < fifo_size && !ring_.empty(); ++i) put(data, static_cast<u8>(ring_.take()));
  }
}

void Serial16550::flush() {
  if (!present_) return;
  BoundedGuard guard{lock_};
  drain_ring();
  static_cast<void>(wait_for(all_sent));
}

void Serial16550::write_now(std::string_view bytes) {
  if (!present_) return;
  // The lock is held for the whole text, so that lines of several cores do not mix.
  BoundedGuard guard{lock_};
  drain_ring();  // what waits there was written earlier, so it goes first
  bool after_return = false;
  while (!bytes.empty()) {
    if (!wait_for(transmitter_empty)) return;  // the line is stuck: the text is lost, the machine goes on
    for (u32 i = 0; i < fifo_size && !bytes.empty(); ++i) {
      const bool add_return = bytes.front() == '\n' && !after_return;
      after_return = add_return;
      put(data, static_cast<u8>(add_return ? '\r' : bytes.front()));
      if (!add_return) bytes.remove_prefix(1);
    }
  }
}

void Serial16550::set_listener(InputListener& listener) {
  listener_.store(&listener, Order::release);
  if (!present_) return;
  BoundedGuard guard{lock_};
  for (u32 i = 0; i < fifo_size && (get(line_status) & data_ready) != 0; ++i) static_cast<void>(get(data));
  interrupts_on_ = static_cast<u8>(interrupts_on_ | enable_receive);
  put(interrupt_enable, interrupts_on_);
}

size_t Serial16550::receive(char* to, size_t size) const {
  size_t count = 0;
  while (count < size) {
    const u8 status = get(line_status);
    if ((status & data_ready) == 0) break;
    const u8 byte = get(data);
    if ((status & break_received) == 0) to[count++] = static_cast<char>(byte);  // a break is no character
  }
  return count;
}

void Serial16550::handle_interrupt() {
  InputListener* listener = listener_.load(Order::acquire);
  bool room = false;
  for (u32 cause = 0; cause < most_causes; ++cause) {
    char input[64];
    size_t count = 0;
    {
      BoundedGuard guard{lock_};
      if ((get(interrupt_identification) & nothing_pending) != 0) break;
      count = receive(input, sizeof input);
      pump();
      if (wants_room_ && ring_.room() >= ring_size / 2) {
        wants_room_ = false;
        room = true;
        set_transmit_interrupt(!ring_.empty());
      }
    }
    if (count > 0 && listener != nullptr) listener->on_input({input, count});
  }
  if (room && listener != nullptr) listener->on_output_room();
}

size_t Serial16550::describe(char* to, size_t size) const {
  return format_to({to, size}, "16550 serial line, port {x}, interrupt {}, 115200 8N1", base_, irq_).size();
}

}  // namespace corral::platform
