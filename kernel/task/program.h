// Making an address space from an ELF program: segments mapped from the file's pages, a stack with arguments, environment
// and the auxiliary vector. Thread context. Source: System V AMD64 psABI 3.4.1; Linux fs/binfmt_elf (auxiliary vector).
#pragma once

#include "task/argument_block.h"
#include "task/elf.h"
#include "task/program_source.h"
#include "vm/address_space.h"

namespace corral {

struct LoadedProgram {
  Ref<vm::AddressSpace> space;
  VirtualAddress entry;          // of the program, or of its interpreter
  VirtualAddress stack_pointer;
  VirtualAddress arguments_start, arguments_end, environment_end;
};

// The image of a program and where it was put.
struct PlacedImage {
  const elf::Image& image;
  u64 base;  // added to every address of the image
};

// Reads and checks the headers. enoexec, logged with the reason; eio.
Result<elf::Image> read_image(ByteSource& source);

// A new address space with the program, and its interpreter if it has one (`interpreter` may be null otherwise). `path`: for
// AT_EXECFN. Never waits: nobody else knows the new space. enomem, enoexec.
Result<LoadedProgram> load_program(vm::Caller& caller, ByteSource& source, const elf::Image& image, ByteSource* interpreter,
                                   const ArgumentBlock& arguments, std::string_view path);

}  // namespace corral
