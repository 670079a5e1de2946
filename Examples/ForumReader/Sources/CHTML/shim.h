/* ICU's types, which libxml2 names in passing, are Foundation's own on Linux: two of them do not go together. */
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>

/* xmlFree is a variable, which Swift does not take for safe. */
static inline void chtml_free(void *pointer) { xmlFree(pointer); }
