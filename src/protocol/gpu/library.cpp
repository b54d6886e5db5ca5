#include "gpu/library.hpp"

#include <dlfcn.h>

namespace berth::gpu {

Library::Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) why_not_ = ::dlerror();
}

Library::~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
}

void* Library::address(const char* name) const {
    return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace berth::gpu
