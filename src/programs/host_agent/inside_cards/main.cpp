// berth-inside-cards: a program like any other in a container with cards. It loads the driver's
// library by the name that every program loads it by, and says what that tells:
//
//     nvml ready            or what kept it from that
//     driver 580.159.04
//     cards GPU-…,GPU-…
//     mig none              or the cards whose MIG mode is on
//
// It needs the C library alone, which the machine test puts beside it.
#include <dlfcn.h>
#include <stdio.h>

#include <string>

namespace {

using Handle = void*;

template <class Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

int tell_failure(const std::string& why) {
    printf("nvml %s\n", why.c_str());
    return 1;
}

}  // namespace

int main() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return tell_failure(dlerror());
    const auto init = find<int()>(library, "nvmlInit_v2");
    const auto version = find<int(char*, unsigned)>(library, "nvmlSystemGetDriverVersion");
    const auto count = find<int(unsigned*)>(library, "nvmlDeviceGetCount_v2");
    const auto by_index = find<int(unsigned, Handle*)>(library, "nvmlDeviceGetHandleByIndex_v2");
    const auto uuid = find<int(Handle, char*, unsigned)>(library, "nvmlDeviceGetUUID");
    const auto mig = find<int(Handle, unsigned*, unsigned*)>(library, "nvmlDeviceGetMigMode");
    if (!init || !version || !count || !by_index || !uuid) return tell_failure("is not whole");
    if (const int failed = init()) return tell_failure("ends with " + std::to_string(failed));
    char text[96] = "";
    if (version(text, sizeof text) != 0) return tell_failure("tells no version");
    printf("nvml ready\ndriver %s\n", text);
    unsigned all = 0;
    count(&all);
    std::string cards;
    std::string divided;
    for (unsigned i = 0; i < all; ++i) {
        Handle card = nullptr;
        char name[96] = "";
        if (by_index(i, &card) != 0 || uuid(card, name, sizeof name) != 0) continue;
        cards += (cards.empty() ? "" : ",") + std::string(name);
        unsigned now = 0;
        unsigned next = 0;
        if (mig != nullptr && mig(card, &now, &next) == 0 && now != 0)
            divided += (divided.empty() ? "" : ",") + std::string(name);
    }
    printf("cards %s\nmig %s\n", cards.c_str(), divided.empty() ? "none" : divided.c_str());
    return 0;
}
