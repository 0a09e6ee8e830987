# npm's packages, which the page is bundled from and tests open it with.

# Fetches them for the folder that has package-lock.json. FAILED: what npm said where it could not, else empty. One retry
# and short waits, in ms: by itself npm waits more than a minute for a registry that is out of reach. Of a transfer that
# goes on, slowly, none is an end.
function(fetch_packages npm folder failed)
  execute_process(COMMAND ${npm} ci --ignore-scripts --no-audit --no-fund
      --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000 --fetch-timeout=15000
    WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status EQUAL 0)
    set(said "")
  elseif(said STREQUAL "")
    set(said "exit status ${status}")
  endif()
  set(${failed} "${said}" PARENT_SCOPE)
endfunction()

# All that is lost without them, and what brings them.
function(warn_of_no_page why)
  string(REGEX REPLACE "[^\n]* at [^\n]*:[0-9]+\\)[^\n]*\n" "" why "${why}")  # of the stack of npm
  string(STRIP "${why}" why)
  string(REPLACE "\n" "\n    " why "${why}")
  message(WARNING "this build has no page; all else is built.\n"
    "  lost: rehearse report -o, which ends with E-REPORT-BUILD; figures (--svg) and traces need no page\n"
    "  skipped: tests page_* and trace_speedscope_*, and those of Cli and PageText that look at the page\n"
    "  mended by: node and npm (tools/setup), and npm's registry in reach when CMake configures\n"
    "  why: ${why}")
endfunction()
