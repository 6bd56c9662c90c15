// Writes a backtrace with names to the log. Any context, also in a panic.
#pragma once

#include "arch/trap_frame.h"
#include "trace/log.h"

namespace corral {

void log_backtrace(log::Level level);
void log_backtrace(log::Level level, const arch::TrapFrame& frame);
void log_registers(log::Level level, const arch::TrapFrame& frame);

}  // namespace corral
