// Commands of the 8042. See the header.
#include "platform/pc/ps2_keyboard.h"

#include "arch/port_io.h"
#include "arch/processor.h"
#include "lib/format.h"

namespace corral::platform {

namespace {

constexpr u16 data_port = 0x60;
constexpr u16 command_port = 0x64;  // reading: status

constexpr u8 output_full = 0x01;
constexpr u8 input_full = 0x02;
constexpr u8 from_auxiliary = 0x20;

constexpr u8 read_configuration = 0x20;
constexpr u8 write_configuration = 0x60;
constexpr u8 disable_auxiliary = 0xa7;
constexpr u8 disable_keyboard = 0xad;
constexpr u8 enable_keyboard = 0xae;
constexpr u8 pulse_reset = 0xfe;
constexpr u8 keyboard_start_scanning = 0xf4;

constexpr u8 configuration_keyboard_interrupt = 0x01;
constexpr u8 configuration_auxiliary_interrupt = 0x02;
constexpr u8 configuration_keyboard_off = 0x10;
constexpr u8 configuration_translate = 0x40;

constexpr u32 most_looks = 20'000;
constexpr u32 most_stale_bytes = 64;

u8 status() {
  return arch::port_read8(command_port);
}

bool wait_to_write() {
  for (u32 i = 0; i < most_looks; ++i) {
    if ((status() & input_full) == 0) return true;
    arch::pause();
  }
  return false;
}

bool command(u8 value) {
  if (!wait_to_write()) return false;
  arch::port_write8(command_port, value);
  return true;
}

bool send(u8 value) {
  if (!wait_to_write()) return false;
  arch::port_write8(data_port, value);
  return true;
}

bool receive(u8& value) {
  for (u32 i = 0; i < most_looks; ++i) {
    if ((status() & output_full) != 0) {
      value = arch::port_read8(data_port);
      return true;
    }
    arch::pause();
  }
  return false;
}

void discard_stale() {
  for (u32 i = 0; i < most_stale_bytes && (status() & output_full) != 0; ++i) {
    static_cast<void>(arch::port_read8(data_port));
  }
}

}  // namespace

bool Ps2Keyboard::initialise() {
  if (status() == 0xff) return false;
  if (!command(disable_keyboard) || !command(disable_auxiliary)) return false;
  discard_stale();
  u8 configuration = 0;
  if (!command(read_configuration) || !receive(configuration)) return false;
  configuration = static_cast<u8>(configuration | configuration_keyboard_interrupt | configuration_translate);
  configuration = static_cast<u8>(configuration & ~(configuration_auxiliary_interrupt | configuration_keyboard_off));
  if (!command(write_configuration) || !send(configuration) || !command(enable_keyboard)) return false;
  // Its acknowledgement is not waited for: a keyboard may be plugged in later, and scans by itself then.
  static_cast<void>(send(keyboard_start_scanning));
  u8 answer = 0;
  static_cast<void>(receive(answer));
  discard_stale();
  return true;
}

void Ps2Keyboard::set_listener(InputListener& listener) {
  listener_.store(&listener, Order::release);
}

void Ps2Keyboard::handle_interrupt() {
  InputListener* listener = listener_.load(Order::acquire);
  for (u32 i = 0; i < most_stale_bytes; ++i) {
    const u8 state = status();
    if ((state & output_full) == 0) return;
    const u8 code = arch::port_read8(data_port);
    if ((state & from_auxiliary) != 0) continue;
    const std::string_view bytes = decoder_.decode(code);
    if (!bytes.empty() && listener != nullptr) listener->on_input(bytes);
  }
}

size_t Ps2Keyboard::describe(char* to, size_t size) const {
  return format_to({to, size}, "PS/2 keyboard, ports {x} and {x}, interrupt {}", data_port, command_port, irq).size();
}

void reset_by_keyboard_controller() {
  if (status() == 0xff) return;
  static_cast<void>(command(pulse_reset));
}

}  // namespace corral::platform
