// The end of the machine, for rooms above the platform. boot/ sets what the platform offers.
#pragma once

#include "lib/types.h"

namespace corral::machine {

struct Operations {
  void (*power_off)(i32 status) = nullptr;  // exit status for who runs the machine; returns if it cannot
  void (*reboot)() = nullptr;
};
void set_operations(const Operations& operations);  // boot context

// Writes out what the terminal holds, then off. Halts when the hardware cannot.
[[noreturn]] void power_off(i32 status);
[[noreturn]] void reboot();

// Called first by both (the terminal's flush); boot context.
void set_farewell(void (*function)());

}  // namespace corral::machine
