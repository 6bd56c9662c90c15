// See the header.
#include "platform/pc/screen_console.h"

namespace corral::platform {

void ScreenConsole::begin() {
  present_ = true;
  BoundedGuard guard{lock_};
  show(screen_);
}

size_t ScreenConsole::write_some(std::string_view bytes) {
  if (!present_) return bytes.size();
  BoundedGuard guard{lock_};
  screen_.write(bytes);
  show(screen_);
  return bytes.size();
}

void ScreenConsole::write_now(std::string_view bytes) {
  if (!present_) return;
  BoundedGuard guard{lock_};
  for (const char& byte : bytes) screen_.write(byte == '\n' ? std::string_view{"\r\n"} : std::string_view{&byte, 1});
  show(screen_);
}

}  // namespace corral::platform
