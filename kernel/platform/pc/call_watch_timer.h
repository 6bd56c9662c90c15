// The timer of core/call_watch.h on a PC: channel 0 of the 8254, whose line the I/O APIC makes an NMI of the bootstrap core.
// One shot each time (mode 0), so that an emulator that was stopped does not send several at once.
// Source: Intel 8254 data sheet (mode 0, read-back command); 82093AA, 3.2.4 (delivery mode NMI).
#pragma once

#include "core/call_watch.h"

namespace corral::platform {

class IoApicRouter;

// Boot context, after the local controller and the cores are known. Without an I/O APIC, or with another use of channel 0, nobody
// is watched, which the log says.
void start_call_watch(IoApicRouter& router);

}  // namespace corral::platform
