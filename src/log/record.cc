#include "log/record.h"

namespace loligo::log {
namespace {

struct TagRow { std::string_view text; bool hit; };
constexpr TagRow kTags[] = {
#define X(id, text, hit) {text, hit},
    LOLIGO_RESULT_TAGS(X)
#undef X
};

constexpr std::string_view kHierarchyCodes[] = {
#define X(id, text) text,
    LOLIGO_HIERARCHY_CODES(X)
#undef X
};

}  // namespace

std::string_view text(ResultTag tag) { return kTags[unsigned(tag)].text; }
bool is_hit(ResultTag tag) { return kTags[unsigned(tag)].hit; }
std::string_view text(HierarchyCode code) { return kHierarchyCodes[unsigned(code)]; }

}  // namespace loligo::log
