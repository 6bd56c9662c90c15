// Host program of the build: writes docs/boot-options.md from the kernel's table of options.
#include <cstdio>

#include "boot/options.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: print_options FILE\n");
    return 2;
  }
  std::FILE* file = std::fopen(arguments[1], "w");
  if (file == nullptr) {
    std::perror(arguments[1]);
    return 1;
  }
  std::fputs(
      "# Boot options\n\n"
      "Words of the kernel's command line (`./corral run --append \"quiet clock=hpet\"`). A wrong one gives a warning in the\n"
      "log that names the right one, and the default stays. Everything after ` -- ` is handed to the first program as its\n"
      "arguments; double quotes keep blanks inside one of them.\n\n"
      "This page is written by the build from `kernel/boot/options.cpp`.\n\n"
      "| option | default | meaning |\n|---|---|---|\n",
      file);
  for (const corral::boot::OptionDescription& option : corral::boot::option_table()) {
    char line[512];
    std::string_view text = corral::boot::describe_option(option, line);
    std::fprintf(file, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
