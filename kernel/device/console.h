// Where text goes and comes from: serial line, screen, keyboard. The terminal (fs/terminal) is the only user-facing
// client; the log writes through write_now.
#pragma once

#include <string_view>

#include "device/device.h"

namespace corral {

// Takes input characters, in interrupt context on the core that got the interrupt.
class InputListener {
 public:
  virtual void on_input(std::string_view bytes) = 0;
  // A transmitter that was full has room again.
  virtual void on_output_room() = 0;

 protected:
  ~InputListener() = default;
};

class ConsoleDevice : public Device {
 public:
  static constexpr DeviceClass device_class_object{"console"};
  constexpr ConsoleDevice() : Device{device_class_object} {}
  // Takes as many bytes as it has room for without waiting, returns how many. Any context.
  virtual size_t write_some(std::string_view bytes) = 0;
  // Writes everything, polling the device if needed: for the log and panics. A line feed also returns the carriage (the
  // log knows no terminals). Any context, also when locks are broken.
  virtual void write_now(std::string_view bytes) = 0;
  // Also starts input: characters that came before are lost. Boot context, once.
  virtual void set_listener(InputListener& listener) = 0;

 protected:
  ~ConsoleDevice() = default;
};

}  // namespace corral
