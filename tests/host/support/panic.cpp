// A panic is an exception, so that a test can expect it.
#include "trace/panic.h"

#include "support/host_machine.h"

namespace corral {

void panic(const char* message, std::source_location where) {
  throw host::Panic(std::string(message) + " (" + where.file_name() + ":" + std::to_string(where.line()) + ")");
}

}  // namespace corral
