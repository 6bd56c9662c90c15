// See machine.h.
#include "device/machine.h"

#include "arch/processor.h"

namespace corral::machine {

namespace {
constinit Operations hardware{};
constinit void (*farewell)() = nullptr;
}  // namespace

void set_operations(const Operations& operations) {
  hardware = operations;
}

void set_farewell(void (*function)()) {
  farewell = function;
}

void power_off(i32 status) {
  if (farewell != nullptr) farewell();
  if (hardware.power_off != nullptr) hardware.power_off(status);
  arch::halt_forever();
}

void reboot() {
  if (farewell != nullptr) farewell();
  if (hardware.reboot != nullptr) hardware.reboot();
  arch::halt_forever();
}

}  // namespace corral::machine
