"""The command `./corral` with another kernel than the usual one, such as the one that has defects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab import paths

CORRAL = ("import sys; from pathlib import Path; from lab import paths; paths.KERNEL_ELF = Path(sys.argv[1]); "
          "from lab.main import main; sys.exit(main(sys.argv[2:]))")
PATIENCE_SECONDS = 600


def corral(kernel: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", CORRAL, str(kernel), *words], cwd=paths.ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
