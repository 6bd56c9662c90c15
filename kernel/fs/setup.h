// Starting the file systems: what boot/ calls, once, before the first process.
#pragma once

#include <span>
#include <string_view>

#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral {
class Process;
class ProcessResources;
}  // namespace corral

namespace corral::fs {

// Boot context, after cores and devices are known. Makes the root file system from the archive (which must stay in memory
// for ever: its files are used in place), and mounts /dev, /proc, /sys. An archive that is missing or damaged is
// reported in the log with the offset of the damage and the mend; what was read before it is there. enomem, einval.
Result<void> initialise(std::span<const u8> archive, std::string_view command_line);

// Lets programs make the kernel fail on purpose through /proc/provoke. Boot context.
void allow_provocations();

// Connects the terminal with every console device that is registered: their input is read from now on.
void start_terminal();
// Writes what the terminal still holds, by polling: before the machine is switched off or a panic is shown.
void flush_terminal();

// For the first process: working directory /, descriptors 0, 1 and 2 on /dev/console, which becomes the controlling
// terminal of the session of `process`. enomem, enoent.
Result<Ref<ProcessResources>> first_resources(Process& process);

}  // namespace corral::fs
