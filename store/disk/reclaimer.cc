#include "store/disk/reclaimer.h"

namespace loligo::store::disk {

void Reclaimer::start() {}
void Reclaimer::stop() {}

}  // namespace loligo::store::disk
