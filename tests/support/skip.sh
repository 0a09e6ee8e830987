# Ends a test that cannot run here, with the line that tools/list_skipped collects.
skip() { # REASON HOW-TO-ENABLE-IT
  printf 'skipped: %s; enable: %s\n' "$1" "$2"
  exit 77
}
