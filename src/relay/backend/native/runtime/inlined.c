#define LINKAGE
#include "inlined.h"
