// Marks for the emulator's cache model from a script, round programs that know nothing of it (docs/cache-model.md):
//
//   corral-region start | stop      with `--model roi=on`, counting begins, or ends
//   corral-region reset             what was counted so far is in no report
//   corral-region dump              a report of this moment, beside that of the end
//
// Without the model it does nothing.

#include <stdio.h>
#include <string.h>

#include "region.h"

int main(int argc, char** argv) {
  const char* word = argc == 2 ? argv[1] : "";
  if (strcmp(word, "start") == 0) {
    REGION_START();
  } else if (strcmp(word, "stop") == 0) {
    REGION_STOP();
  } else if (strcmp(word, "reset") == 0) {
    REGION_RESET();
  } else if (strcmp(word, "dump") == 0) {
    REGION_DUMP(1);
  } else {
    fputs("usage: corral-region start | stop | reset | dump\n", stderr);
    return 2;
  }
  return 0;
}
