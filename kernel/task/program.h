// Making an address space from an ELF program: segments mapped from the file's pages, a stack with arguments, environment
// and the auxiliary vector. Thread context. Source: System V AMD64 psABI 3.4.1; Linux fs/binfmt_elf (auxiliary vector).
#pragma once

#include "task/argument_block.h"
#include "task/credentials.h"
#include "task/elf.h"
#include "task/program_places.h"
#include "task/program_source.h"
#include "vm/address_space.h"

namespace corral {

struct LoadedProgram {
  Ref<vm::AddressSpace> space;
  VirtualAddress entry;          // of the program, or of its interpreter
  ProgramPlaces places;
};

// The image of a program and where it was put.
struct PlacedImage {
  const elf::Image& image;
  u64 base;  // added to every address of the image
};

// Reads and checks the headers. enoexec, logged with the reason; eio.
Result<elf::Image> read_image(ByteSource& source);
// The same for a program's interpreter, with Linux's errors for one: eio: shorter than a header; elibbad: whatever else is
// wrong with it, also what Linux finds too late to answer anything.
Result<elf::Image> read_interpreter(ByteSource& source);

// A file and what its headers say.
struct ProgramFile {
  ByteSource& source;
  const elf::Image& image;
};

// What the auxiliary vector tells of how a program came to run.
struct ProgramCircumstances {
  std::string_view path;           // AT_EXECFN
  const Credentials& credentials;  // that it runs with
  bool secure;                     // AT_SECURE
  u64 stack_limit;                 // bytes
};

// A new address space with the program, and its interpreter if it has one (else null). Never
// waits: nobody else knows the new space. enomem, enoexec.
Result<LoadedProgram> load_program(vm::Caller& caller, const ProgramFile& file, const ProgramFile* interpreter,
                                   const ArgumentBlock& arguments, const ProgramCircumstances& circumstances);

}  // namespace corral
