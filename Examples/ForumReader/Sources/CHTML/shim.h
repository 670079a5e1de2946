/* libxml2 refers to ICU's types, which clash with Foundation's own on Linux. */
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>

/* xmlFree is a variable, whose use Swift considers unsafe. */
static inline void chtml_free(void *pointer) { xmlFree(pointer); }
