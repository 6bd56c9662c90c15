// Start of the system-call interface.
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

// Boot context: fills the table and gives the executive its system-call step.
void initialise_system_calls();

}  // namespace corral::abi
