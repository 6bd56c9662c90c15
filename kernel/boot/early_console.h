// Text before there are drivers: the first serial port, polled, and the VGA text screen. Also what tells the reader why the
// machine stops when there is nothing else yet. Boot context, one core. Ends with retire(), when the real consoles are up.
#pragma once

#include <string_view>

namespace corral::early_console {

void start();                        // registers itself as a sink of the log
void write(std::string_view text);   // at once, without the log
void retire();                       // no longer a sink
[[noreturn]] void stop(std::string_view reason);  // says why and halts

}  // namespace corral::early_console
