// The built page, taken into the program as it is: REHEARSE_PAGE names its file, where there is one.
#include "sim/view/page.hpp"

#ifdef REHEARSE_PAGE
asm(".section .rodata\n"
    ".global rehearse_page_begin\n"
    ".global rehearse_page_end\n"
    "rehearse_page_begin:\n"
    ".incbin \"" REHEARSE_PAGE
    "\"\n"
    "rehearse_page_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char rehearse_page_begin[], rehearse_page_end[];
#endif

namespace rehearse {

std::string_view page_template() {
#ifdef REHEARSE_PAGE
  return {rehearse_page_begin, size_t(rehearse_page_end - rehearse_page_begin)};
#else
  return {};
#endif
}

}  // namespace rehearse
