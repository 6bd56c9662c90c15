// How a policy makes itself known without any other file naming it: a pointer in a linker section of its own.
// Works the same in the kernel image (kernel.ld keeps the sections) and in host programs.
//
// The linker puts __start_NAME and __stop_NAME round the section because its name is a C identifier. Object files must be
// linked themselves (not from an archive, where nothing would ask for them). One registration for each file.
#pragma once

#include <new>
#include <span>
#include <string_view>

#define CORRAL_REGISTER(section_name, Type, object) \
  __attribute__((section(#section_name), used, retain)) constinit const Type* const registered_##section_name = &object
