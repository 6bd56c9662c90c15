// Starting the file systems: what boot/ calls, once, before the first process.
#pragma once

#include <span>
#include <string_view>

#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral {
class Process;
class Thread;
class ProcessResources;
}  // namespace corral

namespace corral::fs {

// Boot context, after cores and devices are known. Makes the root file system from the archive (which must stay in memory
// for ever: its files are used in place), and mounts /dev, /proc, /sys. An archive that is missing or damaged is
// reported in the log with the offset of the damage and the mend; what was read before it is there. enomem, einval.
Result<void> initialise(std::span<const u8> archive, std::string_view command_line);

// Lets programs make the kernel fail on purpose through /proc/provoke. Boot context.
void allow_provocations();

// Makes another file system the root: `source` is 9p:TAG, the folder of the host with that mount tag. /dev, /proc and /sys move there, /tmp and
// /run become file systems in memory; directories for them are made where there are none. `thread` is the first process's, in its step,
// which answers blocked and runs this again until it is done. einval: no such kind of source; enodev: no such tag; eio.
Result<void> change_root(Thread& thread, std::string_view source);

// Connects the terminal with every console device that is registered: their input is read from now on.
void start_terminal();
// Before the machine is switched off: writes what files and the terminal still hold, by polling.
void shut_down();

// For the first process: working directory /, descriptors 0, 1 and 2 on /dev/console, which becomes the controlling
// terminal of the session of `process`. enomem, enoent.
Result<Ref<ProcessResources>> first_resources(Process& process);

}  // namespace corral::fs
