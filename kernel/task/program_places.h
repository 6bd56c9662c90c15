// Where the parts of a program are in its memory, for /proc and core files: noted by exec, the same in a fork's child. Pure.
#pragma once

#include "lib/types.h"

namespace corral {

struct ProgramPlaces {
  // Of the program itself, not of its interpreter: from the first to the last byte of its file that may be executed; and from the
  // start of its highest segment to its last byte.
  VirtualAddress code_start{}, code_end{}, data_start{}, data_end{};
  VirtualAddress stack_start{};  // the stack pointer at first
  VirtualAddress arguments_start{}, arguments_end{}, environment_end{};  // the strings, which follow one another
  VirtualAddress auxiliary_start{}, auxiliary_end{};  // the vector of pairs behind the environment's addresses
};

}  // namespace corral
