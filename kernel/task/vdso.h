// The vDSO: a small shared library (user/vdso/) and the clock's page, mapped into every program that is executed.
// Source: Linux vdso(7).
#pragma once

#include "vm/address_space.h"

namespace corral::vdso {

// Boot context, before the first program: makes the pages and has the clock written into its page. enomem.
Result<void> initialise();

// Maps both into an address space that nobody else knows yet; answers where the library's ELF header is, for the auxiliary
// vector (AT_SYSINFO_EHDR). enomem.
Result<VirtualAddress> map_into(vm::AddressSpace& space, vm::Caller& caller);

}  // namespace corral::vdso
