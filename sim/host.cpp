// What the kernel's sources ask of the machine under them. The simulator has one thread: it is every core in turn, and no lock of
// the kernel's is ever found taken (what waiting for one costs is Hardware::queue_lock).
#include "arch/processor.h"

#include <stdexcept>

#include "trace/panic.h"

namespace corral {

u32 arch::core_index() {
  return 0;
}

void panic(const char* message, std::source_location where) {
  throw std::logic_error{std::string{message} + " (" + where.file_name() + ":" + std::to_string(where.line()) + ")"};
}

}  // namespace corral
